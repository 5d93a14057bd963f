-- name: append
INSERT INTO audit (at, actor, owner, action, subject, job_id, before, after)
SELECT ?2, value ->> 0, value ->> 1, value ->> 2, value ->> 3, unhex(value ->> 4), unhex(value ->> 5), unhex(value ->> 6)
FROM json_each(?1) ORDER BY key;

-- name: page
SELECT number, at, actor, owner, action, subject, job_id, before, after, digest FROM audit
WHERE number < ?1 AND (?2 IS NULL OR owner = ?2) AND (?3 IS NULL OR job_id = ?3) ORDER BY number DESC LIMIT ?4;

-- name: unchained
SELECT number, at, actor, owner, action, subject, job_id, before, after, digest FROM audit
WHERE digest IS NULL ORDER BY number LIMIT ?1;

-- name: from_number
SELECT number, at, actor, owner, action, subject, job_id, before, after, digest FROM audit WHERE number > ?1 ORDER BY number LIMIT ?2;

-- name: digest_before
SELECT digest FROM audit WHERE number < ?1 ORDER BY number DESC LIMIT 1;

-- name: set_digest
UPDATE audit SET digest = ?2 WHERE number = ?1 AND digest IS NULL;
