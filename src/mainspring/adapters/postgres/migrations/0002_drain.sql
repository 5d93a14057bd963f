-- Programs of schema 1 work on this.

-- `draining` is what somebody wishes of the process, `drained` what it has said since: that it has nothing in hand.
-- Constants as defaults rewrite no row, so that the table is locked for a moment only.
ALTER TABLE session
    ADD COLUMN draining boolean NOT NULL DEFAULT false,
    ADD COLUMN drained  boolean NOT NULL DEFAULT false;
