-- Every statement removes a bounded number of rows.

-- name: old_runs
-- Rows of history end in the order of their numbers, so that the oldest are found without an index.
SELECT json_group_array(json_array(seq, hex(id))) FROM (SELECT * FROM (SELECT seq, id, finished_at FROM history ORDER BY seq LIMIT ?2) WHERE finished_at < ?1);

-- name: forget_runs
DELETE FROM history WHERE seq IN (SELECT value ->> 0 FROM json_each(?1));

-- name: forget_output
DELETE FROM output WHERE run_id IN (SELECT unhex(value ->> 1) FROM json_each(?1));

-- name: forget_dead_letters
DELETE FROM dead_letter WHERE run_id IN (SELECT unhex(value ->> 1) FROM json_each(?1));

-- name: forget_hidden
DELETE FROM hidden WHERE id IN (SELECT unhex(value ->> 1) FROM json_each(?1));

-- name: old_keys
-- Keys of what is still there stay: forgetting one would let its job be stored again.
DELETE FROM idempotency WHERE (owner, key) IN (
    SELECT owner, key FROM idempotency i WHERE accepted_at < ?1
      AND NOT EXISTS (SELECT 1 FROM queue WHERE id = i.id) AND NOT EXISTS (SELECT 1 FROM job WHERE id = i.id AND state <> 2)
    ORDER BY accepted_at LIMIT ?2
);

-- name: old_sessions
DELETE FROM session WHERE id IN (
    SELECT id FROM session s WHERE state = 1 AND expires_at < ?1
      AND NOT EXISTS (SELECT 1 FROM queue WHERE session = s.id AND state = 1) LIMIT ?2
);

-- name: old_blobs
-- A blob that something still names stays; its age was renewed when it was last written.
DELETE FROM blob WHERE id IN (
    SELECT id FROM blob b WHERE at < ?1
      AND NOT EXISTS (SELECT 1 FROM queue WHERE blob = b.id) AND NOT EXISTS (SELECT 1 FROM job WHERE blob = b.id)
      AND NOT EXISTS (SELECT 1 FROM history WHERE blob = b.id OR result_blob = b.id)
    LIMIT ?2
);
