"""A save that does not come to its end leaves what was there before."""

import errno
import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from tests.modelfile.cases import X, Y

from separatrix import GaussianNB, KNeighborsClassifier, load, save
from separatrix.errors import ModelFileError

SAVE_FOR_EVER = """
import sys
import numpy as np
from separatrix import KNeighborsClassifier, save
rng = np.random.default_rng(0)
models = [KNeighborsClassifier().fit(rng.normal(size=(20000, 20)), np.arange(20000) % 2) for _ in "ab"]
print("ready", flush=True)
while True:
    for model in models:
        save(model, sys.argv[1])
        print("saved", flush=True)
"""
WITHOUT_ROOM = """
import resource, signal, sys
from separatrix import GaussianNB, load, save
from separatrix.errors import ModelFileError
import numpy as np
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
model = GaussianNB().fit(np.eye(4), [0, 1, 0, 1])
model.fit(np.random.default_rng(0).normal(size=(50, 2000)), np.arange(50) % 2)
resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))
try:
    save(model, sys.argv[1])
except ModelFileError as error:
    print(error.reason, error)
"""


@pytest.fixture
def path(tmp_path):
    return save(GaussianNB().fit(X, Y), tmp_path / "kept.model")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9")
def test_kill_dash_nine_leaves_a_whole_file(path):
    chance = random.Random(0)
    for _ in range(4):
        saving = subprocess.Popen(
            [sys.executable, "-c", SAVE_FOR_EVER, path], stdout=subprocess.PIPE, text=True
        )
        assert saving.stdout.readline() == "ready\n"
        for _ in range(chance.randrange(1, 4)):
            saving.stdout.readline()
        time.sleep(chance.uniform(0.0, 0.03))
        saving.send_signal(signal.SIGKILL)
        saving.wait()
        saving.stdout.close()
        load(path)


def test_kill_dash_nine_between_any_two_steps_leaves_the_old_file(path, monkeypatch):
    """The process dies at every call that touches the disk, one after the other."""
    old = path.read_bytes()
    neighbors = KNeighborsClassifier().fit(X, Y)
    for step in ("fsync", "chmod", "replace"):
        child = os.fork()
        if not child:
            monkeypatch.setattr(os, step, lambda *_, **__: os._exit(9))
            save(neighbors, path)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
        assert path.read_bytes() == old
        load(path)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no limit of this kind")
def test_a_full_disk_leaves_the_old_file(path):
    old = path.read_bytes()
    said = subprocess.run(
        [sys.executable, "-c", WITHOUT_ROOM, path], capture_output=True, text=True, check=True
    ).stdout
    assert said.startswith("unwritable")
    assert "File too large; nothing was changed there" in said
    assert path.read_bytes() == old
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EDQUOT, "Ctrl-C"])
def test_an_error_of_the_disk_or_ctrl_c_leaves_the_old_file(path, code, monkeypatch):
    old = path.read_bytes()

    def fail(_):
        raise KeyboardInterrupt if code == "Ctrl-C" else OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises((ModelFileError, KeyboardInterrupt)) as raised:
        save(KNeighborsClassifier().fit(X, Y), path)
    if code != "Ctrl-C":
        assert raised.value.reason == "unwritable"
        assert os.strerror(code) in str(raised.value)
    assert path.read_bytes() == old
    assert os.listdir(path.parent) == [path.name]


def test_folders_that_cannot_be_written_are_named(tmp_path):
    model = GaussianNB().fit(X, Y)
    for position in (tmp_path / "nowhere" / "x.model", tmp_path):
        with pytest.raises(ModelFileError, match="cannot be written") as raised:
            save(model, position)
        assert raised.value.reason == "unwritable"
    folder = tmp_path / "locked"
    folder.mkdir()
    folder.chmod(0o500)
    position = folder / "x.model"
    if os.access(folder, os.W_OK):  # nothing is locked to root, but this is
        position = "/proc/x.model"
    with pytest.raises(ModelFileError, match="cannot be written"):
        save(model, position)
    folder.chmod(0o700)
    assert sorted(os.listdir(tmp_path)) == ["locked"]


def test_the_bytes_are_on_the_disk_before_the_name_is(path, monkeypatch):
    steps = []
    fsync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda handle: (steps.append("bytes"), fsync(handle)))
    monkeypatch.setattr(os, "replace", lambda *paths: (steps.append("name"), replace(*paths)))
    save(KNeighborsClassifier().fit(X, Y), path)
    assert steps == ["bytes", "name", "bytes"]  # the last are those of the folder
    np.testing.assert_array_equal(load(path).predict(X[:1]), Y[:1])
