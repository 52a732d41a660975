"""Errors of the server and the parsing of request bodies.

Every error is `{"error": {"code", "message", "hint"}}`: the code for programs, the message for people. A
body must be strict JSON that fits a schema; nothing is converted or ignored.
"""

from __future__ import annotations

import json
import signal
from http import HTTPStatus
from typing import Any, TypeVar

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails
from starlette.exceptions import HTTPException

from separatrix.runtime.strict_json import parsed_json
from separatrix.workbench.worker import print_traceback

MAX_ECHO = 60  # characters of a request that an error message repeats
CODES = {
    400: "json",
    401: "token",
    403: "origin",
    404: "path",
    405: "method",
    413: "size",
    415: "type",
    421: "host",
    422: "schema",
}
JSON = "application/json"
WORKER_STATUS = {"refused": 422, "memory": 413}


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


class RequestModel(BaseModel):
    """The body of a request: no unknown fields, no conversion of types, no NaN."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)


class EmptyRequest(RequestModel):
    """The body of a request without arguments."""


Body = TypeVar("Body", bound=BaseModel)


async def read_body(request: Request, model: type[Body]) -> Body:
    """The body of a request, checked against `model`. The guard has checked its size and type."""
    return parse_body(await request.body(), model)


def parse_body(body: bytes, model: type[Body]) -> Body:
    """Parse a body: our parser refuses ambiguous JSON, pydantic what does not fit the schema.

    >>> class Point(RequestModel):
    ...     x: float
    >>> parse_body(b'{"x": 1}', Point)
    Point(x=1.0)
    >>> parse_body(b'{"x": "one"}', Point)
    Traceback (most recent call last):
    ...
    separatrix.workbench.replies.RequestError: `x`: found 'one', expected a valid number
    """
    try:
        parsed_json(body.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise RequestError(400, "json", f"the body is not UTF-8 at byte {error.start}") from None
    except ValueError as error:
        raise RequestError(400, "json", f"the body is not strict JSON: {error}") from None
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        raise _schema_error(error) from None


def _schema_error(error: ValidationError) -> RequestError:
    found = error.errors(include_url=False, include_context=False)
    if found[0]["type"] == "json_invalid":
        return RequestError(400, "json", f"the body is not strict JSON: {found[0]['msg']}")
    others = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return RequestError(422, "schema", _sentence(found[0]) + others)


def _sentence(error: ErrorDetails) -> str:
    """The field, the value and what was expected."""
    where = shorten(".".join(str(step) for step in error["loc"]))
    if error["type"] == "extra_forbidden":
        return f"`{where}`: found a field of this name, expected none"
    found = "nothing" if error["type"] == "missing" else shorten(repr(error["input"]))
    return f"`{where or 'body'}`: found {found}, expected {_expected(error)}"


def _expected(error: ErrorDetails) -> str:
    """Pydantic's message without its beginning."""
    if error["type"] == "missing":
        return "a value"
    message = error["msg"].removeprefix("Input should be ").removeprefix("Value error, ")
    return message[:1].lower() + message[1:] if message == error["msg"] else message


def shorten(text: str, length: int = MAX_ECHO) -> str:
    """The beginning of a long text.

    >>> shorten("abcdefgh", 5)
    'ab...'
    """
    return text if len(text) <= length else text[: length - 3] + "..."


def register_error_handlers(app: FastAPI) -> None:
    """Give every error of `app` the same form; the guard handles unexpected ones."""
    app.add_exception_handler(RequestError, _request_error)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(RequestValidationError, _parameter_error)


async def _request_error(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestError)
    return error.reply()


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    code = CODES.get(error.status_code, "refused")
    return RequestError(error.status_code, code, _status_message(request, error)).reply(
        dict(error.headers or {})
    )


def _status_message(request: Request, error: HTTPException) -> str:
    if error.status_code == HTTPStatus.NOT_FOUND:
        return f"nothing at {shorten(request.url.path)}"
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        return f"{shorten(request.method)} is not allowed for {shorten(request.url.path)}"
    return str(error.detail)


async def _parameter_error(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return RequestError(422, "schema", _sentence(error.errors()[0])).reply()


def internal_error(error: BaseException) -> RequestError:
    """The error for a bug of ours; its traceback goes to stderr."""
    print_traceback(error)
    return _internal_error("the workbench")


def _internal_error(part: str) -> RequestError:
    message = f"something went wrong inside {part}; nothing you sent should do that"
    return RequestError(500, "internal", message, "the terminal of the workbench shows the error")


def error_from_worker(error: dict[str, str]) -> RequestError:
    """The error that `describe_error` sent."""
    if error["code"] == "internal":
        return _internal_error("the worker")
    return RequestError(
        WORKER_STATUS[error["code"]], error["code"], error["message"], error["hint"]
    )


def error_from_exit(code: int) -> RequestError:
    """The error for a worker that died with this exit code."""
    if code == -signal.SIGKILL:
        message = "the worker was killed by the system, most likely because memory ran out"
        return RequestError(413, "memory", message, "take fewer rows; a new worker is starting")
    message = f"the worker died ({f'signal {-code}' if code < 0 else f'exit code {code}'})"
    return RequestError(503, "worker", message, "a new one is starting: try again")


def json_reply(value: Any, status: int = 200) -> Response:
    """A response of plain values."""
    return Response(
        json.dumps(value, allow_nan=False).encode(), status_code=status, media_type=JSON
    )
