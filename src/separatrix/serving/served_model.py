"""One model that is served: its columns, its outputs, and blocks of rows that are scored at once."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from copy import copy
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline

from separatrix.app.estimate import last_step
from separatrix.app.explain import explain
from separatrix.app.novelty import classes_of, detects_novelty
from separatrix.app.preprocessing import undecided
from separatrix.app.read_data import encoder_of
from separatrix.data.column_forms import read_cells
from separatrix.data.data_table import NUMERIC, Category, ColumnSpec, DataTable
from separatrix.data.dataset import Dataset
from separatrix.data.role_notes import unseen_words
from separatrix.errors import DataError, UnsupportedError
from separatrix.estimators.base.device_params import set_device
from separatrix.estimators.decision import BayesDecision
from separatrix.estimators.table_encoder import TableEncoder
from separatrix.modelfile.files import load
from separatrix.runtime.warnings import without_own_warnings

Rows = Any  # a matrix, (n, d), or a `DataTable` of n rows
PROBE_SEED, PROBE_ROWS = 0, 256
LARGER = (4, 16)  # times the block: for large requests, if the answers are the same


class Scores(NamedTuple):
    """Predicted labels, (n,), and the probabilities of the classes, (n, k), if asked for."""

    labels: Any
    P: Any


class Signature(NamedTuple):
    """What clients rely on: the columns with role and form, in order, the classes, and the outputs.

    The values of a category are none of it: those that a model has not seen are served, with a note.
    """

    columns: tuple[tuple[str, str, str], ...]  # name, role, and what a cell must be
    classes: tuple[Any, ...]
    outputs: tuple[str, ...] = ("labels",)

    def difference(self, other: Signature) -> str:
        """What another signature has instead, in a few words; "" for an equal one.

        >>> one = Signature((("age", "number", "a number"),), ("no", "yes"))
        >>> one.difference(one._replace(columns=(("age", "date", "a date"),)))
        "column 0 is 'age' (date), not 'age' (number)"
        >>> one.difference(one._replace(columns=(("age", "number", "a number with %"),)))
        "column 'age' takes a number with %, not a number"
        >>> one.difference(one._replace(outputs=("labels", "probabilities")))
        'the outputs are labels and probabilities, not labels'
        >>> one.difference(Signature(one.columns, ("yes", "no")))
        "the classes are ['yes', 'no'], not ['no', 'yes']"
        """
        if len(other.columns) != len(self.columns):
            return f"there are {len(other.columns)} columns, not {len(self.columns)}"
        pairs = enumerate(zip(other.columns, self.columns, strict=True))
        for j, (theirs, ours) in pairs:
            if theirs[:2] != ours[:2]:
                return f"column {j} is {theirs[0]!r} ({theirs[1]}), not {ours[0]!r} ({ours[1]})"
            if theirs != ours:
                return f"column {ours[0]!r} takes {theirs[2]}, not {ours[2]}"
        if repr(other.classes) != repr(self.classes):
            return f"the classes are {list(other.classes)!r:.80}, not {list(self.classes)!r:.80}"
        if other.outputs != self.outputs:
            found, expected = (" and ".join(one.outputs) for one in (other, self))
            return f"the outputs are {found}, not {expected}"
        return ""


class ServedModel:
    """A loaded model, which does not change; a new file makes another one."""

    def __init__(self, model: Any, name: str, version: str, block: int) -> None:
        self.model, self.name, self.version = model, name, version
        inner = undecided(model)
        self.encoder = encoder_of(model)
        self.specs = self._specs(inner)
        self.columns = tuple(spec.name for spec in self.specs)
        self.column_set = frozenset(self.columns)
        known = self.encoder.columns_ if self.encoder is not None else ()
        self.forms = self.encoder.forms() if self.encoder is not None else []
        self.known = self.encoder.known_values() if self.encoder is not None else {}
        self.dropped = frozenset(spec.name for spec in known if not spec.kept)  # such as ids
        steps = [step for _, step in inner.steps] if isinstance(inner, Pipeline) else []
        self.imputes = self.encoder is not None or any(isinstance(s, SimpleImputer) for s in steps)
        self.classes = np.asarray(classes_of(model))
        self.has_probabilities = hasattr(model, "predict_proba")
        self.signature = self._signature()
        self._scored = without_names(model)
        self.block = self._row_wise_block(block)
        larger = (self.block * times for times in LARGER if self._scores_alike(self.block * times))
        self.sizes = (self.block, *larger)

    def _signature(self) -> Signature:
        plain = "a number or null" if self.imputes else "a number"
        forms = [form.expected for form in self.forms] or [plain] * len(self.specs)
        pairs = zip(self.specs, forms, strict=True)
        columns = tuple((spec.name, spec.role, form) for spec, form in pairs)
        labels = "labels of novelty" if detects_novelty(self.model) else "labels"
        if isinstance(self.model, BayesDecision) and self.model.reject_cost is not None:
            labels += f" with {self.model.actions_.tolist()[-1]!r} for rejected rows"
        outputs = (labels, "probabilities") if self.has_probabilities else (labels,)
        return Signature(columns, tuple(self.classes.tolist()), outputs)

    def _specs(self, inner: Any) -> tuple[ColumnSpec, ...]:
        if self.encoder is not None:
            return tuple(spec for spec in self.encoder.columns_ if spec.kept)
        names = getattr(inner, "feature_names_in_", None)
        if names is None:
            names = [f"x{j + 1}" for j in range(inner.n_features_in_)]
        return tuple(ColumnSpec(str(name), "number") for name in names)

    def read_columns(self, columns: Sequence[Sequence[Any]]) -> DataTable:
        """Cells by column, each read by the form of its training column alone."""
        assert self.encoder is not None
        return read_cells(self.encoder.columns_, self.forms, columns)

    def notes(self, rows: Rows) -> list[str]:
        """Values of categories that the model has not seen."""
        return unseen_words(rows, self.known) if self.known else []

    def score(self, rows: Rows, probabilities: bool) -> Scores:
        """Predict rows in one call; values that overflow on the way are an error."""
        with without_own_warnings(), np.errstate(all="ignore"):
            labels = np.asarray(self._scored.predict(rows))
            P = self._scored.predict_proba(rows) if probabilities else None
        if P is not None and not np.isfinite(P).all():
            raise DataError("the probabilities are not finite: the values are too large")
        return Scores(labels, P)

    def score_together(self, requests: Sequence[Rows], probabilities: bool) -> list[Scores]:
        """Predict the rows of several requests as blocks of fixed size.

        A block is filled up with copies of a row. As its size never differs, matrix products take the
        same path, and the answer for a row does not depend on its neighbours.
        """
        rows = stack_rows(requests)
        parts, start = [], 0
        while start < len(rows):
            left = len(rows) - start
            size = next((size for size in self.sizes if size >= left), self.sizes[-1])
            parts.append(self._score_block(rows[start : start + size], size, probabilities))
            start += size
        labels = np.concatenate([part.labels for part in parts])
        P = np.concatenate([part.P for part in parts]) if probabilities else None
        stops = np.cumsum([len(one) for one in requests])
        return [
            Scores(labels[stop - len(one) : stop], P if P is None else P[stop - len(one) : stop])
            for one, stop in zip(requests, stops.tolist(), strict=True)
        ]

    def _score_block(self, rows: Rows, size: int, probabilities: bool) -> Scores:
        n = len(rows)
        filled = rows if n == size else rows[np.minimum(np.arange(size), n - 1)]
        labels, P = self.score(filled, probabilities)
        return Scores(labels[:n], P if P is None else P[:n])

    def explain_row(self, rows: Rows, row: int) -> dict[str, Any]:
        """Features, training rows or terms that decided the prediction of one row."""
        kind = "table" if isinstance(rows, DataTable) else "vectors"
        data = Dataset("the request", rows, None, features=self.columns, kind=kind)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return explain(self.model, data, row=row).as_dict()

    def _row_wise_block(self, block: int) -> int:
        """The largest block, up to `block`, whose rows get the same bits whatever the other rows are.

        Tried on made-up rows: in another order, and next to huge values, which may make a kernel change
        its precision.
        """
        while block > 1:
            rng = np.random.default_rng(PROBE_SEED)
            trials = [self._is_row_wise(rng, block) for _ in range(max(2, PROBE_ROWS // block))]
            if all(trials):
                return block
            block //= 2
        return 1

    def _scores_alike(self, size: int) -> bool:
        """Whether rows get the same bits in a block of a larger size as in a small one; as above."""
        if self.block == 1:
            return False
        rng = np.random.default_rng(PROBE_SEED)
        rows = self._made_up_rows(rng, size - self.block)
        rows = stack_rows([rows, self._made_up_rows(rng, self.block, 1e6)])
        expected = self._try(rows)
        parts = [slice(start, start + self.block) for start in range(0, size, self.block)]
        return expected is not None and all(
            _same(expected, self._try(rows[part]), part, slice(None)) for part in parts
        )

    def _is_row_wise(self, rng: np.random.Generator, block: int) -> bool:
        rows, order, kept = self._made_up_rows(rng, block), rng.permutation(block), block // 2
        beside = stack_rows([rows[:kept], self._made_up_rows(rng, block - kept, 1e6)])
        expected, disturbed = self._try(rows), self._try(beside)
        if expected is None:  # the model takes other values
            return False
        if not _same(expected, self._try(rows[order]), order, slice(None)):
            return False
        return disturbed is None or _same(expected, disturbed, slice(kept), slice(kept))

    def _try(self, rows: Rows) -> Scores | None:
        try:
            return self.score(rows, self.has_probabilities)
        except ValueError:
            return None

    def _made_up_rows(self, rng: np.random.Generator, n: int, size: float = 1.0) -> Rows:
        if self.encoder is None:
            return size * rng.integers(0, 100, size=(n, len(self.specs))) / 16.0
        numeric = sum(spec.role in NUMERIC for spec in self.specs)
        texts = [s.name for s in self.specs if s.role not in NUMERIC]
        none = Category(np.full(n, -1, dtype=np.int32), [])
        numbers = np.asarray(size * rng.integers(0, 2, size=(n, numeric)), dtype=np.float64)
        return DataTable(self.encoder.columns_, numbers, dict.fromkeys(texts, none))


def without_names(part: Any) -> Any:
    """A shallow copy of a model whose steps do not know the names of columns, an encoder's aside.

    scikit-learn warns at every call where names were known in `fit` and an array has none. To hide the
    warning would change filters of the whole process, which other threads rely on.
    """
    if type(part) in (list, tuple):
        return type(part)(without_names(one) for one in part)
    if not isinstance(part, BaseEstimator) or isinstance(part, TableEncoder):
        return part
    found = copy(part)
    for name, value in vars(part).items():
        if name == "feature_names_in_":
            del found.__dict__[name]
        else:
            found.__dict__[name] = without_names(value)
    return found


def _same(one: Scores, other: Scores | None, of_one: Any, of_other: Any) -> bool:
    return other is not None and all(
        a is None or np.array_equal(a[of_one], b[of_other]) for a, b in zip(one, other, strict=True)
    )


def stack_rows(parts: Sequence[Rows]) -> Rows:
    """The rows of several requests, one after the other."""
    if len(parts) == 1:
        return parts[0]
    if not isinstance(parts[0], DataTable):
        return np.concatenate(parts)
    texts = {}
    for name in parts[0].texts:
        codes: list[Any] = []
        values: list[str] = []
        for part in parts:
            found = part.texts[name]
            codes.append(np.where(found.codes < 0, -1, found.codes + len(values)))
            values += found.values
        texts[name] = Category(np.concatenate(codes).astype(np.int32), values)
    return DataTable(parts[0].specs, np.concatenate([part.numbers for part in parts]), texts)


def load_served(path: Path, name: str, version: str, *, block: int, device: str) -> ServedModel:
    """Load a model file, every byte of which is checked, for serving."""
    model = load(path)
    set_device(device, model)
    kind = type(last_step(model)).__name__
    if not hasattr(model, "predict"):
        raise UnsupportedError(f"{path}: this {kind} is an embedding, not a classifier")
    if getattr(undecided(model), "n_features_in_", None) is None:
        raise UnsupportedError(f"{path}: this {kind} takes texts, sequences or graphs, not columns")
    return ServedModel(model, name, version, block)
