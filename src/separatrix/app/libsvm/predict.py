"""`svm-predict`: predict the samples of a file with a model of LIBSVM or separatrix."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from sklearn.utils import get_tags

from separatrix.app.libsvm.samples import PathLike, read_samples, with_hint, write_text
from separatrix.data.regular_files import open_regular
from separatrix.errors import DataFileError, ModelFileError, UnsupportedError
from separatrix.modelfile.files import load
from separatrix.modelfile.libsvm_text import load_libsvm


class PredictResult(NamedTuple):
    """Number of correct predictions."""

    correct: int
    total: int

    @property
    def line(self) -> str:
        """Return the accuracy in LIBSVM's format.

        >>> PredictResult(3, 4).line
        'Accuracy = 75% (3/4) (classification)'
        """
        percent = self.correct / self.total * 100
        return f"Accuracy = {percent:g}% ({self.correct}/{self.total}) (classification)"


def predict_file(
    path: PathLike, model: PathLike, output: PathLike, *, probability: bool = False
) -> PredictResult:
    """Predict the samples of a file, write one label per line, and count correct predictions.

    The model file is LIBSVM's, or one of `separatrix.save` with numeric labels. With `probability` the
    probabilities of all classes follow each label.
    """
    machine = load_libsvm(model) if _is_text(model) else load(model)
    if probability and not hasattr(machine, "predict_proba"):
        raise with_hint(
            UnsupportedError(f"{model} has no probability estimates that separatrix supports"),
            "omit -b 1, or train the model with svm-train -b 1",
        )
    if not hasattr(machine, "n_features_in_"):
        raise with_hint(
            ModelFileError("unsupported", f"{model} was fitted to texts, not to vectors"),
            "LIBSVM files hold vectors; use separatrix predict",
        )
    machine, X, y = _read_for(machine, model, path)
    P = machine.predict_proba(X) if probability else None
    predicted = np.asarray(machine.predict(X) if P is None else _most_likely(machine, P))
    if predicted.dtype.kind not in "biuf":
        raise with_hint(
            ModelFileError("unsupported", f"the labels of {model} are not numbers"),
            "LIBSVM files have numeric labels; use separatrix predict",
        )
    lines = [f"{label:.17g}" for label in predicted.tolist()]
    if P is not None:
        order = getattr(machine, "_ties", np.arange(len(machine.classes_)))  # of the file
        lines = _with_probabilities(lines, machine.classes_[order], P[:, order])
    write_text(Path(output), "".join(f"{line}\n" for line in lines))
    return PredictResult(int(np.count_nonzero(predicted == y)), len(y))


def _most_likely(machine: Any, P: Any) -> Any:
    """Labels of the highest probabilities, as svm-predict -b 1 writes them."""
    order = getattr(machine, "_ties", np.arange(len(machine.classes_)))
    return machine.classes_[order[P[:, order].argmax(axis=1)]]


def _with_probabilities(labels: list[str], classes: Any, P: Any) -> list[str]:
    head = " ".join(["labels", *(f"{label:.17g}" for label in classes.tolist())])
    rows = [" ".join(f"{value:g}" for value in row) for row in P.tolist()]
    return [head, *(f"{label} {row}" for label, row in zip(labels, rows, strict=True))]


def _read_for(machine: Any, model: PathLike, path: PathLike) -> tuple[Any, Any, Any]:
    """Return the model, samples with the same number of features, and their labels.

    A sparse file omits zeros, so its samples may have fewer columns than the model; a LIBSVM model file
    does not store the number of features, so the model may have fewer columns than the samples.
    """
    pairwise = get_tags(machine).input_tags.pairwise
    X, y = read_samples(path, zero_based=pairwise)
    X = X[:, 1:] if pairwise else X  # column 0 is the sample number
    known, given = int(machine.n_features_in_), X.shape[1]
    if given > known and _is_text(model):
        machine, known = load_libsvm(model, n_features=given), given
    if given > known or (pairwise and given < known):
        what = "kernel values" if pairwise else "features"
        raise DataFileError(
            path,
            found=f"{given} {what}",
            expected=f"{known}, as {model} has",
            hint="use the data file that belongs to this model",
        )
    X = csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], known))
    takes_sparse = get_tags(machine).input_tags.sparse and not pairwise
    return machine, X if takes_sparse else X.toarray(), y


def _is_text(model: PathLike) -> bool:
    """Return whether a model file is LIBSVM's; ours begins with its length in binary."""
    try:
        with open_regular(model) as file:
            return b"\0" not in file.read(8)
    except OSError:
        return True  # the reader raises the error
