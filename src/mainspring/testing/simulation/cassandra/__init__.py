"""The Cassandra adapter in the simulation: every process has one of its own over the same weak cluster."""
