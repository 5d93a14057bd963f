"""Why no answer came, in words that say what to change."""

import socket
import ssl

import httpx

_BINARY = "illegal request line"
"""What h11 says of an answer that begins as no text does: a server that expects TLS refuses in TLS."""


def reason(error: httpx.TransportError, url: str) -> str:
    """What went wrong on the way to *url*, as far as it can be told."""
    said = str(error) or type(error).__name__
    not_http = isinstance(error, httpx.RemoteProtocolError)
    match _first_cause(error):
        case socket.gaierror():
            advice = "the name of its host isn't known: check it"
        case ssl.SSLCertVerificationError():
            advice = "its certificate isn't trusted: SSL_CERT_FILE can name a file with its authority"
        case ssl.SSLError():
            advice = "it doesn't speak TLS as expected: if it has none, write http:// instead of https://"
        case _ if not_http and _BINARY in said:
            advice = "it expects TLS: write https:// instead of http://"
        case _ if not_http and "illegal" in said:
            advice = "what answers there doesn't speak HTTP: check the port"
        case _ if not_http and url.startswith("http:"):
            advice = "it may expect TLS, or isn't a Mainspring: try https://, or check the port"
        case _:
            return said
    return f"{advice} ({said})"


def _first_cause(error: BaseException) -> BaseException:
    while (earlier := error.__cause__ or error.__context__) is not None:
        error = earlier
    return error
