"""The door of the workbench: only this machine, only who was given the token, nothing from elsewhere.

A page of another site that is open in the same browser can send requests here. It cannot read the
token, its requests carry another Origin, and the cookie, which is SameSite=Strict, stays at home.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from base64 import b64encode
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

SAFE = frozenset({"GET", "HEAD"})
STYLE = re.compile(r"<style>(.*?)</style>", re.DOTALL)
"""The style of a page: matches "<style>p { }</style>", and not "<style nonce=x>"."""
FIXED = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",  # with no-referrer a browser sends our own forms with Origin: null
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
"""Headers of every answer."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'{style}; img-src 'self' data:; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


BODY_BYTES = 65_536
"""Of the largest form that is read."""


def make_token() -> str:
    """Make the secret of one run of the server."""
    return secrets.token_urlsafe(24)


def policy(html: str) -> str:
    """Return the Content-Security-Policy of a page: of inline styles only its own, by digest."""
    digests = (b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in STYLE.findall(html))
    return POLICY.format(style="".join(f" 'sha256-{digest}'" for digest in digests))


@dataclass(frozen=True)
class Guard:
    """An application behind the door."""

    app: ASGIApp
    token: str = field(repr=False)
    port: int
    read_only: bool = False

    @property
    def hosts(self) -> frozenset[str]:
        """Return the names under which this server may be asked."""
        return frozenset({f"127.0.0.1:{self.port}", f"localhost:{self.port}"})

    @property
    def cookie(self) -> str:
        """Return the cookie's name: cookies are shared by all ports of a machine."""
        return f"kina_desk_{self.port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or answer it at the door."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        answer = self._refuse(scope, Headers(scope=scope))
        if answer is not None:
            await answer(scope, receive, _with_headers(send))
            return
        await self.app(scope, receive, _with_headers(send))

    def _refuse(self, scope: Scope, headers: Headers) -> Response | None:
        """Answer what may not pass; None lets it in."""
        if headers.get("host") not in self.hosts:
            return PlainTextResponse("This server answers on 127.0.0.1 only.", 421)
        given = dict(parse_qsl(scope["query_string"].decode("latin-1")))
        if scope["method"] in SAFE and self._is_token(given.pop("token", "")):
            return self._welcome(scope["path"], given)
        if not self._is_token(_cookie(headers, self.cookie)):
            return PlainTextResponse("Open the address that `kina desk` printed: it holds the key.", 403)
        return None if scope["method"] in SAFE else self._refuse_writing(headers)

    def _refuse_writing(self, headers: Headers) -> Response | None:
        if headers.get("origin") not in {f"http://{host}" for host in self.hosts}:
            return PlainTextResponse("Refused: this request comes from another page.", 403)
        if self.read_only:
            return PlainTextResponse("Refused: the desk runs with --read-only.", 403)
        return None

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), self.token.encode())

    def _welcome(self, path: str, rest: dict[str, str]) -> Response:
        """Put the token into a cookie, and take it out of the address; `//host` would lead elsewhere."""
        path = "/" + path.lstrip("/")
        answer = RedirectResponse(f"{path}?{urlencode(rest)}" if rest else path, 303)
        answer.set_cookie(self.cookie, self.token, httponly=True, samesite="strict", path="/")
        return answer


async def read_form(request: Request) -> dict[str, str]:
    """Read a form; of a field that stands twice the last one counts."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > BODY_BYTES:
            break
    return dict(parse_qsl(body[:BODY_BYTES].decode("utf-8", "replace"), keep_blank_values=True))


def _cookie(headers: Headers, name: str) -> str:
    for part in headers.get("cookie", "").split(";"):
        key, _, value = part.strip().partition("=")
        if key == name:
            return value.strip('"')
    return ""


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in FIXED.items():
                headers.setdefault(name, value)
            headers.setdefault("content-security-policy", POLICY.format(style=""))
        await send(message)

    return sending
