"""Files from their public homes into a folder: whole and checked, or not at all.

What comes over the wire is believed only after its hash was found right. Until then it lies in a
folder of its own, which goes away whatever happens; only then does a file get its name.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from separatrix.data.catalogue.dataset_cards import File
from separatrix.data.formats.npz import BROKEN_ZIP
from separatrix.data.limits import MIB, Limits
from separatrix.data.streams import BLOCK, open_
from separatrix.errors import DataFileError, MissingDataError, MissingPackageError

ATTEMPTS = 2  # at one address, where the line breaks
WAIT = 1.0  # seconds between them
TIMEOUT = 30.0  # seconds without a byte

Advance = Callable[[int, int], None]


class Refused(Exception):
    """A download is not what it should be; another address may do better."""


def fetch(files: tuple[File, ...], folder: Path, *, progress: bool | None = None) -> None:
    """Download those of the files that are not in the folder yet.

    With progress=None a bar is drawn where a person looks: when stderr is a terminal.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".part-", dir=folder) as work:
        packed = _Packed(Path(work), progress)
        for file in files:
            if not (folder / file.plain).is_file():
                _fetch_one(file, folder, packed)


def pooch() -> Any:
    """The package that downloads, or what to do without it."""
    try:
        import pooch
    except ImportError:
        raise MissingPackageError(
            "pooch is not installed; install it with: pip install 'separatrix[data]'"
        ) from None
    return pooch


def _fetch_one(file: File, folder: Path, packed: _Packed) -> None:
    reasons = []
    for address in file.addresses:
        try:
            _place(file, packed.at(address, file), folder)
        except Refused as error:
            packed.forget(address)
            reasons.append(f"{address} ({error})")
        else:
            return
    raise MissingDataError(
        f"{file.name} could not be downloaded from {', nor from '.join(reasons)}"
    )


class _Packed:
    """What was downloaded so far, by address: several files may come in one zip."""

    def __init__(self, work: Path, progress: bool | None) -> None:
        self._work, self._progress = work, progress
        self._at: dict[str, Path] = {}

    def at(self, address: str, file: File) -> Path:
        if address not in self._at:
            path = self._work / f"packed-{len(self._at)}"
            for attempt in range(1, ATTEMPTS + 1):
                if self._downloaded(address, path, file, last=attempt == ATTEMPTS):
                    break
                time.sleep(WAIT)
            self._at[address] = path
        return self._at[address]

    def forget(self, address: str) -> None:
        self._at.pop(address, None)

    def _downloaded(self, address: str, path: Path, file: File, *, last: bool) -> bool:
        """Whether it worked; False where it is worth to try again."""
        loader = pooch().HTTPDownloader
        from requests import RequestException

        most = 2 * file.size + 16 * MIB
        label = address.rsplit("/", 1)[-1]
        try:
            with _bar(label, self._progress) as advance:
                meter = _Meter(most, advance)
                loader(progressbar=meter, chunk_size=1 << 16, timeout=TIMEOUT)(
                    address, str(path), None
                )
        except RequestException as error:
            answer = getattr(error, "response", None)
            if not last and (answer is None or answer.status_code >= 500):
                return False
            raise Refused(_why(error)) from None
        except (OSError, ValueError) as error:
            raise Refused(_why(error)) from None
        return True


class _Meter:
    """Pooch's idea of a progress bar, which also stops a download that does not end."""

    def __init__(self, most: int, advance: Advance) -> None:
        self.total, self.done = 0, 0
        self._most, self._advance = most, advance

    def update(self, size: int) -> None:
        self.done += size
        if max(self.done - size, self.total) > self._most:
            raise Refused(f"more than {self._most:,} bytes")
        self._advance(self.done, self.total)

    def reset(self) -> None:
        self.done = 0

    def close(self) -> None:
        """Nothing to close: the bar closes itself."""


def _place(file: File, packed: Path, folder: Path) -> None:
    """Unpack, check, and give the file its name."""
    if file.md5:
        _require_equal("MD5", _hash_of(packed, hashlib.md5(usedforsecurity=False)), file.md5)
    unpacked = packed.with_name("unpacked")
    digest = hashlib.sha256()
    with unpacked.open("wb") as target, _unpacking(file, packed) as read:
        left = file.size
        while part := read(BLOCK):
            left -= len(part)
            if left < 0:
                raise Refused(f"more than {file.size:,} bytes when unpacked")
            digest.update(part)
            target.write(part)
        target.flush()
        os.fsync(target.fileno())
    if file.sha256:
        _require_equal("SHA-256", digest.hexdigest(), file.sha256)
    place = folder / file.plain
    place.parent.mkdir(parents=True, exist_ok=True)
    os.replace(unpacked, place)


@contextmanager
def _unpacking(file: File, packed: Path) -> Iterator[Callable[[int], bytes]]:
    """A function that reads unpacked bytes, of the right member where there are many."""
    try:
        if file.member and zipfile.is_zipfile(packed):
            with zipfile.ZipFile(packed) as archive, _member(archive, file.member) as stream:
                yield stream.read
        else:
            limits = Limits(inflated_bytes=file.size, inflation=2000)
            with open_(packed, limits) as source:
                yield source.read
    except DataFileError as error:
        raise Refused(error.found) from None
    except BROKEN_ZIP as error:
        raise Refused(f"cannot be unpacked: {error}") from None


def _member(archive: zipfile.ZipFile, name: str) -> BinaryIO:
    """The member of that name, at any depth. No path of the archive is ever written to."""
    for info in archive.infolist():
        if info.filename == name or info.filename.endswith(f"/{name}"):
            if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise Refused(f"{name} is packed in an unusual way")
            return archive.open(info)  # type: ignore[return-value]
    raise Refused(f"no {name} in the zip file")


def _hash_of(path: Path, digest: Any) -> str:
    with path.open("rb") as stream:
        while part := stream.read(BLOCK):
            digest.update(part)
    return str(digest.hexdigest())


def _require_equal(name: str, found: str, expected: str) -> None:
    if found != expected:
        raise Refused(f"{name} {found}, expected {expected}")


def _why(error: BaseException) -> str:
    """What went wrong in a few words; errors of the network carry pages of them."""
    answer = getattr(error, "response", None)
    if answer is not None:
        return f"answered {answer.status_code}"
    return f"{type(error).__name__}: {str(error)[:80]}" if str(error) else type(error).__name__


@contextmanager
def _bar(label: str, show: bool | None) -> Iterator[Advance]:
    if show is False or (show is None and not sys.stderr.isatty()):
        yield lambda *_: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task(label, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total or None)
