-- Programs of schema 1 work on this.

-- `draining` is what somebody wishes of the process, `drained` what it has said since: that it has nothing in hand.
ALTER TABLE session ADD COLUMN draining INTEGER NOT NULL DEFAULT 0;
ALTER TABLE session ADD COLUMN drained INTEGER NOT NULL DEFAULT 0;
