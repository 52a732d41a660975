"""`RequestError`: a request that is refused, with the HTTP status and a sentence."""

from __future__ import annotations

import json

from starlette.responses import Response

MAX_ECHO = 60  # characters of a request that an error message repeats
JSON = "application/json"


class RequestError(Exception):
    """A request is refused: an HTTP status, a code, a message and a hint."""

    def __init__(self, status: int, code: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.hint = status, code, message, hint

    def reply(self, headers: dict[str, str] | None = None) -> Response:
        """The error as a response."""
        return Response(self.body(), status_code=self.status, media_type=JSON, headers=headers)

    def body(self) -> bytes:
        """The error as JSON.

        >>> RequestError(404, "missing", "there is no job 7").body()
        b'{"error": {"code": "missing", "message": "there is no job 7", "hint": ""}}'
        """
        error = {"code": self.code, "message": self.message, "hint": self.hint}
        return json.dumps({"error": error}).encode()  # ASCII: encoding cannot fail


def shorten(text: str, length: int = MAX_ECHO) -> str:
    """The beginning of a long text.

    >>> shorten("abcdefgh", 5)
    'ab...'
    """
    return text if len(text) <= length else text[: length - 3] + "..."
