-- name: find
SELECT json_array(holder, fence, expires_at) FROM lock WHERE name = ?1;

-- name: take
-- The fence grows from whatever it was: rows are never deleted.
INSERT INTO lock (name, holder, fence, expires_at) VALUES (?1, ?2, 1, ?3)
ON CONFLICT DO UPDATE SET holder = excluded.holder, fence = fence + 1, expires_at = excluded.expires_at;

-- name: extend
UPDATE lock SET expires_at = ?4 WHERE name = ?1 AND holder = ?2 AND fence = ?3 AND expires_at > ?5;

-- name: release
-- Zero tells a lock that was given up from one that has expired.
UPDATE lock SET expires_at = 0 WHERE name = ?1 AND holder = ?2 AND fence = ?3 AND expires_at > ?4;

-- name: held
-- In the order of the index lock_held, from now or the end of the page before: a page costs what it shows, however many
-- locks there ever were. The plus keeps the planner from beginning at now where it could begin later.
SELECT json_group_array(json_array(name, holder, fence, expires_at)) FROM (
    SELECT name, holder, fence, expires_at FROM lock
    WHERE substr(name, 1, instr(name, char(31))) = ?1
      AND (expires_at, name) > (max(?2, ?3), ?4) AND +expires_at > ?2
    ORDER BY expires_at, name LIMIT ?5
);
