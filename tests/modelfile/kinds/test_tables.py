"""Files of encoders of tables: read again bit for bit, and refused where columns and statistics differ."""

import copy

import numpy as np
import pytest
from tests.modelfile.cases import BY_NAME, MIXED
from tests.modelfile.hostile import change, signed, split_file

from separatrix import load, save
from separatrix.errors import ModelFileError


def dense(found):
    return found.toarray() if hasattr(found, "toarray") else np.asarray(found)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["table", "table-two", "table-without-labels"])
def test_an_encoder_is_read_again_bit_for_bit(name, path):
    model = BY_NAME[name].fitted()

    again = load(save(model, path))

    assert again.columns_ == model.columns_
    assert again.get_feature_names_out().tolist() == model.get_feature_names_out().tolist()
    assert again._n_features_out == dense(model.transform(MIXED)).shape[1]
    np.testing.assert_array_equal(dense(again.transform(MIXED)), dense(model.transform(MIXED)))


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """The document and the arrays of the file of an encoder with every kind of block."""
    return split_file(BY_NAME["table"].fitted(), tmp_path_factory.mktemp("table") / "x.model")


def more(words):
    """One word more than a file has, and no bytes for it."""
    return np.append(words, words[-1])


def with_role(role):
    """Give the first column, of numbers, another role in the list of roles in use."""
    return {"state.column_roles": lambda roles: [role if one == "number" else one for one in roles]}


TWICE = object()  # a list of blocks, with their arrays
CHANGES = {
    "scale` must be above 0": {"@.numbers_.scale": lambda a: 0 * a},
    "dates_.*scale` must be above 0": {"@.dates_[0].scale": lambda a: -a},
    "mean` must be 5 long": {
        f"@.dates_[0].{name}": lambda a: np.append(a, 1.0) for name in ("mean", "scale")
    },
    "mean` must be 4 long": {"state.dates_.0.parts": ["days", "month", "year"]},
    "parts": {"state.dates_.0.parts": ["days", "month", "moon"]},
    "targets_.*scale` must be above 0": {"@.targets_[0].scale": lambda a: 0 * a},
    "texts_.*scale` must be above 0": {"state.texts_.0.scale": 0.0},
    "scale` must be above 0 and below 1e.06; found 1000000.0": {"state.texts_.0.scale": 1e6},
    "column_roles` must be known roles; found planet": with_role("planet"),
    "column_formats` must be a format of a boolean": with_role("boolean"),
    "column_formats` must be a format of a date": with_role("date"),
    "n_features_in_` must be 7; found 8": {
        "state.n_features_in_": 8,
        "@.feature_names_in_.ends": more,
    },
    "feature_names_in_` must be the columns that are kept": {
        "@.feature_names_in_": lambda a: a[::-1].copy()
    },
    "numbers_` must be 3 columns": {
        f"@.numbers_.{name}": lambda a: a[:2] for name in ("fill", "mean", "scale", "indicator")
    },
    "targets_` must be 0 or 1; found 2": {"state.targets_": TWICE},
    "dates_` must be 1 columns; found 0": {
        "state.dates_": [],
        **{f"@.dates_[0].{name}": None for name in ("mean", "scale")},
    },
    "texts_` must be 1 columns; found 2": {"state.texts_": TWICE},
    "targets_` must be 0 wide; found 3": {"state.classes_": None, "@.classes_": None},
    "targets_` must be 1 wide; found 3": {"@.classes_": lambda a: a[:2]},
}


@pytest.mark.parametrize("said", CHANGES)
def test_columns_and_statistics_belong_together(said, parts, path):
    document, tensors = copy.deepcopy(parts[0]), dict(parts[1])
    for where, new in CHANGES[said].items():
        if new is None and where.startswith("@"):
            del tensors[f"model{where[1:]}"]
        elif new is TWICE:
            change(document, tensors, where, lambda blocks: 2 * blocks)
            first = f"model.{where.removeprefix('state.')}[0]"
            again = {name: name.replace("[0]", "[1]") for name in tensors if first in name}
            tensors |= {new: tensors[old] for old, new in again.items()}
        else:
            change(document, tensors, where, new)
    path.write_bytes(signed(document, tensors))

    with pytest.raises(ModelFileError, match=said):
        load(path)


def test_a_table_without_the_names_of_its_columns_is_refused(parts, path):
    document, tensors = copy.deepcopy(parts[0]), dict(parts[1])
    del document["model"]["state"]["feature_names_in_"]
    kept = {name: values for name, values in tensors.items() if "feature_names_in_" not in name}
    path.write_bytes(signed(document, kept))

    with pytest.raises(ModelFileError, match="must be the columns that are kept; found") as refused:
        load(path)
    assert refused.value.__cause__ is None
