-- Batches come in and go out as JSON arrays; see engine.py for why. A waiting run with a deadline has a ticket
-- out, since then; its wake time is when claims may have it.

-- name: untaken
-- The runs of one priority that have waited longest and of which nobody has a ticket.
SELECT json_group_array(json_array(hex(id), fence, wake_at)) FROM (
    SELECT id, fence, wake_at FROM queue
    WHERE lane = ?1 AND state = 0 AND priority = ?2 AND wake_at <= ?3 AND deadline_at IS NULL ORDER BY wake_at, seq LIMIT ?4
);

-- name: take
-- Claims pass over these runs until ?3.
UPDATE queue SET wake_at = ?3, deadline_at = ?2 WHERE id IN (SELECT unhex(value) FROM json_each(?1));

-- name: current
-- Which tickets (id, fence, wake time) name a run that waits as it did when they were given out. A clock that was set back
-- may make that too early. The row is told with the time from which its wait counts.
SELECT json_group_array(json_array(q.seq, min(j.value ->> 2, ?2))) FROM json_each(?1) j CROSS JOIN queue q ON q.id = unhex(j.value ->> 0)
WHERE q.fence = j.value ->> 1 AND q.state = 0 AND q.deadline_at <= ?2;

-- name: wake
UPDATE queue SET wake_at = j.value ->> 1 FROM json_each(?1) j WHERE queue.seq = j.value ->> 0;
