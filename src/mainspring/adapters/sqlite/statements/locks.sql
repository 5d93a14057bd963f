-- name: find
SELECT json_array(holder, fence, expires_at) FROM lock WHERE name = ?1;

-- name: take
-- The fence grows from whatever it was: rows are never deleted.
INSERT INTO lock (name, holder, fence, expires_at) VALUES (?1, ?2, 1, ?3)
ON CONFLICT DO UPDATE SET holder = excluded.holder, fence = fence + 1, expires_at = excluded.expires_at;

-- name: extend
UPDATE lock SET expires_at = ?4 WHERE name = ?1 AND holder = ?2 AND fence = ?3 AND expires_at > ?5;

-- name: release
UPDATE lock SET expires_at = ?4 WHERE name = ?1 AND holder = ?2 AND fence = ?3 AND expires_at > ?4;
