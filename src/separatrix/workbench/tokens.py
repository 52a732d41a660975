"""Who is let in: a link that works once, then a cookie.

Both are random and compared in constant time. The link is shown in the terminal only, so whoever can read
it may use the workbench; when it has been used, a fresh one is made for another browser.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable

ADDRESS = "127.0.0.1"


class Tokens:
    """The secrets of one server. `renewed` is told each fresh link.

    >>> tokens = Tokens(8642)
    >>> tokens.link().startswith("http://127.0.0.1:8642/?token=")
    True
    """

    def __init__(self, port: int, *, renewed: Callable[[str], None] | None = None) -> None:
        self.port = port
        self.renewed = renewed
        self._token = secrets.token_urlsafe(32)
        self._cookie = secrets.token_urlsafe(32)

    def link(self) -> str:
        """Where a browser is let in, once."""
        return f"http://{ADDRESS}:{self.port}/?token={self._token}"

    def redeem(self, token: str) -> bool:
        """Whether this is the token; it is no longer after that."""
        if not _same(token, self._token):
            return False
        self._token = secrets.token_urlsafe(32)
        if self.renewed is not None:
            self.renewed(self.link())
        return True

    def cookie(self) -> str:
        """What a browser keeps that was let in: a name with the port, for cookies know no ports."""
        return f"{self._name}={self._cookie}; Path=/; HttpOnly; SameSite=Strict"

    def let_in(self, cookies: str) -> bool:
        """Whether a Cookie header holds ours. Others of the same name may stand beside it."""
        pairs = (pair.strip().partition("=") for pair in cookies.split(";"))
        found = [_same(value, self._cookie) for name, _, value in pairs if name == self._name]
        return any(found)

    @property
    def _name(self) -> str:
        return f"separatrix-{self.port}"


def _same(given: str, expected: str) -> bool:
    return secrets.compare_digest(given.encode("utf-8", "replace"), expected.encode())
