-- Programs of schema 1 work on this.

-- An owner's locks by when they end: those that are held are its last ones. The owner is what stands before the
-- separator, which included; nothing for the locks of nobody in particular.
CREATE INDEX lock_held ON lock ((left(name, position(E'\x1f' IN name))), expires_at, name);
