-- name: write
-- Output keeps the age of its first line: an index that needn't change makes every later line cheaper.
INSERT INTO output (run_id, fence, head, tail, length, progress, message)
SELECT * FROM unnest($1::uuid[], $2::int[], $3::bytea[], $4::bytea[], $5::bigint[], $6::float8[], $7::text[])
ON CONFLICT (run_id, fence) DO UPDATE SET head = excluded.head, tail = excluded.tail, length = excluded.length,
    progress = excluded.progress, message = excluded.message;

-- name: read
SELECT fence, head, tail, length, progress, message FROM output WHERE run_id = $1 ORDER BY fence DESC LIMIT 1;
