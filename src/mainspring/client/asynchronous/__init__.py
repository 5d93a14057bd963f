"""The client for coroutines. The blocking one beside it is written from these files by scripts/write_blocking.py."""
