import gzip
import hashlib
import json
import re
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from tests.conftest import _real
from tests.data.formats.samples import zipped

from separatrix.cli import main
from separatrix.data import catalogue
from separatrix.data.catalogue import dataset_cards as cards
from separatrix.data.catalogue import download
from separatrix.data.catalogue.dataset_cards import DATASET_CARDS, DatasetCard, File
from separatrix.errors import DataError, MissingDataError, MissingPackageError

SMALL = b"ham\tsee you\nspam\tyou have won\n"


@pytest.fixture
def cache(monkeypatch, tmp_path):
    """An empty cache, no folder of data, and no waiting."""
    monkeypatch.delenv("SEPARATRIX_DATA", raising=False)
    monkeypatch.setattr(catalogue, "cache_folder", lambda: tmp_path / "cache")
    monkeypatch.setattr(download, "WAIT", 0.0)
    return tmp_path / "cache"


@pytest.fixture
def home(monkeypatch):
    """A web server on this machine: `pages` are what it has, `asked` what it was asked for."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            answer = pages.get(self.path, 404)
            if isinstance(answer, list):
                answer = answer.pop(0)
            if isinstance(answer, int):
                self.send_error(answer)
                return
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_):
            pass

    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    pages, asked = {}, []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.pages, server.asked = pages, asked
    server.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def listed(monkeypatch, *files):
    """The set `sms_spam`, as if it were those files."""
    card = replace(DATASET_CARDS["sms_spam"], files=files, rows=2)
    monkeypatch.setitem(cards.DATASET_CARDS, "sms_spam", card)
    return card


def small(home, *paths, member="", **changes):
    values = {"sha256": hashlib.sha256(SMALL).hexdigest(), "size": len(SMALL), **changes}
    return File("small.gz", tuple(home.address + path for path in paths), member=member, **values)


def lying_in(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.mark.parametrize("packed", [bytes, gzip.compress])
def test_what_is_not_here_is_downloaded_once(monkeypatch, cache, home, packed):
    listed(monkeypatch, small(home, "/small"))
    home.pages["/small"] = packed(SMALL)
    assert catalogue.state("sms_spam") == "to download"

    first, second = catalogue.load("sms_spam"), catalogue.load("sms_spam")

    assert (first.name, first.kind) == ("sms_spam", "text")
    assert first.X == second.X == ["see you", "you have won"]
    assert home.asked == ["/small"]
    assert lying_in(cache) == ["small"]
    assert (cache / "small").read_bytes() == SMALL
    assert catalogue.state("sms_spam") == "on disk"


def test_a_person_sees_how_far_it_is(cache, home, capsys):
    home.pages["/small"] = SMALL
    download.fetch((small(home, "/small"),), cache, progress=True)
    assert "small" in capsys.readouterr().err
    (cache / "small").unlink()
    download.fetch((small(home, "/small"),), cache)  # stderr is no terminal here
    assert capsys.readouterr().err == ""


def test_files_of_one_zip_are_fetched_together(monkeypatch, cache, home):
    digest = hashlib.sha256(SMALL).hexdigest()
    address = (f"{home.address}/all.zip",)
    files = [
        File(f"{name}.gz", address, digest, len(SMALL), member=name) for name in ("one", "two")
    ]
    home.pages["/all.zip"] = zipped(**{"one": SMALL, "deep/two": SMALL, "other": b"x"})

    download.fetch(tuple(files), cache, progress=False)

    assert home.asked == ["/all.zip"]
    assert lying_in(cache) == ["one", "two"]


def test_no_path_of_a_zip_is_written_to(monkeypatch, cache, home):
    listed(monkeypatch, small(home, "/a.zip", member="small"))
    home.pages["/a.zip"] = zipped(**{"../../small": SMALL, "../evil": b"x", "/evil": b"x"})

    assert catalogue.get("sms_spam", progress=False) == cache

    assert lying_in(cache) == ["small"]
    assert not (cache.parent / "evil").exists()


@pytest.mark.parametrize(
    ("page", "member", "reason"),
    [
        (SMALL[:-1], "", "SHA-256 .*, expected"),
        (SMALL.replace(b"won", b"w0n"), "", "SHA-256 .*, expected"),
        (SMALL + b"more", "", "found more|more than 31 bytes"),
        (gzip.compress(SMALL, mtime=0)[:-9], "", "truncated or damaged"),
        (gzip.compress(b"0" * 10_000_000, mtime=0), "", "more than"),
        (zipped(other=b"x"), "small", "no small in the zip file"),
        (zipped(small=SMALL + b"more"), "small", "more than 31 bytes when decompressed"),
        (zipped(small=SMALL)[:-30], "small", "SHA-256|cannot be decompressed|more than"),
        (b"<html>we have moved</html>", "small", "SHA-256"),
        (404, "", "status 404"),
    ],
    ids=range(10),  # not the bytes: a zip file holds the time
)
def test_a_damaged_download_is_refused_and_leaves_nothing(
    monkeypatch, cache, home, page, member, reason
):
    listed(monkeypatch, small(home, "/small", member=member, size=31))
    home.pages["/small"] = page

    with pytest.raises(MissingDataError, match=reason) as refusal:
        catalogue.load("sms_spam")

    assert lying_in(cache) == []
    assert f"{home.address}/small" in str(refusal.value)
    assert "put small.gz into a folder and set SEPARATRIX_DATA to that folder" in str(refusal.value)


def test_a_download_that_does_not_end_is_stopped(monkeypatch, cache, home):
    listed(monkeypatch, small(home, "/small"))
    home.pages["/small"] = bytes(20 << 20)
    with pytest.raises(MissingDataError, match="more than 16,777,276 bytes"):
        catalogue.get("sms_spam")
    assert lying_in(cache) == []


def test_a_broken_line_is_tried_again_then_the_next_address(monkeypatch, cache, home):
    listed(monkeypatch, small(home, "/first", "/second"))
    home.pages |= {"/first": [503, 503, SMALL], "/second": [503, SMALL]}

    catalogue.get("sms_spam")

    assert home.asked == ["/first", "/first", "/second", "/second"]
    assert lying_in(cache) == ["small"]


def test_what_is_not_there_is_not_asked_for_twice(monkeypatch, cache, home):
    listed(monkeypatch, small(home, "/first", "/second"))
    home.pages["/second"] = SMALL
    catalogue.get("sms_spam")
    assert home.asked == ["/first", "/second"]


def test_where_only_the_md5_is_published_it_is_checked(monkeypatch, cache, home):
    packed = gzip.compress(SMALL)
    md5 = hashlib.md5(packed, usedforsecurity=False).hexdigest()
    listed(monkeypatch, small(home, "/small", sha256="", md5=md5))
    home.pages["/small"] = gzip.compress(SMALL, 1) + gzip.compress(b"")
    with pytest.raises(MissingDataError, match=f"MD5 .*, expected {md5}"):
        catalogue.get("sms_spam")
    home.pages["/small"] = packed
    assert catalogue.get("sms_spam") == cache


def test_nobody_at_home(monkeypatch, cache, home):
    file = small(home, "/small")
    listed(monkeypatch, replace(file, addresses=("http://127.0.0.1:1/small",)))
    with pytest.raises(MissingDataError, match=r"sms_spam is not on this machine; small\.gz could"):
        catalogue.load("sms_spam")
    assert lying_in(cache) == []


def test_an_interrupted_download_leaves_nothing(monkeypatch, cache, home):
    listed(monkeypatch, small(home, "/small"))
    home.pages["/small"] = SMALL

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(download.os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        catalogue.get("sms_spam")
    assert lying_in(cache) == []


def test_a_cache_that_cannot_be_written_to_is_named(monkeypatch, cache, home):
    listed(monkeypatch, small(home, "/small"))
    cache.write_text("a file in the way")
    with pytest.raises(MissingDataError, match=r"sms_spam has no place in the cache .*exists"):
        catalogue.load("sms_spam")


def test_a_named_folder_goes_first_and_is_not_filled(monkeypatch, cache, home, tmp_path):
    listed(monkeypatch, small(home, "/small"))
    folder = tmp_path / "named"
    folder.mkdir()
    monkeypatch.setenv("SEPARATRIX_DATA", str(folder))

    with pytest.raises(MissingDataError, match=r"there is no file small\.gz in it") as refusal:
        catalogue.load("sms_spam")
    assert "separatrix data get sms_spam" in str(refusal.value)
    assert home.asked == []

    home.pages["/small"] = SMALL
    assert catalogue.get("sms_spam") == cache
    assert len(catalogue.load("sms_spam").X) == 2  # the cache is looked at too
    (folder / "small.gz").write_bytes(gzip.compress(b"a\tb\nc\td\n"))
    assert catalogue.load("sms_spam").X == ["b", "d"]
    assert lying_in(folder) == ["small.gz"]


def test_files_of_another_set_are_not_taken_for_this_one(monkeypatch, cache, tmp_path):
    monkeypatch.setenv("SEPARATRIX_DATA", str(tmp_path))
    (tmp_path / "SMSSpamCollection").write_bytes(SMALL)
    with pytest.raises(DataError, match=r"sms_spam in .* has 2 rows and 0 to test; it should have"):
        catalogue.load("sms_spam")


def test_without_pooch_it_is_said_what_to_install(monkeypatch):
    monkeypatch.delenv("SEPARATRIX_DATA", raising=False)
    monkeypatch.setitem(__import__("sys").modules, "pooch", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'separatrix\[data\]'; or put zip"):
        catalogue.load("usps")
    assert catalogue.state("usps") == "to download"


def test_usps_is_made_of_two_files_or_of_one(monkeypatch, cache, tmp_path):
    rows = [f"{digit} " + "0.5 " * 256 for digit in (3, 1, 2)]
    monkeypatch.setitem(cards.DATASET_CARDS, "usps", replace(DATASET_CARDS["usps"], rows=3))
    monkeypatch.setenv("SEPARATRIX_DATA", str(tmp_path))
    (tmp_path / "zip.train.gz").write_bytes(gzip.compress("\n".join(rows[:2]).encode()))
    with pytest.raises(MissingDataError, match=r"zipcombo\.dat\.gz in it, nor zip\.train\.gz and"):
        catalogue.load("usps")
    (tmp_path / "zip.test").write_text(rows[2])
    parts = catalogue.load("usps")
    (tmp_path / "zipcombo.dat").write_text("\n".join(rows))
    whole = catalogue.load("usps")
    assert parts.y.tolist() == whole.y.tolist() == [3, 1, 2]
    np.testing.assert_array_equal(parts.X, whole.X)
    assert whole.image == (16, 16)


ON_DISK = [name for name in DATASET_CARDS if name != "fashion_mnist"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ON_DISK)
def test_a_set_is_what_its_card_says(name):
    found = catalogue.load(name) if not DATASET_CARDS[name].files else _real(name)
    card = catalogue.dataset_card(name)
    assert (found.name, found.kind) == (name, card.kind)
    if card.kind == "vectors":
        assert f"{found.X.shape[1]}" == re.match(r"\d+", card.features)[0]
    labels, counts = np.unique(found.y, return_counts=True)
    if card.kind in ("text", "sequences") or found.y.min() < 0:
        assert dict(zip(map(str, labels), counts.tolist(), strict=True)) == dict(card.classes)
    else:
        assert counts.tolist() == [count for _, count in card.classes]
    assert sum(count for _, count in card.classes) == card.rows
    assert (0 if found.y_test is None else len(found.y_test)) == card.test_rows


@pytest.mark.slow
def test_files_on_disk_are_those_of_the_cards():
    _real("a4a")
    checked = 0
    folder = Path(__import__("os").environ["SEPARATRIX_DATA"])
    for file in (file for card in DATASET_CARDS.values() for file in card.files if file.sha256):
        path = catalogue._find_file(folder, file.name)
        if path is None:
            continue
        raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        assert (hashlib.sha256(raw).hexdigest(), len(raw)) == (file.sha256, file.size)
        checked += 1
    assert checked >= 18


@pytest.mark.parametrize("card", DATASET_CARDS.values(), ids=lambda card: card.name)
def test_a_card_says_all_that_a_card_must(card: DatasetCard):
    for text in (card.what, card.features, card.source, card.licence, card.citation):
        assert text
    for file in card.files:
        assert file.addresses
        assert all(address.startswith(("https://", "http://")) for address in file.addresses)
        assert not file.checked  # nobody could try them yet
        assert len(file.sha256) in (0, 64)
    json.dumps(card.as_dict())


def run(*words):
    return CliRunner().invoke(main, ["data", *words], catch_exceptions=False)


def test_the_command_lists_all(cache):
    found = run("list")
    assert [line.split()[0] for line in found.stdout.splitlines()[1:]] == list(catalogue.names())
    rows = json.loads(run("list", "--json").stdout)
    assert [row["name"] for row in rows] == list(catalogue.names())
    assert {row["state"] for row in rows} == {"built in", "to download"}


def test_the_command_shows_a_card(cache):
    found = run("show", "mutag").stdout
    for part in ("188", "1 125", "TUDataset", "no licence stated", "MUTAG.zip (URL not checked)"):
        assert part in found
    assert "unknown" in run("show", "usps").stdout
    assert json.loads(run("show", "mutag", "--json").stdout)["classes"] == {"-1": 63, "1": 125}


def test_the_command_downloads(monkeypatch, cache, home):
    listed(monkeypatch, small(home, "/small"))
    home.pages["/small"] = SMALL
    found = run("get", "sms_spam", "iris")
    assert found.stdout == ""
    assert found.stderr == f"sms_spam is in {cache}\niris is built in\n"
    assert run("get", "sms_spam", "--quiet").stderr == ""
    assert json.loads(run("get", "sms_spam", "iris", "--json").stdout) == {
        "sms_spam": str(cache),
        "iris": None,
    }


def test_the_command_refuses_a_wrong_name_before_the_first_download(monkeypatch, cache, home):
    listed(monkeypatch, small(home, "/small"))
    found = run("get", "sms_spam", "cifar")
    assert found.exit_code == 3
    assert "no data set is called 'cifar'; there are a4a" in found.stderr
    assert home.asked == []


def test_the_page_lists_the_sets_there_are():
    page = Path(__file__).parents[2] / "docs" / "data.md"
    table = page.read_text().split("## The catalogue")[1].split("\n## ")[0]
    rows = [line.split("|") for line in table.splitlines() if line.startswith("| `")]
    assert [row[1].strip(" `") for row in rows] == list(catalogue.names())
    for row in rows:
        card = catalogue.dataset_card(row[1].strip(" `"))
        shown = f"{card.rows:,}" + (f" + {card.test_rows:,}" if card.test_rows else "")
        assert row[3].strip() == shown
        assert row[4].strip() == str(len(card.classes))
