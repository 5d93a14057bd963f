-- Programs of schema 1 work on this.

-- Who the store is: drawn once, so that what a worker noted of one store is never told to another.
CREATE TABLE identity (id TEXT NOT NULL PRIMARY KEY) STRICT, WITHOUT ROWID;
INSERT INTO identity (id) VALUES (lower(hex(randomblob(16))));

-- What keeps a process from its work, as it said with its last heartbeat.
ALTER TABLE session ADD COLUMN trouble TEXT;
