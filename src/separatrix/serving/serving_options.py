"""What is served, to whom, and the limits of a request; the command line has checked them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from separatrix.data.regular_files import read_regular
from separatrix.errors import DataError, ParameterError
from separatrix.web import MEGABYTE

LOOPBACK = ("127.0.0.1", "::1", "localhost")
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")
SHORTEST_TOKEN = 16


class ModelSource(NamedTuple):
    """A model file, and the name and version under which it is served."""

    name: str
    version: str
    path: Path


@dataclass(frozen=True)
class ServingOptions:
    """What is served, where, and the limits of a request."""

    models: tuple[ModelSource, ...]
    host: str = "127.0.0.1"
    port: int = 8000
    workers: int = 1
    tokens: tuple[str, ...] = field(default=(), repr=False)
    """Bearer tokens that give access; without one, everybody who reaches the port has access."""
    max_batch: int = 32
    """Rows of a block; smaller requests are scored together, in blocks of exactly this size."""
    window: float = 0.002
    """Seconds for which a block waits for further requests."""
    max_rows: int = 10_000
    max_body: int = 16 * MEGABYTE
    timeout: float = 10.0
    """Seconds from the first byte of a request to its answer."""
    connections: int = 1000
    queue: int = 128
    """Requests that are read or scored at a time; others are answered 429."""
    reject_delay: float = 2.0
    """Seconds until that answer: clients that ask again at once would take the processor from others."""
    device: str = "auto"
    drain: float = 1.0
    """Seconds between the signal to stop and the end of new requests: readiness is false."""
    poll: float = 1.0
    """Seconds between two checks of the model files."""
    access_log: bool = True
    any_signature: bool = False
    """Whether a file that changes may have another signature."""


def parse_source(text: str) -> ModelSource:
    """Parse PATH, NAME=PATH or NAME:VERSION=PATH.

    >>> parse_source("iris:2=models/new.model")
    ModelSource(name='iris', version='2', path=PosixPath('models/new.model'))
    >>> parse_source("models/iris.model").name
    'iris'
    """
    name, equals, path = text.partition("=")
    if not equals or "/" in name:
        path = text
        name = re.sub(r"[^A-Za-z0-9._-]", "-", Path(text).stem).lstrip(".-") or "model"
    name, _, version = name.partition(":")
    for word in (name, version or "1"):
        if not NAME.fullmatch(word):
            must_be = "PATH, NAME=PATH or NAME:VERSION=PATH with letters, digits, ., _ and -"
            raise ParameterError("serve", "MODEL", must_be, text)
    return ModelSource(name, version or "1", Path(path))


def read_tokens(path: Path) -> tuple[str, ...]:
    """The tokens of a file, one per line; lines that begin with # are comments."""
    lines = [line.strip() for line in read_regular(path).decode().splitlines()]
    tokens = tuple(line for line in lines if line and not line.startswith("#"))
    if not tokens or min(map(len, tokens)) < SHORTEST_TOKEN or not all(map(str.isascii, tokens)):
        error = DataError(
            f"{path} must hold a token of {SHORTEST_TOKEN} or more characters per line"
        )
        error.hint = "python -c 'import secrets; print(secrets.token_urlsafe(32))' prints one"
        raise error
    return tokens


def require_safe_host(host: str, tokens: tuple[str, ...], *, insecure: bool) -> None:
    """Refuse to serve other machines without a token."""
    if host in LOOPBACK or tokens or insecure:
        return
    error = ParameterError("serve", "host", "127.0.0.1 without a token", host)
    error.hint = "pass --token-file FILE, or --insecure where something else guards the port"
    raise error
