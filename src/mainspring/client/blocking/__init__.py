# Written by scripts/write_blocking.py from src/mainspring/client/asynchronous/__init__.py. Don't edit.
"""The client without coroutines."""
