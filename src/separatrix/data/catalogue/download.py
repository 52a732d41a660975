"""Downloads into a folder with pooch: complete and verified, or not at all.

A download stays in a temporary folder until its hash is verified; only then is it moved to its name.
"""

from __future__ import annotations

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
from separatrix.errors import DataFileError, MissingDataError, missing_package

ATTEMPTS = 2  # at one address, after connection and server errors
WAIT = 1.0  # seconds between them
TIMEOUT = 30.0  # seconds without a byte

Advance = Callable[[int, int], None]


class DownloadError(Exception):
    """A download failed or is not the file expected; the next address is tried."""


def fetch(files: tuple[File, ...], folder: Path, *, progress: bool | None = None) -> None:
    """Download the files that are not in the folder yet.

    progress=None shows a progress bar if stderr is a terminal.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".part-", dir=folder) as work:
        downloads = _Downloads(Path(work), progress)
        for file in files:
            if not (folder / file.plain).is_file():
                _fetch_file(file, folder, downloads)


def pooch() -> Any:
    """The package that downloads; an error with the install command without it."""
    try:
        import pooch
    except ImportError:
        raise missing_package("pooch", "data") from None
    pooch.get_logger().setLevel("WARNING")  # else it prints the address of every download
    return pooch


def _fetch_file(file: File, folder: Path, downloads: _Downloads) -> None:
    reasons = []
    for address in file.addresses:
        try:
            _install(file, downloads.get(address, file), folder)
        except DownloadError as error:
            downloads.forget(address)
            reasons.append(f"{address} ({error})")
        else:
            return
    raise MissingDataError(
        f"{file.name} could not be downloaded from {', nor from '.join(reasons)}"
    )


class _Downloads:
    """Downloaded files by address: several files may come in one zip."""

    def __init__(self, work: Path, progress: bool | None) -> None:
        self._work, self._progress = work, progress
        self._paths: dict[str, Path] = {}

    def get(self, address: str, file: File) -> Path:
        """The path of a download."""
        if address not in self._paths:
            name = f"packed-{len(self._paths)}"
            for attempt in range(1, ATTEMPTS + 1):
                if self._download(address, name, file, last=attempt == ATTEMPTS):
                    break
                time.sleep(WAIT)
            self._paths[address] = self._work / name
        return self._paths[address]

    def forget(self, address: str) -> None:
        """Remove a download that failed."""
        if path := self._paths.pop(address, None):
            path.unlink(missing_ok=True)

    def _download(self, address: str, name: str, file: File, *, last: bool) -> bool:
        """Whether it succeeded; False if another attempt may."""
        package = pooch()
        from requests import RequestException

        try:
            with _progress_bar(address.rsplit("/", 1)[-1], self._progress) as advance:
                meter = _DownloadMeter(2 * file.size + 16 * MIB, advance)
                loader = package.HTTPDownloader(
                    progressbar=meter, chunk_size=1 << 16, timeout=TIMEOUT
                )
                package.retrieve(address, None, name, self._work, downloader=loader)
        except RequestException as error:
            answer = getattr(error, "response", None)
            if not last and (answer is None or answer.status_code >= 500):
                return False
            raise DownloadError(_reason(error)) from None
        except (OSError, ValueError) as error:
            raise DownloadError(_reason(error)) from None
        return True


class _DownloadMeter:
    """A progress bar for pooch that also stops a download of too many bytes."""

    def __init__(self, most: int, advance: Advance) -> None:
        self.total, self.done = 0, 0
        self._most, self._advance = most, advance

    def update(self, size: int) -> None:
        self.done += size
        if max(self.done - size, self.total) > self._most:
            raise DownloadError(f"more than {self._most:,} bytes")
        self._advance(self.done, self.total)

    def reset(self) -> None:
        self.done = 0

    def close(self) -> None:
        """Nothing: the bar closes itself."""


def _install(file: File, packed: Path, folder: Path) -> None:
    """Decompress a download, verify it and move it to its name."""
    if file.md5:
        _require_hash("MD5", packed, file.md5)
    unpacked = packed.with_name("unpacked")
    with unpacked.open("wb") as target, _decompress(file, packed) as read:
        left = file.size
        while part := read(BLOCK):
            left -= len(part)
            if left < 0:
                raise DownloadError(f"more than {file.size:,} bytes when decompressed")
            target.write(part)
        target.flush()
        os.fsync(target.fileno())
    if file.sha256:
        _require_hash("SHA-256", unpacked, file.sha256)
    path = folder / file.plain
    path.parent.mkdir(parents=True, exist_ok=True)
    os.replace(unpacked, path)


@contextmanager
def _decompress(file: File, packed: Path) -> Iterator[Callable[[int], bytes]]:
    """A function that reads decompressed bytes, of the member of a zip file if there is one."""
    try:
        if file.member and zipfile.is_zipfile(packed):
            with zipfile.ZipFile(packed) as archive, _open_member(archive, file.member) as stream:
                yield stream.read
        else:
            limits = Limits(inflated_bytes=file.size, inflation=2000)
            with open_(packed, limits) as source:
                yield source.read
    except DataFileError as error:
        raise DownloadError(error.found) from None
    except BROKEN_ZIP as error:
        raise DownloadError(f"cannot be decompressed: {error}") from None


def _open_member(archive: zipfile.ZipFile, name: str) -> BinaryIO:
    """The member of that name, at any depth; paths in the archive are never written to."""
    for info in archive.infolist():
        if info.filename == name or info.filename.endswith(f"/{name}"):
            if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise DownloadError(f"{name} has an unsupported compression method")
            return archive.open(info)  # type: ignore[return-value]
    raise DownloadError(f"no {name} in the zip file")


def _require_hash(name: str, path: Path, expected: str) -> None:
    found = pooch().file_hash(str(path), alg=name.replace("-", "").lower())
    if found != expected:
        raise DownloadError(f"{name} {found}, expected {expected}")


def _reason(error: BaseException) -> str:
    """A short reason; messages of network errors are long."""
    answer = getattr(error, "response", None)
    if answer is not None:
        return f"status {answer.status_code}"
    return f"{type(error).__name__}: {str(error)[:80]}" if str(error) else type(error).__name__


@contextmanager
def _progress_bar(label: str, show: bool | None) -> Iterator[Advance]:
    if show is False or (show is None and not sys.stderr.isatty()):
        yield lambda *_: None
        return
    from rich.console import Console
    from rich.progress import DownloadColumn, Progress

    columns = (*Progress.get_default_columns(), DownloadColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task(label, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total or None)
