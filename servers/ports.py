import secrets
import socket

_LOWEST, _HIGHEST = 20_000, 32_000
"""Below what systems lend to outgoing connections: one of those could take a server's port while it is down."""


def free_port() -> int:
    """A port on loopback that nobody listens on now; another process may be faster, so be ready to ask again."""
    while True:
        port = _LOWEST + secrets.randbelow(_HIGHEST - _LOWEST)
        with socket.socket() as probe:
            # As servers do: a port is free although connections of its last owner still linger.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
