/** Schedules in plain words. When they fire, only the server says; this explains what was typed. */

const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
const MONTHS = [
  "",
  "January",
  "February",
  "March",
  "April",
  "May",
  "June",
  "July",
  "August",
  "September",
  "October",
  "November",
  "December",
];
const DAY_NAMES = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];
const MONTH_NAMES = ["", "JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
/** @type {Record<string, string>} */
const NAMED = {
  "@hourly": "at the start of every hour",
  "@daily": "every day at midnight",
  "@midnight": "every day at midnight",
  "@weekly": "every Sunday at midnight",
  "@monthly": "on the first of every month at midnight",
  "@yearly": "every year on 1 January at midnight",
  "@annually": "every year on 1 January at midnight",
};
/** @type {Record<string, string>} */
const UNITS = { ms: "millisecond", s: "second", m: "minute", h: "hour", d: "day", w: "week" };

/**
 * The schedule in words, or null if there are none for it.
 * @param {string} schedule
 * @returns {string | null}
 */
export function inWords(schedule) {
  const text = schedule.trim();
  if (text === "" || text === "now") return "once, at once";
  if (text === "on-demand") return "only when it is triggered";
  if (text in NAMED) return NAMED[text];
  if (/^\d{4}-\d\d-\d\dT/.test(text)) return "once, at that instant";
  const delay = /^in\s+(.+)$/.exec(text);
  if (delay) return spelled(delay[1], "once, after ", /(\d+(?:\.\d+)?)(ms|[smhdw])/g);
  const every = /^@every\s+(.+)$/.exec(text);
  if (every) return spelled(every[1], "again and again, every ", /(\d+)([smhdw])/g);
  return cron(text.split(/\s+/));
}

/**
 * @param {string} lengths like 1h30m
 * @param {string} before
 * @param {RegExp} length one of them: its amount and its unit
 */
function spelled(lengths, before, length) {
  const parts = [...lengths.matchAll(length)];
  if (parts.length === 0 || parts.map((part) => part[0]).join("") !== lengths.replaceAll(" ", "")) return null;
  return before + listed(parts.map(([, count, unit]) => `${count} ${UNITS[unit]}${count === "1" ? "" : "s"}`));
}

/** @param {string[]} fields */
function cron(fields) {
  if (fields.length === 5) return cronWords("0", fields);
  return fields.length === 6 ? cronWords(fields[0], fields.slice(1)) : null;
}

/**
 * @param {string} second
 * @param {string[]} rest
 */
function cronWords(second, [minute, hour, dayOfMonth, month, dayOfWeek]) {
  const time = timeOfDay(second, minute, hour);
  const days = daysInWords(dayOfMonth, dayOfWeek);
  const months = month === "*" ? "" : valuesInWords(month, (value) => name(value, MONTH_NAMES, MONTHS));
  if (time === null || days === null || months === null) return null;
  const everyHour = !/^at \d/.test(time);
  return days === "every day" && months === "" && everyHour ? time : `${time}, ${days}${months && ` in ${months}`}`;
}

/**
 * @param {string} second
 * @param {string} minute
 * @param {string} hour
 */
function timeOfDay(second, minute, hour) {
  const plain = /^\d+(,\d+)*$/;
  if (/^\d+$/.test(second) && plain.test(minute) && plain.test(hour)) {
    const seconds = second === "0" ? "" : `:${second.padStart(2, "0")}`;
    const times = hour
      .split(",")
      .flatMap((h) => minute.split(",").map((m) => `${h.padStart(2, "0")}:${m.padStart(2, "0")}${seconds}`));
    return times.length > 6 ? `at ${times.length} times of the day` : `at ${listed(times)}`;
  }
  const parts = [
    second === "0" ? null : unitInWords(second, "second"),
    minute === "*" && second !== "0" && second !== "*" ? null : unitInWords(minute, "minute"),
    hour === "*" ? null : hoursInWords(hour),
  ];
  if (parts.includes("")) return null;
  if (minute === "0" && second === "0" && hour === "*") return "at the start of every hour";
  if (minute === "0" && second === "0") return `on the hour, ${hoursInWords(hour)}`;
  if (/^\d+$/.test(minute) && second === "0" && hour === "*") return `at minute ${minute} of every hour`;
  if (second === "*" && minute === "*") parts.splice(1, 1);
  return parts.filter(Boolean).join(", ");
}

/**
 * @param {string} field
 * @param {string} unit
 */
function unitInWords(field, unit) {
  if (field === "*") return `every ${unit}`;
  const step = /^(\*|\d+-\d+|\d+)\/(\d+)$/.exec(field);
  if (step)
    return `every ${step[2] === "1" ? unit : `${step[2]} ${unit}s`}${step[1] === "*" || step[1] === "0" ? "" : ` from ${unit} ${step[1].replace("-", " to ")}`}`;
  if (/^\d+$/.test(field)) return `at ${unit} ${field}`;
  return /^[\d,-]+$/.test(field) ? `at ${unit}s ${valuesInWords(field, (value) => value)}` : "";
}

/** @param {string} hour */
function hoursInWords(hour) {
  if (hour === "*") return "every hour";
  const range = /^(\d+)-(\d+)$/.exec(hour);
  if (range) return `from ${range[1].padStart(2, "0")}:00 to ${range[2].padStart(2, "0")}:59`;
  const step = /^(?:\*|0)\/(\d+)$/.exec(hour);
  if (step) return `every ${step[1]} hours`;
  return /^[\d,/-]+$/.test(hour) ? `in hour ${valuesInWords(hour, (value) => value)}` : "";
}

/**
 * @param {string} dayOfMonth
 * @param {string} dayOfWeek
 */
function daysInWords(dayOfMonth, dayOfWeek) {
  const dates = datesInWords(dayOfMonth);
  const days = dayOfWeek === "*" || dayOfWeek === "?" ? "every day" : weekdays(dayOfWeek);
  if (dates === null || days === null) return null;
  if (dates === "every day") return days;
  return days === "every day" ? dates : `${dates} or ${days}`;
}

/** @param {string} field */
function datesInWords(field) {
  if (field === "*" || field === "?") return "every day";
  if (field === "L") return "on the last day of the month";
  const step = /^\*\/(\d+)$/.exec(field);
  if (step) return `every ${step[1]} days of the month`;
  return /^[\d,-]+$/.test(field) ? `on day ${valuesInWords(field, (value) => value)} of the month` : null;
}

/** @param {string} field */
function weekdays(field) {
  const upper = field.toUpperCase();
  if (upper === "1-5" || upper === "MON-FRI") return "Monday to Friday";
  if (["0,6", "6,0", "6,7", "6-7", "SAT,SUN", "SUN,SAT"].includes(upper)) return "at weekends";
  const nth = /^(\w+)#(\d)$/.exec(upper);
  if (nth)
    return `on the ${["", "first", "second", "third", "fourth", "fifth"][Number(nth[2])]} ${name(nth[1], DAY_NAMES, DAYS)} of the month`;
  const last = /^L?(\w+?)L?$/.exec(upper);
  if (upper.includes("L") && last) return `on the last ${name(last[1], DAY_NAMES, DAYS)} of the month`;
  const text = valuesInWords(upper, (value) => name(value, DAY_NAMES, DAYS));
  return text && `on ${text}`;
}

/**
 * Lists and ranges in words; null if one of their values has no name.
 * @param {string} field
 * @param {(value: string) => string | undefined} naming
 */
function valuesInWords(field, naming) {
  const ranges = field.split(",").map((part) => part.split("-").map(naming));
  return ranges.flat().includes(undefined) ? null : listed(ranges.map((names) => names.join(" to ")));
}

/**
 * @param {string} value
 * @param {string[]} short
 * @param {string[]} long
 * @returns {string | undefined}
 */
const name = (value, short, long) => long[/^\d+$/.test(value) ? Number(value) : short.indexOf(value.toUpperCase())];

/** @param {string[]} parts */
const listed = (parts) => (parts.length < 2 ? parts.join("") : `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}`);
