-- What the server says about itself; nothing here reads a table of ours.

-- name: server
SELECT current_setting('server_version'), current_setting('fsync') = 'on' AND current_setting('full_page_writes') = 'on',
       (SELECT reset_val FROM pg_settings WHERE name = 'synchronous_commit'), current_setting('autovacuum') = 'on',
       (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'), current_setting('max_connections')::integer;

-- name: bloat
-- Tables whose dead rows outnumber the living ones, and are many.
SELECT s.relname, s.n_live_tup, s.n_dead_tup, pg_size_pretty(pg_total_relation_size(s.relid)), s.last_autovacuum
FROM pg_stat_user_tables s
WHERE s.schemaname = current_schema() AND s.n_dead_tup > 100000 AND s.n_dead_tup > 2 * s.n_live_tup
ORDER BY s.n_dead_tup DESC;

-- name: oldest_snapshot
-- Whoever holds back vacuum, the oldest first: sessions, prepared transactions, replication slots.
SELECT who, held FROM (
    SELECT format('process %s (%s, %s)', pid, coalesce(nullif(application_name, ''), 'no name'), state) AS who,
           clock_timestamp() - xact_start AS held
    FROM pg_stat_activity WHERE (backend_xmin IS NOT NULL OR backend_xid IS NOT NULL) AND datname = current_database() AND pid <> pg_backend_pid()
    UNION ALL
    SELECT format('prepared transaction %s', gid), clock_timestamp() - prepared FROM pg_prepared_xacts WHERE database = current_database()
) holders WHERE held > $1 ORDER BY held DESC LIMIT 1;

-- name: indexes
SELECT c.relname, i.indisvalid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = current_schema();

-- name: vacuum_settings
-- Tables whose storage parameters were given up: without them a busy queue is vacuumed far too late.
SELECT relname FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace
WHERE n.nspname = current_schema() AND relname = 'queue' AND NOT coalesce(reloptions, '{}') @> '{autovacuum_vacuum_scale_factor=0}';
