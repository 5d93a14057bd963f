-- name: find
SELECT holder, fence, expires_at FROM lock WHERE name = $1 AND expires_at > now();

-- name: acquire
-- Takes what is free, expired or the caller's own, or says who holds it. A lock in other hands is only read: whoever asks
-- again and again writes nothing. No row at all means that somebody else was faster, and that asking again will tell who.
-- It was taken over if nobody had it between the one that let it expire and the caller.
WITH earlier AS MATERIALIZED (
    SELECT holder, fence, expires_at FROM lock WHERE name = $1
), other AS MATERIALIZED (
    SELECT holder, expires_at FROM earlier WHERE holder <> $2 AND expires_at > now()
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
SELECT $2, taken.fence, taken.expires_at, NULL::interval, coalesce(
    earlier.expires_at > 'epoch' AND earlier.expires_at <= now() AND taken.fence = earlier.fence + 1, false
)
FROM taken LEFT JOIN earlier ON true
UNION ALL SELECT holder, NULL, NULL, expires_at - now(), false FROM other;

-- name: renew
UPDATE lock SET expires_at = now() + $4::interval WHERE name = $1 AND holder = $2 AND fence = $3 AND expires_at > now()
RETURNING expires_at;

-- name: release
-- The epoch tells a lock that was given up from one that has expired.
UPDATE lock SET expires_at = 'epoch' WHERE name = $1 AND holder = $2 AND fence = $3 AND expires_at > now() RETURNING true;

-- name: held
-- In the order of the index lock_held, from now or the end of the page before: a page costs what it shows, however many
-- locks there ever were.
SELECT name, holder, fence, expires_at FROM lock
WHERE left(name, position(E'\x1f' IN name)) = $1
  AND (expires_at, name) > (greatest($2::timestamptz, now()), $3) AND expires_at > now()
ORDER BY expires_at, name LIMIT $4;
