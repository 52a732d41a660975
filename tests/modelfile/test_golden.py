"""Files of every format that was ever written are read, and answer as they did."""

import json
from importlib import metadata

import numpy as np
import pytest
from tests.modelfile.cases import BY_NAME, answers
from tests.modelfile.golden import FOLDER, plain
from tests.modelfile.hostile import sign
from tests.modelfile.test_container import header_of

from separatrix import load
from separatrix.errors import ModelFileError
from separatrix.modelfile.files import FORMAT

FORMATS = sorted(FOLDER.glob("format-*"))
FILES = [path for folder in FORMATS for path in sorted(folder.glob("*.model"))]


def test_there_are_files_of_every_format():
    assert [folder.name for folder in FORMATS] == [f"format-{n}" for n in range(1, FORMAT + 1)]
    assert {path.stem for path in FILES} == set(BY_NAME)
    predictions = {path.stem for folder in FORMATS for path in folder.glob("*.npz")}
    assert predictions == set(BY_NAME)


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_an_old_file_answers_as_it_did(path):
    case = BY_NAME[path.stem]
    model = load(path)
    assert type(model) is type(case.model)
    with np.load(path.with_suffix(".npz")) as stored:
        expected = dict(stored)
    found = answers(model, case.X)
    assert found.keys() == expected.keys()
    for method, value in expected.items():
        mine = found[method].astype(plain(found[method]))
        if value.dtype.kind == "f" and method != "predict":  # BLAS rounds by the machine
            np.testing.assert_allclose(mine, value, rtol=1e-6, atol=1e-9)
        else:
            np.testing.assert_array_equal(mine, value)


def not_installed(name):
    raise metadata.PackageNotFoundError(name)


@pytest.mark.parametrize(
    ("version", "sentence"),
    [
        (FORMAT + 1, "written by a later version; upgrade with `pip install --upgrade separatrix`"),
        (0, "was never written by separatrix"),
        ("1", "was never written by separatrix"),
        (True, "was never written by separatrix"),
        (1.0, "was never written by separatrix"),
        (None, "was never written by separatrix"),
    ],
)
def test_a_format_that_is_not_known_is_refused_with_what_to_do(
    version, sentence, tmp_path, monkeypatch
):
    path = tmp_path / "x.model"
    said = json.dumps(version)
    monkeypatch.setattr(metadata, "distribution", not_installed)
    path.write_bytes(sign(header_of('{"sha256":"' + "0" * 64 + f'","format":{said}}}')))
    with pytest.raises(ModelFileError, match=sentence) as raised:
        load(path)
    assert raised.value.reason == "version"
