"""What the server says when it refuses, and how it reads what it is sent.

Every error has one shape, `{"error": {"code", "message", "hint"}}`: the code for programs, the sentence for
a person. Bodies are strict JSON, then a schema: nothing is converted, guessed or left aside.
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

LONGEST = 60  # letters of what was found that are said back
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
    """A request is refused: an HTTP status, a word for programs, a sentence, and what to do."""

    def __init__(self, status: int, code: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.hint = status, code, message, hint

    def reply(self, headers: dict[str, str] | None = None) -> Response:
        """The refusal as an answer."""
        return Response(self.body(), status_code=self.status, media_type=JSON, headers=headers)

    def body(self) -> bytes:
        """The one JSON shape of errors.

        >>> RequestError(404, "missing", "there is no job 7").body()
        b'{"error": {"code": "missing", "message": "there is no job 7", "hint": ""}}'
        """
        error = {"code": self.code, "message": self.message, "hint": self.hint}
        return json.dumps({"error": error}).encode()  # ASCII, so that nothing in it can fail


class RequestModel(BaseModel):
    """A request's body: no field it does not know, no type but the one it names, no NaN."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)


class EmptyRequest(RequestModel):
    """The body of a request whose path says all."""


Body = TypeVar("Body", bound=BaseModel)


async def read_body(request: Request, model: type[Body]) -> Body:
    """The request's body, checked against `model`. Its size and type were the guard's matter."""
    return parsed_body(await request.body(), model)


def parsed_body(body: bytes, model: type[Body]) -> Body:
    """Two readers must agree: ours finds what is ambiguous, pydantic's what does not fit the schema.

    >>> class Point(RequestModel):
    ...     x: float
    >>> parsed_body(b'{"x": 1}', Point)
    Point(x=1.0)
    >>> parsed_body(b'{"x": "one"}', Point)
    Traceback (most recent call last):
    ...
    separatrix.workbench.replies.Refusal: `x`: found 'one', expected a valid number
    """
    try:
        parsed_json(body.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise RequestError(400, "json", f"the body is not UTF-8 at byte {error.start}") from None
    except ValueError as error:
        raise RequestError(
            400, "json", f"the body is not JSON that is read here: {error}"
        ) from None
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        raise _of_schema(error) from None


def _of_schema(error: ValidationError) -> RequestError:
    found = error.errors(include_url=False, include_context=False)
    if found[0]["type"] == "json_invalid":
        return RequestError(
            400, "json", f"the body is not JSON that is read here: {found[0]['msg']}"
        )
    others = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return RequestError(422, "schema", _sentence(found[0]) + others)


def _sentence(error: ErrorDetails) -> str:
    """Where it is, what was found there and what was expected."""
    where = shortened(".".join(str(step) for step in error["loc"]))
    if error["type"] == "extra_forbidden":
        return f"`{where}`: found a field of this name, expected none"
    found = "nothing" if error["type"] == "missing" else shortened(repr(error["input"]))
    return f"`{where or 'body'}`: found {found}, expected {_expected(error)}"


def _expected(error: ErrorDetails) -> str:
    """Pydantic's sentence without its beginning."""
    if error["type"] == "missing":
        return "a value"
    for beginning in ("Input should be ", "Value error, "):
        if error["msg"].startswith(beginning):
            return error["msg"].removeprefix(beginning)
    return error["msg"][:1].lower() + error["msg"][1:]


def shortened(text: str, letters: int = LONGEST) -> str:
    """The beginning of a long text.

    >>> shortened("abcdefgh", 5)
    'ab...'
    """
    return text if len(text) <= letters else text[: letters - 3] + "..."


def answer_errors(app: FastAPI) -> None:
    """Give every error of `app` the one shape; what is unforeseen is the guard's matter."""
    app.add_exception_handler(RequestError, _refusal)
    app.add_exception_handler(HTTPException, _of_http)
    app.add_exception_handler(RequestValidationError, _of_parameters)


async def _refusal(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestError)
    return error.reply()


async def _of_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    code = CODES.get(error.status_code, "refused")
    return RequestError(error.status_code, code, _of_status(request, error)).reply(
        dict(error.headers or {})
    )


def _of_status(request: Request, error: HTTPException) -> str:
    if error.status_code == HTTPStatus.NOT_FOUND:
        return f"there is nothing at {shortened(request.url.path)}"
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        return f"{shortened(request.method)} is not for {shortened(request.url.path)}"
    return str(error.detail)


async def _of_parameters(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return RequestError(422, "schema", _sentence(error.errors()[0])).reply()


def internal(error: BaseException) -> RequestError:
    """The refusal for a fault of ours; its traceback goes to stderr."""
    print_traceback(error)
    return _fault("the workbench")


def _fault(part: str) -> RequestError:
    message = f"something went wrong inside {part}; nothing you sent should do that"
    return RequestError(500, "internal", message, "the terminal of the workbench shows the error")


def refusal_from_worker(error: dict[str, str]) -> RequestError:
    """The refusal for what `describe_error` sent."""
    if error["code"] == "internal":
        return _fault("the worker")
    return RequestError(
        WORKER_STATUS[error["code"]], error["code"], error["message"], error["hint"]
    )


def refusal_from_exit(code: int) -> RequestError:
    """The refusal for a worker that died with this exit code."""
    if code == -signal.SIGKILL:
        message = "the worker was killed by the system, most likely because memory ran out"
        return RequestError(413, "memory", message, "take fewer rows; a new worker is starting")
    message = f"the worker died ({f'signal {-code}' if code < 0 else f'exit code {code}'})"
    return RequestError(503, "worker", message, "a new one is starting: try again")


def json_reply(value: Any, status: int = 200) -> Response:
    """A plain value as an answer, without NaN."""
    return Response(
        json.dumps(value, allow_nan=False).encode(), status_code=status, media_type=JSON
    )
