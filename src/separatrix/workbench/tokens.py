"""Access tokens: a link that works once, then a cookie.

Both are random and compared in constant time. Only the terminal shows the link; after its use there is a
new one for another browser.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable

ADDRESS = "127.0.0.1"


class Tokens:
    """The secrets of one server. `on_renewal` gets each new link.

    >>> tokens = Tokens(8642)
    >>> tokens.link().startswith("http://127.0.0.1:8642/?token=")
    True
    """

    def __init__(self, port: int, *, on_renewal: Callable[[str], None] | None = None) -> None:
        self.port = port
        self._on_renewal = on_renewal
        self._token = secrets.token_urlsafe(32)
        self._cookie = secrets.token_urlsafe(32)

    def link(self) -> str:
        """The address that gives one browser access."""
        return f"http://{ADDRESS}:{self.port}/?token={self._token}"

    def redeem(self, token: str) -> bool:
        """Whether this is the token, which is then replaced."""
        if not _equal(token, self._token):
            return False
        self._token = secrets.token_urlsafe(32)
        if self._on_renewal is not None:
            self._on_renewal(self.link())
        return True

    def cookie(self) -> str:
        """The cookie that gives access; its name has the port, because cookies ignore ports."""
        return f"{self._name}={self._cookie}; Path=/; HttpOnly; SameSite=Strict"

    def accepts(self, cookies: str) -> bool:
        """Whether a Cookie header has ours, possibly beside others of the same name."""
        pairs = (pair.strip().partition("=") for pair in cookies.split(";"))
        found = [_equal(value, self._cookie) for name, _, value in pairs if name == self._name]
        return any(found)

    @property
    def _name(self) -> str:
        return f"separatrix-{self.port}"


def _equal(value: str, expected: str) -> bool:
    return secrets.compare_digest(value.encode("utf-8", "replace"), expected.encode())
