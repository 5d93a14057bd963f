-- A number is taken before its row is committed, so that rows can appear behind ones with greater numbers. Writers hold a
-- lock that they share from before the number until after the commit; whoever chains waits for it once, and from then on no
-- smaller number than the greatest of that moment can appear any more. Writers never wait for each other.

-- name: append
INSERT INTO audit (actor, owner, action, subject, job_id, before, after)
SELECT e.actor, e.owner, e.action, e.subject, e.job_id, e.before, e.after
FROM (SELECT pg_advisory_xact_lock_shared(hashtextextended('mainspring/audit/' || current_schema(), 0))) AS turn,
     unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::uuid[], $6::bytea[], $7::bytea[])
     WITH ORDINALITY AS e(actor, owner, action, subject, job_id, before, after, place)
ORDER BY e.place;

-- name: page
SELECT number, at, actor, owner, action, subject, job_id, before, after, digest FROM audit
WHERE number < $1 AND ($2::text IS NULL OR owner = $2) AND ($3::uuid IS NULL OR job_id = $3) ORDER BY number DESC LIMIT $4;

-- name: complete
-- The number up to which nothing can appear any more, if anything up to there isn't chained yet. It is read before the wait:
-- whoever took a smaller one was a writer then.
SELECT newest.number FROM (SELECT max(number) AS number FROM audit WHERE digest IS NULL) AS newest,
    LATERAL (SELECT pg_advisory_xact_lock(hashtextextended('mainspring/audit/' || current_schema(), 0))
             WHERE newest.number IS NOT NULL) AS turn;

-- name: turn
-- One process chains at a time; who finds another at it has nothing to do.
SELECT pg_try_advisory_xact_lock(hashtextextended('mainspring/chain/' || current_schema(), 0));

-- name: unchained
SELECT number, at, actor, owner, action, subject, job_id, before, after, digest FROM audit
WHERE digest IS NULL AND number <= $1 ORDER BY number LIMIT $2;

-- name: from_number
SELECT number, at, actor, owner, action, subject, job_id, before, after, digest FROM audit
WHERE number > $1 ORDER BY number LIMIT $2;

-- name: digest_before
SELECT digest FROM audit WHERE number < $1 ORDER BY number DESC LIMIT 1;

-- name: set_digests
UPDATE audit SET digest = d.digest FROM unnest($1::bigint[], $2::bytea[]) AS d(number, digest)
WHERE audit.number = d.number AND audit.digest IS NULL;
