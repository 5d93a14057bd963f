-- name: create
INSERT INTO api_key (id, digest, owner, name, scope, created_at, expires_at, revoked_at, last_used_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9);

-- name: find
SELECT id, digest, owner, name, scope, created_at, expires_at, revoked_at, last_used_at FROM api_key WHERE digest = $1;

-- name: list
SELECT id, digest, owner, name, scope, created_at, expires_at, revoked_at, last_used_at FROM api_key
WHERE $1::text IS NULL OR owner = $1 ORDER BY id DESC;

-- name: revoke
UPDATE api_key SET revoked_at = now() WHERE id = $1 AND revoked_at IS NULL RETURNING true;

-- name: used
-- Whoever finds a key's row locked leaves it: its use is being noted just then.
UPDATE api_key SET last_used_at = now() WHERE id = ANY(ARRAY(
    SELECT id FROM api_key WHERE id = ANY($1::uuid[]) ORDER BY id FOR NO KEY UPDATE SKIP LOCKED
));
