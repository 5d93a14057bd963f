-- name: find
SELECT holder, fence, expires_at FROM lock WHERE name = $1 AND expires_at > now();

-- name: acquire
-- Takes what is free, expired or the caller's own, or says who holds it. A lock in other hands is only read: whoever asks
-- again and again writes nothing. No row at all means that somebody else was faster, and that asking again will tell who.
WITH other AS MATERIALIZED (
    SELECT holder, expires_at FROM lock WHERE name = $1 AND holder <> $2 AND expires_at > now()
), taken AS (
    INSERT INTO lock AS l (name, holder, fence, expires_at)
    SELECT $1, $2, 1, now() + $3::interval WHERE NOT EXISTS (SELECT FROM other)
    ON CONFLICT (name) DO UPDATE SET
        holder = excluded.holder,
        fence = l.fence + CASE WHEN l.holder = excluded.holder AND l.expires_at > now() THEN 0 ELSE 1 END,
        expires_at = excluded.expires_at
    WHERE l.holder = excluded.holder OR l.expires_at <= now()
    RETURNING fence, expires_at
)
SELECT $2, fence, expires_at, NULL::interval FROM taken
UNION ALL SELECT holder, NULL, NULL, expires_at - now() FROM other;

-- name: renew
UPDATE lock SET expires_at = now() + $4::interval WHERE name = $1 AND holder = $2 AND fence = $3 AND expires_at > now()
RETURNING expires_at;

-- name: release
UPDATE lock SET expires_at = now() WHERE name = $1 AND holder = $2 AND fence = $3 AND expires_at > now() RETURNING true;

-- name: held
-- In the order of the index lock_held, from now or the end of the page before: a page costs what it shows, however many
-- locks there ever were.
SELECT name, holder, fence, expires_at FROM lock
WHERE left(name, position(E'\x1f' IN name)) = $1
  AND (expires_at, name) > (greatest($2::timestamptz, now()), $3) AND expires_at > now()
ORDER BY expires_at, name LIMIT $4;
