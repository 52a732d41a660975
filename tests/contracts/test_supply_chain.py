"""What a release promises: a reproducible wheel, locked requirements, and no network but for `data get`."""

import re
import subprocess
import sys
import tomllib
import zipfile
from importlib.util import find_spec

import pytest
from packaging.requirements import Requirement
from tests.contracts.wheel import ROOT, build_twice, write_checksums

BLOCKED = """
import sys
def refuse(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"):
        sys.stderr.write(f"NETWORK {event} {arguments}\\n")
        raise OSError("the network is blocked")
sys.addaudithook(refuse)
"""
IMPORTS = """
import importlib, pkgutil, separatrix
for found in pkgutil.walk_packages(separatrix.__path__, "separatrix."):
    if found.name != "separatrix.__main__":
        try:
            importlib.import_module(found.name)
        except ImportError as error:
            print("not installed:", error.name)
"""
COMMANDS = """
from separatrix.cli import main
def run(*words):
    try:
        main(list(words), prog_name="separatrix")
    except SystemExit as end:
        assert end.code in (0, None), (words, end.code)
data = ["iris.csv", "--target", "kind"]
for name in sorted(main.list_commands(None)):
    run(name, "--help")
run("models"); run("experiments"); run("data", "list"); run("data", "show", "iris")
run("look", *data); run("fit", *data, "--model", "lda", "--out", "a.model")
run("tune", *data, "--model", "knn", "--folds", "2", "--no-held-out", "--out", "b.model")
run("predict", "a.model", "iris.csv", "--out", "p.csv"); run("evaluate", "a.model", *data)
run("info", "a.model"); run("explain", "a.model")
run("compare", *data, "--models", "knn,lda", "--cv", "2", "--repeats", "1", "--budget", "none")
run("svm-scale", "a.svm"); run("svm-train", "a.svm", "c.model")
run("svm-predict", "a.svm", "c.model", "o.txt")
try:
    main(["data", "get", "mnist", "--help"], prog_name="separatrix")
except SystemExit:
    pass
import socket
try:
    socket.create_connection(("127.0.0.1", 9), timeout=1)
except OSError as error:
    print("blocked:", error)
"""


def run_blocked(code, folder):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", BLOCKED + code],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done


@pytest.mark.slow
def test_no_module_opens_a_connection_when_it_is_imported(tmp_path):
    assert "NETWORK" not in run_blocked(IMPORTS, tmp_path).stderr


@pytest.mark.slow
def test_no_command_opens_a_connection(tmp_path):
    rows = [f"{i % 7},{i % 5},{i * i % 11},{'ab'[i % 2]}" for i in range(40)]
    (tmp_path / "iris.csv").write_text("\n".join(["p,q,r,kind", *rows]) + "\n")
    lines = [f"{i % 2 * 2 - 1} 1:{i % 7} 2:{i % 5}" for i in range(40)]
    (tmp_path / "a.svm").write_text("\n".join(lines) + "\n")
    done = run_blocked(COMMANDS, tmp_path)
    assert "blocked: the network is blocked" in done.stdout  # the hook works
    assert done.stderr.count("NETWORK") == 1, done.stderr


@pytest.mark.slow
@pytest.mark.skipif(find_spec("hatchling") is None, reason="needs hatchling, of the release extra")
def test_two_builds_of_the_wheel_are_the_same(tmp_path):
    wheel = build_twice(tmp_path)
    with zipfile.ZipFile(wheel) as opened:
        names = opened.namelist()
    assert "separatrix/__init__.py" in names
    assert not [name for name in names if name.endswith((".pyc", ".nbi", ".nbc"))]
    write_checksums(tmp_path)
    assert wheel.name in (tmp_path / "SHA256SUMS").read_text()


@pytest.mark.parametrize("name", ["ci", "runtime"])
def test_locked_requirements_have_hashes_and_name_no_index(name):
    text = (ROOT / "requirements" / f"{name}.txt").read_text()
    packages = re.findall(r"^[a-z0-9].*", text, re.MULTILINE)
    assert packages
    assert all(re.match(r"[a-z0-9._-]+==\S+( ; .*)? \\$", line) for line in packages), packages[:3]
    assert text.count("--hash=sha256:") >= len(packages)
    assert "://" not in text


def requirements_of(project, extras):
    """The project's own requirements and those of some extras, one extra in another followed."""
    wanted = list(map(Requirement, project["dependencies"]))
    for extra in extras:
        for line in map(Requirement, project["optional-dependencies"][extra]):
            own = line.name == project["name"]
            wanted += requirements_of(project, line.extras) if own else [line]
    return wanted


@pytest.mark.parametrize(
    ("name", "extras"),
    [
        ("ci", ["test", "lint"]),
        ("runtime", ["data", "excel", "report", "workbench", "serve"]),
    ],
)
def test_locked_requirements_cover_the_dependencies_of_the_project(name, extras):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    text = (ROOT / "requirements" / f"{name}.txt").read_text()
    for wanted in requirements_of(project, extras):
        locked = re.findall(rf"^{wanted.name}==([0-9.]+)", text, re.MULTILINE)
        assert locked, f"{wanted.name} is not locked: make lock"
        assert all(version in wanted.specifier for version in locked), f"{wanted}, but {locked}"
