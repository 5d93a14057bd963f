-- Programs of schema 1 work on this.

-- What is due of a lane, and when the next run wakes, whatever their priorities: nearly always all of it is taken.
CREATE INDEX queue_wake ON queue (lane, wake_at, priority) WHERE state = 0;
