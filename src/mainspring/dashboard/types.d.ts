// What the API answers, as far as the dashboard reads it. Only the type checker reads this file; it isn't served.

export type JobStatus = "SCHEDULED" | "RUNNING" | "COMPLETED" | "FAILED" | "CANCELLED" | "PAUSED";
export type ExecutionStatus = "PENDING" | "RUNNING" | "COMPLETED" | "FAILED" | "CANCELLED" | "SKIPPED";

export interface Page<Item> {
    items: Item[];
    next: string | null;
}

export interface Job {
    id: string;
    key: string | null;
    name: string;
    description: string;
    handler: string;
    payload?: unknown;
    schedule: string;
    timezone: string;
    starts_at: string | null;
    priority: number;
    max_retries: number;
    retry: { kind: string; initial_ms: number; max_ms: number; jitter: number };
    timeout_ms: number;
    lane: string;
    misfire: { grace_ms: number; policy: string };
    overlap: string;
    dst: { gap: string; fold: string };
    allow_unknown_handler: boolean;
    owner: string;
    project_id: string;
    status: JobStatus;
    next_run_time: string | null;
    created_at: string;
    updated_at: string;
    version: number;
}

export interface Execution {
    id: string;
    job_id: string;
    status: ExecutionStatus;
    reason: string | null;
    retry_of: string | null;
    fire_time: string;
    /** The last of a skipped range, of which `fire_time` is the first. */
    skipped_to: string | null;
    /** How many fire times were skipped; null for more than 100. */
    skipped_count: number | null;
    attempt: number;
    token: number;
    priority: number;
    worker_id: string | null;
    scheduled_at: string;
    started_at: string | null;
    completed_at: string | null;
    duration_ms: number | null;
    result: unknown;
    output: string | null;
    error: string | null;
}

export interface DeadLetter extends Execution {
    handler: string;
    fingerprint: string;
    died_at: string;
}

export interface Attempt {
    attempt: number;
    token: number;
    worker_id: string | null;
    started_at: string;
    completed_at: string | null;
    duration_ms: number | null;
    outcome: "running" | "succeeded" | "failed" | "snoozed" | "lost" | "cancelled";
    error: string | null;
}

export interface Worker {
    id: string;
    session: number;
    status: "active" | "draining" | "drained";
    host: string;
    pid: number;
    capacity: number;
    executing: number;
    lanes: string[];
    started_at: string;
    last_heartbeat: string;
    clock_skew_ms: number;
    trouble: string | null;
}

export interface Handler {
    name: string;
    lane: string;
    builtin: boolean;
    registered: boolean;
}

/** What stands beside the store. */
export interface Pipe {
    purpose: string;
    url: string;
    status: "up" | "down";
    since: string;
    detail?: string | null;
}

export interface Health {
    status: "healthy" | "degraded" | "unhealthy";
    troubles?: { subject: string; detail: string }[] | null;
    database: { status: "up" | "down"; time?: string | null; detail?: string | null };
    queue?: { status: string; live: number; running: number | null; dead_letters: number | null } | null;
    workers?: number | null;
    schedulers?: number | null;
    pipes?: Pipe[] | null;
}

export interface Totals {
    added: number;
    started: number;
    retried: number;
    lost: number;
    completed: number;
    failed: number;
    cancelled: number;
    skipped: number;
    live: number;
}

export interface Metrics {
    totals: Totals;
    by_group: (Totals & { owner: string; lane: string; job_type: string })[];
    running: number | null;
    waiting: number | null;
    dead_letters: number | null;
    suspects: number | null;
    workers: number;
    schedulers: number;
    capacity: number;
    executing: number;
}

export interface Spread {
    p50: number | null;
    p95: number | null;
}

export interface Timeline {
    window: string;
    since: string;
    until: string;
    complete: boolean;
    step_ms: number;
    items: {
        at: string;
        waiting: number;
        by_status: Record<string, number>;
        lateness_ms: Spread;
        duration_ms: Spread;
    }[];
}

export interface Statistics {
    window: string;
    since: string;
    until: string;
    complete: boolean;
    executions: number;
    by_status: Record<string, number>;
    success_rate: number | null;
    retried: number;
    duration_ms: {
        mean: number | null;
        p50: number | null;
        p95: number | null;
        p99: number | null;
        max: number | null;
    };
}

export interface Lock {
    name: string;
    holder: string;
    token: number;
    expires_at: string;
}

export interface ApiKey {
    id: string;
    owner: string;
    name: string;
    scope: "read" | "write" | "admin";
    created_at: string;
    expires_at: string | null;
    revoked_at: string | null;
    last_used_at: string | null;
    valid: boolean;
}

export interface NewKey extends ApiKey {
    key: string;
}

export interface AuditEntry {
    number: number;
    at: string;
    actor: string;
    owner: string;
    action: string;
    subject: string;
    job_id: string | null;
    before: any;
    after: any;
    digest: string | null;
}

export interface RunEvent {
    id: string;
    job_id: string;
    name: string;
    handler: string;
    status: ExecutionStatus;
    reason: string | null;
    attempt: number;
    worker_id: string | null;
    fire_time: string;
    started_at: string | null;
    completed_at: string | null;
}

export interface JobEvent {
    id: string;
    name: string;
    handler: string;
    version: number;
    paused: boolean;
    deleted: boolean;
    next_run_time: string | null;
}

/** What has changed since listeners were told last. */
export interface Changes {
    runs: Map<string, RunEvent>;
    jobs: Map<string, JobEvent>;
    workers: boolean;
    /** Too much has changed to be named, or some of it was missed: read again what is shown. */
    everything: boolean;
}

/** A place in the dashboard, as the address names it. */
export interface Route {
    path: string[];
    query: Record<string, string>;
}

/** What the router shows: an element, kept until the address names another page. */
export interface Screen {
    title: string;
    element: HTMLElement;
    /** The address has changed, but not the page. */
    update?(route: Route): void;
    dispose?(): void;
}

export type Child = Node | string | number | null | undefined | false | Child[];
export type Properties = Record<string, unknown> & {
    on?: Record<string, (event: any) => void>;
    key?: string;
    /** The element looks after its own children: refreshing what is around leaves it as it is. */
    keep?: boolean;
};
