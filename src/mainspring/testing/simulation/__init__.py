"""Whole clusters in one thread: virtual time, seeded chance, real services, and every fault that can be thought of.

`schedule.run(seed)` is the way in; `docs/explanation/simulation.md` tells how it works and what it can't see.
"""
