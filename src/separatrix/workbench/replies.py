"""Errors of the server and the parsing of request bodies.

Every error is `{"error": {"code", "message", "hint"}}`: the code for programs, the message for people. A
body must be strict JSON that fits a schema; nothing is converted or ignored.
"""

from __future__ import annotations

import json
import signal
from typing import Any, TypeVar

from fastapi import FastAPI, Request, Response
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails
from starlette.exceptions import HTTPException

from separatrix.runtime.strict_json import parsed_json
from separatrix.web.request_error import JSON, RequestError, shorten
from separatrix.workbench.worker import print_traceback

WORKER_STATUS = {"refused": 422, "memory": 413, "points": 409}


Body = TypeVar("Body", bound=BaseModel)


async def read_body(request: Request, model: type[Body]) -> Body:
    """The body of a request, checked against `model`. The guard has checked its size and type."""
    return parse_body(await request.body(), model)


def parse_body(body: bytes, model: type[Body]) -> Body:
    """Parse a body: our parser refuses ambiguous JSON, pydantic what does not fit the schema.

    >>> from separatrix.workbench.strict_model import StrictModel
    >>> class Point(StrictModel):
    ...     x: float
    >>> parse_body(b'{"x": 1}', Point)
    Point(x=1.0)
    >>> parse_body(b'{"x": "one"}', Point)
    Traceback (most recent call last):
    ...
    separatrix.web.request_error.RequestError: `x`: found 'one', expected a valid number
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
        first, *others = error.errors(include_url=False, include_context=False)
    if first["type"] == "json_invalid":
        raise RequestError(400, "json", f"the body is not strict JSON: {first['msg']}")
    more = f" (and {len(others)} more)" if others else ""
    raise RequestError(422, "schema", _describe_mismatch(first) + more)


def _describe_mismatch(error: ErrorDetails) -> str:
    """The field, the value and what was expected: pydantic's message without its beginning."""
    where = shorten(".".join(str(step) for step in error["loc"]))
    if error["type"] == "extra_forbidden":
        return f"`{where}`: found a field of this name, expected none"
    if error["type"] == "missing":
        return f"`{where or 'body'}`: found nothing, expected a value"
    message = error["msg"].removeprefix("Input should be ").removeprefix("Value error, ")
    if message == error["msg"]:
        message = message[:1].lower() + message[1:]
    return f"`{where or 'body'}`: found {shorten(repr(error['input']))}, expected {message}"


def register_error_handlers(app: FastAPI) -> None:
    """Give every error of `app` the same form; the guard handles unexpected ones."""
    for kind in (RequestError, HTTPException):
        app.add_exception_handler(kind, _reply_to_error)


async def _reply_to_error(request: Request, error: Exception) -> Response:
    if isinstance(error, RequestError):
        return error.reply()
    assert isinstance(error, HTTPException)
    path, method = shorten(request.url.path), shorten(request.method)
    known = {
        404: ("path", f"nothing at {path}"),
        405: ("method", f"{method} is not allowed for {path}"),
    }
    code, message = known.get(error.status_code, ("refused", str(error.detail)))
    return RequestError(error.status_code, code, message).reply(dict(error.headers or {}))


def internal_error(error: BaseException | None, part: str = "the workbench") -> RequestError:
    """The error for a bug of ours; its traceback goes to stderr."""
    if error is not None:
        print_traceback(error)
    message = f"something went wrong inside {part}; nothing you sent should do that"
    return RequestError(500, "internal", message, "the terminal of the workbench shows the error")


def error_from_worker(error: dict[str, str]) -> RequestError:
    """The error that `describe_error` sent."""
    if error["code"] == "internal":
        return internal_error(None, "the worker")
    return RequestError(WORKER_STATUS[error["code"]], **error)


def error_from_exit(code: int) -> RequestError:
    """The error for a worker that died with this exit code."""
    if code == -signal.SIGKILL:
        message = "the worker was killed by the system, most likely because memory ran out"
        return RequestError(413, "memory", message, "use fewer rows; a new worker is starting")
    message = f"the worker died ({f'signal {-code}' if code < 0 else f'exit code {code}'})"
    return RequestError(503, "worker", message, "a new one is starting: try again")


def json_reply(value: Any) -> Response:
    """A response of plain values."""
    return Response(json.dumps(value, allow_nan=False), media_type=JSON)
