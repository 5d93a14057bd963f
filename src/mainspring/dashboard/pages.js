/** Which page an address means. */

/** @import { Route, Screen } from "./types.js" */

import { h } from "./dom.js";
import { auditPage } from "./pages/audit.js";
import { deadLettersPage } from "./pages/dead-letters.js";
import { executionPage } from "./pages/execution.js";
import { executionsPage } from "./pages/executions.js";
import { jobFormPage } from "./pages/job-form.js";
import { jobPage } from "./pages/job.js";
import { jobsPage } from "./pages/jobs.js";
import { locksPage } from "./pages/locks.js";
import { loginPage } from "./pages/login.js";
import { overviewPage } from "./pages/overview.js";
import { settingsPage } from "./pages/settings.js";
import { workersPage } from "./pages/workers.js";
import { empty, heading, linkButton } from "./parts.js";
import { href } from "./router.js";

/**
 * @param {string} name
 * @param {Route} route
 * @param {() => void} [signedIn]
 * @returns {Screen}
 */
export function openPage(name, route, signedIn = () => {}) {
  const [, second, third] = route.path;
  switch (name) {
    case "overview":
      return overviewPage(route);
    case "jobs":
      if (second === "new") return jobFormPage(null);
      if (second !== undefined) return third === "edit" ? jobFormPage(second) : jobPage(second);
      return jobsPage(route);
    case "executions":
      return second === undefined ? executionsPage(route) : executionPage(second);
    case "dead-letters":
      return deadLettersPage(route);
    case "workers":
      return workersPage();
    case "locks":
      return locksPage(route);
    case "audit":
      return auditPage(route);
    case "settings":
      return settingsPage();
    case "login":
      return loginPage(signedIn);
    default:
      return unknownPage();
  }
}

/** @returns {Screen} */
function unknownPage() {
  const advice = linkButton("To the overview", href([]));
  return { title: "Not found", element: h("div", null, heading("Not found"), empty("There is no such page.", advice)) };
}
