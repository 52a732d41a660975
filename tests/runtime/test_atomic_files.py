"""Files replaced atomically."""

import os
import stat

import pytest
from tests.modelfile.cases import X, Y

from separatrix import (
    LogisticRegression,
    load,
    save,
)
from separatrix.errors import ModelFileError


@pytest.fixture
def path(tmp_path):
    return tmp_path / "x.model"


def test_new_files_get_the_permissions_of_new_files_and_old_ones_keep_theirs(path):
    model = LogisticRegression().fit(X, Y)
    before = os.umask(0o027)
    try:
        save(model, path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        path.chmod(0o600)
        save(model, path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    finally:
        os.umask(before)


def test_saving_never_touches_the_mask_of_the_process(path, monkeypatch):
    monkeypatch.setattr(os, "umask", None)
    save(LogisticRegression().fit(X, Y), path)


def test_a_link_stays_a_link(path, tmp_path):
    link = tmp_path / "latest.model"
    link.symlink_to(path)
    save(LogisticRegression().fit(X, Y), link)
    assert link.is_symlink()
    load(path)


def test_a_folder_that_cannot_be_synced_is_no_failure(path, monkeypatch):
    opened = os.open

    def locked(name, *rest, **more):
        if os.path.isdir(name):
            raise PermissionError(13, "Permission denied")
        return opened(name, *rest, **more)

    monkeypatch.setattr(os, "open", locked)
    save(LogisticRegression().fit(X, Y), path)


def test_what_is_no_plain_file_is_not_replaced(tmp_path):
    model = LogisticRegression().fit(X, Y)
    os.mkfifo(tmp_path / "pipe")
    for position in (tmp_path / "pipe", "/"):
        with pytest.raises(ModelFileError, match="not a regular file") as raised:
            save(model, position)
        assert raised.value.reason == "unwritable"
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
