"""What the server answers: a fixed table of paths, each with a function from a request to a reply."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import parse_qsl

import numpy as np
import orjson
from starlette.types import Scope

from separatrix import __version__
from separatrix.errors import SeparatrixError
from separatrix.serving.inference_protocol import (
    HEADER_LENGTH,
    PROBABILITIES,
    describe_model,
    make_reply,
    parse_infer,
)
from separatrix.serving.micro_batches import MicroBatcher
from separatrix.serving.model_store import Log, ModelStore
from separatrix.serving.prometheus import Metrics
from separatrix.serving.request_rows import refuse, rows_of_csv, rows_of_json
from separatrix.serving.served_model import ServedModel
from separatrix.serving.serving_options import ServingOptions
from separatrix.web.headers import single_header
from separatrix.web.request_error import JSON, RequestError, shorten
from separatrix.web.static_files import load_files

if TYPE_CHECKING:
    from separatrix.serving.served_model import Rows, Scores, Signature

LARGE_BODY = 64 * 1024  # bytes; a larger one is parsed in a thread
MOST_EXPLAINED = 20  # rows of a request
INFER_TYPES = (JSON, "application/octet-stream")
PREDICT_TYPES = (JSON, "text/csv")
QUERIES = ("model", "version", "explain", "probabilities")
QUERY_TRUTH = {"1": True, "true": True, "0": False, "false": False}
PAGES = {"/": "page.html", "/docs": "page.html", "/openapi.json": "openapi.json"}
Result = TypeVar("Result")


class Reply(NamedTuple):
    """An answer."""

    status: int
    body: bytes
    headers: dict[str, str]


class ServedRequest:
    """A request whose size and token were checked, and what the log says about it."""

    def __init__(self, scope: Scope, body: bytes = b"") -> None:
        self.scope, self.body = scope, body
        self.path: str = scope["path"]
        self.note: dict[str, Any] = {}

    def header(self, name: str) -> str | None:
        """A header that may occur once."""
        return single_header(self.scope, name.lower().encode())

    def content_type(self, allowed: tuple[str, ...]) -> str:
        """The type of the body without its parameters; the first one if none is given."""
        found = (self.header("content-type") or allowed[0]).partition(";")[0].strip().lower()
        if found not in allowed:
            expected = " or ".join(allowed)
            message = f"Content-Type: found {shorten(repr(found))}, expected {expected}"
            raise RequestError(415, "type", message)
        if self.header("content-encoding"):
            raise RequestError(415, "type", "found a Content-Encoding, expected none")
        return found

    def query(self) -> dict[str, str]:
        """The parameters behind the question mark."""
        text = self.scope["query_string"].decode("latin-1")
        try:
            found = parse_qsl(text, keep_blank_values=True, max_num_fields=8)
        except ValueError:
            refuse("found a query with more than 8 parameters")
        unknown = next((name for name, _ in found if name not in QUERIES), None)
        if unknown is not None:
            refuse(f"?{shorten(ascii(unknown))}: expected one of {', '.join(QUERIES)}")
        return dict(found)

    def require_different_parameters(self) -> None:
        """Refuse a query that gives a parameter twice, whatever the path does with it."""
        if b"&" not in (text := self.scope["query_string"]):
            return
        names = Counter(name for name, _ in parse_qsl(text.decode("latin-1"), True))
        name, count = names.most_common(1)[0] if names else ("", 0)
        if count > 1:
            message = f"?{shorten(ascii(name))} is given {count} times, expected once"
            raise RequestError(400, "query", message)


class Endpoints:
    """The state of a server, and its answers."""

    def __init__(
        self,
        options: ServingOptions,
        metrics: Metrics,
        log: Log,
        expected: Mapping[str, Signature] | None = None,
    ) -> None:
        self.options, self.metrics = options, metrics
        self.scorer = ThreadPoolExecutor(1, "score")
        self.parser = ThreadPoolExecutor(1, "parse")
        self.loader = ThreadPoolExecutor(1, "load")
        self.draining = False
        self.in_progress = 0
        self.store = ModelStore(options, log, metrics.add, self._make_batcher, expected)
        self.static = load_files("separatrix.serving")
        shared = load_files("separatrix.workbench")
        self.static |= {name: shared[name] for name in ("workbench.css", "dom.js", "icon.svg")}

    def _make_batcher(self, model: ServedModel) -> MicroBatcher:
        return MicroBatcher(
            model,
            self.scorer,
            window=self.options.window,
            in_progress=lambda: self.in_progress,
            on_queue=lambda change: self.metrics.add("separatrix_queue", change),
            on_block=self.metrics.add_block,
        )

    def change_in_progress(self, change: int) -> None:
        """Count a request whose reading begins (1), or that is answered (-1)."""
        self.in_progress += change
        self.metrics.add("separatrix_requests_in_progress", change)

    def close(self) -> None:
        """Stop the threads."""
        for threads in (self.scorer, self.parser, self.loader):
            threads.shutdown(wait=False, cancel_futures=True)

    async def answer(self, request: ServedRequest) -> Reply:
        """Answer a request, or raise a `RequestError`."""
        request.require_different_parameters()
        allowed = []
        for method, pattern, function in ROUTES:
            if (match := pattern.fullmatch(request.path)) is not None:
                if method == request.scope["method"]:
                    return await function(self, request, *match.groups())
                allowed.append(method)
        where = shorten(ascii(request.path))
        if allowed:
            words = f"{where} takes {' and '.join(allowed)}, not {request.scope['method'][:20]}"
            raise RequestError(405, "method", words)
        raise RequestError(404, "path", f"nothing at {where}")

    async def infer(self, request: ServedRequest, name: str, version: str | None) -> Reply:
        """Predict tensors."""
        batcher = self.store.find(name, version)
        request.content_type(INFER_TYPES)
        length, most = request.header(HEADER_LENGTH), self.options.max_rows
        parsed = await self._parse(parse_infer, batcher.model, request.body, length, most)
        scores = await self._score(request, batcher, parsed.rows, PROBABILITIES in parsed.outputs)
        return Reply(200, *make_reply(batcher.model, parsed, scores))

    async def predict(self, request: ServedRequest) -> Reply:
        """Predict rows of JSON or CSV."""
        query = request.query()
        explained = _truth(query, "explain", default=False)
        asked = _truth(query, "probabilities", default=True)
        batcher = self.store.find(query.get("model"), query.get("version"))
        model = batcher.model
        of = rows_of_csv if request.content_type(PREDICT_TYPES) == "text/csv" else rows_of_json
        rows = await self._parse(of, model, request.body, self.options.max_rows)
        if explained and len(rows) > MOST_EXPLAINED:
            refuse(f"found {len(rows)} rows with explain=1, expected at most {MOST_EXPLAINED}")
        scores = await self._score(request, batcher, rows, asked and model.has_probabilities)
        found: dict[str, Any] = {
            "model": model.name,
            "version": model.version,
            "labels": scores.labels.tolist(),
        }
        if scores.P is not None:
            found |= {"classes": model.classes.tolist(), "probabilities": scores.P.tolist()}
        if notes := model.notes(rows):
            found["notes"] = notes
        if explained:
            found["explanations"] = await self._guard(self._run(_explain_rows, model, rows))
        return json_reply(found)

    async def _score(
        self, request: ServedRequest, batcher: MicroBatcher, rows: Rows, probabilities: bool
    ) -> Scores:
        model = batcher.model
        request.note |= {"model": f"{model.name}:{model.version}", "rows": len(rows)}
        return await self._guard(batcher.score(rows, probabilities))

    async def _guard(self, work: Awaitable[Result]) -> Result:
        """Turn refusals of a model into those of a request."""
        try:
            return await work
        except (SeparatrixError, ValueError) as error:
            raise _rows_error(error) from None

    async def _run(self, function: Callable[..., Result], *arguments: Any) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self.scorer, function, *arguments)

    async def _parse(
        self, function: Callable[..., Any], model: Any, body: bytes, *rest: Any
    ) -> Any:
        """Parse a body, a large one in a thread."""
        try:
            if len(body) <= LARGE_BODY:
                return function(model, body, *rest)
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self.parser, function, model, body, *rest)
        except SeparatrixError as error:  # of the reader of tables
            raise _rows_error(error) from None

    async def live(self, _request: ServedRequest) -> Reply:
        """Whether the process answers."""
        return json_reply({"live": True})

    async def ready(self, _request: ServedRequest) -> Reply:
        """Whether new requests are welcome: not while the server stops; and how many workers answer."""
        found = {
            "ready": not self.draining,
            "workers": self.options.workers,
            "workers_ready": self.metrics.total("separatrix_workers_ready"),
        }
        return json_reply(found, 503 if self.draining else 200)

    async def server(self, _request: ServedRequest) -> Reply:
        """Name, version and extensions."""
        found = {"name": "separatrix", "version": __version__, "extensions": ["binary_tensor_data"]}
        return json_reply(found)

    async def index(self, _request: ServedRequest) -> Reply:
        """Every model and version."""
        rows = [
            {
                "name": name,
                "version": version,
                "state": "READY",
                "reason": self.store.reason(name, version),
            }
            for name in self.store.models
            for version in self.store.versions(name)
        ]
        return json_reply(rows)

    async def model(self, _request: ServedRequest, name: str, version: str | None) -> Reply:
        """The inputs and outputs of a model."""
        found = self.store.find(name, version).model
        return json_reply(describe_model(found, self.store.versions(name)))

    async def model_ready(self, _request: ServedRequest, name: str, version: str | None) -> Reply:
        """Whether there is such a model, and the server does not stop."""
        self.store.find(name, version)
        return json_reply({"ready": not self.draining}, 503 if self.draining else 200)

    async def show_metrics(self, _request: ServedRequest) -> Reply:
        """Prometheus' text format."""
        text = self.metrics.text().encode()
        return Reply(200, text, {"Content-Type": "text/plain; version=0.0.4; charset=utf-8"})

    async def page(self, request: ServedRequest, name: str | None = None) -> Reply:
        """The form at `/`, the reference at `/docs`, the OpenAPI description, or a file of these."""
        file = self.static.get(name or PAGES[request.path])
        if file is None:
            raise RequestError(404, "path", f"there is no file {shorten(ascii(name))}")
        return Reply(*file.answer(request.header("if-none-match")))


