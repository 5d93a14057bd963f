"""Who may pass: API keys as `Authorization: Bearer …`.

As long as no key exists, and only where `Access` allows it, everybody may. A request that shows a key is judged by
that key whatever else holds, so that nothing is ever stored for the wrong owner.
"""

from starlette.types import ASGIApp, Message, Receive, Send
from starlette.types import Scope as Request

from mainspring.api.access import Access
from mainspring.api.caller import OWNER_HEADER, Caller, remember
from mainspring.api.dashboard import is_dashboard
from mainspring.api.headers import header
from mainspring.api.keyring import Holder, KeyRing
from mainspring.api.problems import problem, problem_of
from mainspring.errors import MainspringError
from mainspring.ports.keys import Keys, Scope
from mainspring.ports.time import Clock

PUBLIC = frozenset({"/metrics", "/healthz", "/readyz"})
"""What probes and collectors ask for; they have no key, and it says nothing about anybody's jobs."""
_READING = frozenset({"GET", "HEAD", "OPTIONS"})
_READING_PATHS = frozenset({"/api/v1/schedules/preview"})
_ADMIN_PATHS = ("/api/v1/audit", "/api/v1/keys")
"""With all that lies below them."""
_ADMIN_CHANGES = ("/api/v1/workers/",)
"""What everybody may see, and only an administrator change."""
_ALLOWS = {
    Scope.READ: frozenset({Scope.READ}),
    Scope.WRITE: frozenset({Scope.READ, Scope.WRITE}),
    Scope.ADMIN: frozenset(Scope),
}
_CHALLENGE = 'Bearer realm="mainspring"'


class Refused(Exception):
    """The request may not pass."""

    def __init__(self, status: int, code: str, title: str, detail: str, challenge: str | None = None) -> None:
        super().__init__(detail)
        self.status, self.code, self.title, self.detail, self.challenge = status, code, title, detail, challenge


class Credentials:
    """Lets a request pass once it is known whose it is, and tells the endpoints."""

    def __init__(self, app: ASGIApp, *, access: Access, keys: Keys, clock: Clock) -> None:
        self._app = app
        self._open_without_keys = access.open_without_keys
        self._ring = KeyRing(keys, clock, access.keys)

    async def __call__(self, scope: Request, receive: Receive, send: Send) -> None:
        """Answer for the application, or let it answer."""
        if scope["type"] != "http" or (path := path_of(scope)) in PUBLIC or is_dashboard(path):
            await self._app(scope, receive, send)
            return
        try:
            token = _token(scope)
            holder = await self._holder(token)
            if holder is not None:
                _check_owner(scope, holder)
                _check_scope(scope, holder)
        except Refused as refused:
            answer = problem(refused.status, refused.code, refused.title, refused.detail)
            if refused.challenge is not None:
                answer.headers["WWW-Authenticate"] = refused.challenge
            await answer(scope, receive, send)
            return
        except MainspringError as error:
            await problem_of(error)(scope, receive, send)
            return
        if token is None or holder is None:
            await self._app(scope, receive, send)
            return
        caller = Caller(owner=holder.owner, named=True, isolated=True, scope=holder.scope, actor=holder.actor)
        remember(scope, caller)
        await self._app(scope, receive, self._while_valid(token, send))

    async def _holder(self, token: str | None) -> Holder | None:
        """Whose key it is; None for nobody's where none is needed."""
        if token is None:
            if self._open_without_keys and not await self._ring.any():
                return None
            raise _unauthorized("send an API key as 'Authorization: Bearer ms_live_…'", _CHALLENGE)
        holder = await self._ring.holder(token)
        if holder is None:
            detail = "this API key is unknown, revoked or expired; make one with 'mainspring key create'"
            raise _unauthorized(detail, f'{_CHALLENGE}, error="invalid_token"')
        return holder

    def _while_valid(self, token: str, send: Send) -> Send:
        """Send as long as the key is good: a stream must not go on for somebody whose key was revoked."""
        over = False

        async def checked(message: Message) -> None:
            nonlocal over
            if not over and message.get("more_body") and not await self._still_held(token):
                over = True
                await send({"type": "http.response.body", "body": b"", "more_body": False})
            if not over:
                await send(message)

        return checked

    async def _still_held(self, token: str) -> bool:
        try:
            return await self._ring.holder(token) is not None
        except MainspringError:
            return True  # nobody can say now; whoever has something to send will ask again


def path_of(scope: Request) -> str:
    """The path within our application, wherever it is mounted."""
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", ""))


def _token(scope: Request) -> str | None:
    shown: list[bytes] = [value for name, value in scope["headers"] if name == b"authorization"]
    if not shown:
        return None
    kind, _, token = shown[0].decode("latin-1").partition(" ")
    if len(shown) > 1 or kind.lower() != "bearer" or not token.strip():
        raise _unauthorized("send one header 'Authorization: Bearer' with an API key", _CHALLENGE)
    return token.strip()


def _check_owner(scope: Request, holder: Holder) -> None:
    label = header(scope, OWNER_HEADER.lower().encode())
    if label is not None and label != holder.owner:
        detail = f"the key belongs to another owner than {OWNER_HEADER} says; leave that header out"
        raise Refused(403, "foreign_owner", "The owner isn't yours", detail)


def _check_scope(scope: Request, holder: Holder) -> None:
    path = path_of(scope).rstrip("/")
    needed = Scope.READ if scope["method"] in _READING or path in _READING_PATHS else Scope.WRITE
    if path.startswith(_ADMIN_PATHS) or (needed is Scope.WRITE and path.startswith(_ADMIN_CHANGES)):
        needed = Scope.ADMIN
    if needed not in _ALLOWS[holder.scope]:
        detail = f"this needs a key with the scope {needed}, and yours has {holder.scope}"
        raise Refused(403, "missing_scope", "The key doesn't allow that", detail)


def _unauthorized(detail: str, challenge: str) -> Refused:
    return Refused(401, "unauthorized", "An API key is needed", detail, challenge)
