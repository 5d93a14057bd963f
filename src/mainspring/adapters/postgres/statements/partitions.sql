-- A week of history is a table of its own, named after its Monday in UTC: names sort as the weeks do.

-- name: prepare
-- Makes the missing ones of this week and the eight to come. A table gets its indexes before it becomes a part of
-- history, so that readers and writers of history never wait.
DO $$
DECLARE
    week timestamptz;
    part text;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('mainspring/prepare/' || current_schema(), 0));
    FOR week IN SELECT date_trunc('week', now(), 'UTC') + number * interval '7 days' FROM generate_series(0, 8) AS number LOOP
        part := 'history_' || to_char(week AT TIME ZONE 'UTC', 'YYYYMMDD');
        -- Not by to_regclass(), which may still remember what was missing before the wait.
        CONTINUE WHEN EXISTS (SELECT FROM pg_class WHERE relname = part AND relnamespace = current_schema()::regnamespace);
        EXECUTE format('CREATE TABLE %I (LIKE history INCLUDING ALL)', part);
        EXECUTE format('ALTER TABLE history ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
                       part, week, week + interval '7 days');
    END LOOP;
END $$;

-- name: weeks_ahead
-- How many weeks after this one have their table, up to the first that hasn't; -1 if not even this one has.
SELECT coalesce(min(number), 9) - 1
FROM generate_series(0, 8) AS number, LATERAL (SELECT date_trunc('week', now(), 'UTC') + number * interval '7 days') AS week (began)
WHERE to_regclass('history_' || to_char(week.began AT TIME ZONE 'UTC', 'YYYYMMDD')) IS NULL;

-- name: outdated
-- The oldest week that was over at an instant: its table, about how many runs it holds, and how far it has been detached
-- from history: not at all (false), begun (true) or done (null).
SELECT c.relname::text, greatest(c.reltuples, 1)::bigint, i.inhdetachpending
FROM pg_class c LEFT JOIN pg_inherits i ON i.inhrelid = c.oid
WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' AND c.relname ~ '^history_[0-9]+$'
  AND c.relname <= 'history_' || to_char(($1::timestamptz - interval '7 days') AT TIME ZONE 'UTC', 'YYYYMMDD')
ORDER BY c.relname LIMIT 1;

-- name: turn
-- One process at a time takes weeks out; who finds another at it leaves it to that one.
SELECT pg_try_advisory_lock(hashtextextended('mainspring/outdated/' || current_schema(), 0));