def _truth(query: Mapping[str, str], name: str, *, default: bool) -> bool:
    """A parameter that is true or false."""
    word = query.get(name, "1" if default else "0")
    if (value := QUERY_TRUTH.get(word.casefold())) is None:
        refuse(f"?{name}: found {shorten(repr(word))}, expected one of {', '.join(QUERY_TRUTH)}")
    return value


def json_reply(value: Any, status: int = 200) -> Reply:
    """A reply of plain values."""
    return Reply(status, orjson.dumps(value), {"Content-Type": JSON})


def _rows_error(error: Exception) -> RequestError:
    return RequestError(422, "rows", shorten(" ".join(str(error).split()), 300))


def _explain_rows(model: ServedModel, rows: Rows) -> list[dict[str, Any]]:
    found = [model.explain_row(rows, row) for row in range(len(rows))]
    plain: list[dict[str, Any]] = orjson.loads(
        orjson.dumps(found, option=orjson.OPT_SERIALIZE_NUMPY, default=_plain)
    )
    return plain


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else str(value)


_MODEL = r"/v2/models/([^/]+)(?:/versions/([^/]+))?"
ROUTES: list[tuple[str, re.Pattern[str], Callable[..., Awaitable[Reply]]]] = [
    (method, re.compile(path), function)
    for method, path, function in (
        ("POST", _MODEL + "/infer", Endpoints.infer),
        ("POST", "/predict", Endpoints.predict),
        ("GET", "/v2/health/live", Endpoints.live),
        ("GET", "/v2/health/ready", Endpoints.ready),
        ("GET", "/metrics", Endpoints.show_metrics),
        ("GET", "/v2/?", Endpoints.server),
        ("GET", "/v2/models", Endpoints.index),
        ("POST", "/v2/repository/index", Endpoints.index),
        ("GET", _MODEL, Endpoints.model),
        ("GET", _MODEL + "/ready", Endpoints.model_ready),
        ("GET", "|".join(map(re.escape, PAGES)), Endpoints.page),
        ("GET", r"/static/([^/]+)", Endpoints.page),
    )
]
