"""Real servers on loopback for tests and benchmarks: from wheels alone, without containers or a package manager."""
