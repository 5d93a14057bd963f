"""The scheduler's loops, one small file each: a `step` that a test can call, and a `run` that only repeats it.

Any number of processes may run any of them at once. Ownership (see `ownership`) merely saves double work; what keeps
things right are the compare-and-sets of the store.
"""
