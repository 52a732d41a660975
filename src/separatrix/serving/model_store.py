"""The models that are served, by name and version, reloaded when their files change."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from typing import NamedTuple

from separatrix.errors import DataError, ParameterError, SeparatrixError
from separatrix.serving.micro_batches import MicroBatcher
from separatrix.serving.served_model import ServedModel, Signature, load_served
from separatrix.serving.serving_options import ModelSource, ServingOptions
from separatrix.web.request_error import RequestError, shorten

Log = Callable[..., None]


class SignatureError(DataError):
    """A model file of other columns, forms, classes or outputs than the one it replaces."""


class _Entry(NamedTuple):
    source: ModelSource
    state: tuple[int, ...] | None  # of the file that was tried last
    batcher: MicroBatcher
    reason: str = ""  # why the file that was tried last is not served


class ModelStore:
    """The models; a request keeps the model that it was given, whatever is loaded later."""

    def __init__(
        self,
        options: ServingOptions,
        log: Log,
        count: Callable[[str], None],
        make_batcher: Callable[[ServedModel], MicroBatcher],
        expected: Mapping[str, Signature] | None = None,
    ) -> None:
        self.options, self.log, self.count = options, log, count
        self.make_batcher, self.expected = make_batcher, expected or {}
        self.models: dict[str, dict[str, _Entry]] = {}
        for source in options.models:
            versions = self.models.setdefault(source.name, {})
            if source.version in versions:
                words = f"{source.name}:{source.version}"
                raise ParameterError("serve", "MODEL", "given once a name and version", words)
            state = file_state(source)
            model = self._load(source)
            self._require_signature(self.expected.get(_key(source), model.signature), model)
            versions[source.version] = _Entry(source, state, make_batcher(model))

    def _load(self, source: ModelSource) -> ServedModel:
        block, device = self.options.max_batch, self.options.device
        return load_served(source.path, source.name, source.version, block=block, device=device)

    def _require_signature(self, expected: Signature, model: ServedModel) -> None:
        """Refuse a file of another signature than the one that is served."""
        difference = expected.difference(model.signature)
        if difference and not self.options.any_signature:
            error = SignatureError(f"the file has another signature: {difference}")
            error.hint = "--any-signature takes it up"
            raise error

    def signatures(self) -> dict[str, Signature]:
        """What clients of each model and version rely on."""
        entries = (entry for versions in self.models.values() for entry in versions.values())
        return {_key(entry.source): entry.batcher.model.signature for entry in entries}

    def reason(self, name: str, version: str) -> str:
        """Why the file of a model that was tried last is not served; "" if it is."""
        return self.models[name][version].reason

    def find(self, name: str | None, version: str | None = None) -> MicroBatcher:
        """The model of a name, or the only one; without a version, the latest."""
        if name is None:
            if len(self.models) > 1:
                names = shorten(", ".join(self.models))
                raise RequestError(422, "model", f"?model= must name one of {names}")
            (name,) = self.models
        if name not in self.models:
            raise RequestError(404, "model", f"there is no model {shorten(ascii(name))}")
        versions = self.models[name]
        version = self.versions(name)[-1] if version is None else version
        if version not in versions:
            words = f"model {name} has no version {shorten(ascii(version))}"
            raise RequestError(404, "model", words)
        return versions[version].batcher

    def versions(self, name: str) -> list[str]:
        """The versions of a model, numbers by their value, the latest last."""
        return sorted(self.models[name], key=lambda v: (v.isdecimal(), v.zfill(20)))

    async def watch(self, executor: Executor) -> None:
        """Look at the files again and again."""
        while True:
            await asyncio.sleep(self.options.poll)
            await self.reload_changed(executor)

    async def reload_changed(self, executor: Executor) -> None:
        """Load files that have changed; the old model stays where the new file is damaged, or another.

        A file that is refused is not tried again until it changes; one that could not be read, because
        memory or file handles were short, is.
        """
        loop = asyncio.get_running_loop()
        for versions in self.models.values():
            for version, entry in list(versions.items()):
                state = file_state(entry.source)
                if state is None or state == entry.state:
                    continue
                name = _key(entry.source)
                try:
                    model = await loop.run_in_executor(executor, self._load, entry.source)
                    self._require_signature(entry.batcher.model.signature, model)
                except Exception as error:
                    kind = "refused" if isinstance(error, SignatureError) else "failed"
                    self.count(f"separatrix_{kind}_reloads_total")
                    tried = state if isinstance(error, SeparatrixError) else entry.state
                    reason = f"the old model serves: {error}"
                    versions[version] = entry._replace(state=tried, reason=reason)
                    self.log("reload", model=name, ok=False, error=str(error))
                else:
                    versions[version] = _Entry(entry.source, state, self.make_batcher(model))
                    self.count("separatrix_reloads_total")
                    self.log("reload", model=name, ok=True)


def _key(source: ModelSource) -> str:
    return f"{source.name}:{source.version}"


def file_state(source: ModelSource) -> tuple[int, ...] | None:
    """What changes with a file; None while it is absent."""
    try:
        found = os.stat(source.path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
