-- name: put
INSERT INTO blob (id, data) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET at = now();

-- name: get
SELECT data FROM blob WHERE id = $1;
