"""Models that cannot be saved, and files that cannot be loaded, are refused with a sentence."""

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.covariance import LedoitWolf
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB as PeerGaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer, OneHotEncoder, StandardScaler
from tests.modelfile.cases import HOLES, TEXTS, WORDS, X, Y
from tests.modelfile.hostile import signed, split_file

import separatrix as sx
from separatrix.errors import ModelFileError
from separatrix.estimators.base.tuned import KNeighborsCV
from separatrix.kernels import Gaussian, Linear
from separatrix.modelfile import files


def test_models_that_hold_each_other_many_times_are_counted(path):
    inner = {"kind": "Normalizer", "params": {"norm": "l2", "copy": True}}
    state = {"state": {"n_features_in_": 4}, "slim": False}
    steps = [["0", {**inner, **state}]]
    at = "model.steps[0].steps[0].steps[0]"
    for _ in range(3):
        again = [[str(i + 1), {"same": at}] for i in range(20)]
        around = {"steps": steps + again, "memory": None, "verbose": False, "transform_input": None}
        whole = {"kind": "Pipeline", "params": around, "state": {}, "slim": False}
        steps, at = [["0", whole]], at.rpartition(".")[0]
    document, _ = split_file(Normalizer().fit(X), path)
    document["model"] = whole
    path.write_bytes(signed(document, {}))
    with pytest.raises(ModelFileError, match="more than 500 models in models"):
        sx.load(path)


def altered(model, **params):
    """Set params after the fit."""
    return lambda: model.fit(X, Y).set_params(**params)


def nested(depth):
    return sx.SVC() if not depth else make_pipeline(StandardScaler(), nested(depth - 1))


@pytest.mark.parametrize(
    "model",
    [
        altered(sx.SVC(), C=-1.0),
        altered(sx.SVC(), multi_class="ovr"),
        altered(sx.SVC(), kernel="precomputed"),
        altered(sx.SVC(), n_jobs=2000),
        altered(sx.Perceptron(), predictor="vote"),
        altered(sx.LinearDiscriminantAnalysis("lsqr"), solver="svd"),
        altered(sx.SVC(kernel=sum([Gaussian(1.0 + i) for i in range(40)], Linear()))),
        altered(nested(9)),
        altered(make_pipeline(*[StandardScaler() for _ in range(65)], sx.SVC())),
        altered(sx.SVC(class_weight={0: 1.0, 1: 1.0, 2: 1.0, (0, 1): 2.0})),
    ],
    ids=range(10),
)
def test_what_could_not_be_read_again_is_not_written(model, path):
    fitted = model()
    with pytest.raises(ModelFileError, match="cannot be saved") as raised:
        sx.save(fitted, path)
    assert raised.value.reason in ("unsupported", "limit")
    assert not path.exists()


def test_paths_of_every_kind(tmp_path):
    model = sx.LogisticRegression().fit(X, Y)
    for name in ("x" * 250, "日本.model", "a b\tc.model"):
        sx.load(sx.save(model, tmp_path / name))
    for bad in ("\ud800", os.fsencode("x")):
        with pytest.raises(ModelFileError, match="path"):
            sx.load(bad)
    with pytest.raises(ModelFileError, match="there is no file") as raised:
        sx.load(str(tmp_path / "a\nb"))
    assert "\n" not in str(raised.value)


def test_loading_in_threads(path):
    sx.save(make_pipeline(StandardScaler(), sx.KNeighborsClassifier()).fit(X, Y), path)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: sx.load(path).predict(X).tobytes(), range(4)))
    assert len(set(found)) == 1


def test_what_nobody_foresaw_is_a_refusal_too(path, monkeypatch):
    sx.save(sx.LogisticRegression().fit(X, Y), path)
    monkeypatch.setattr(files, "read_model_card", lambda _: {}["nothing"])
    with pytest.raises(ModelFileError, match="'nothing'") as raised:
        sx.load(path)
    assert isinstance(raised.value.__cause__, KeyError)


class MySVC(sx.SVC):
    pass


def linear(A, B):
    return A @ B.T


def lowered(text):
    return text.lower()


TEXT_PARAMETERS = [
    ({"tokenizer": str.split}, "tokenizer` must be None, for a file"),
    ({"preprocessor": lowered}, "preprocessor` must be None, .*no code; found a function"),
    ({"analyzer": str.split}, "analyzer` must be 'word' or 'char' or 'char_wb'"),
    ({"strip_accents": lowered}, "strip_accents` must be None or 'ascii' or 'unicode'"),
    ({"stop_words": ["long"]}, "stop_words` must be None or 'english'"),
    ({"token_pattern": r"\w+"}, "token_pattern` must be .* take for ever to match"),
    ({"encoding": "idna"}, "encoding` must be 'utf-8' or"),
    ({"ngram_range": (1, 33)}, "ngram_range` must be from 1 to 32"),
    ({"dtype": np.int32}, "dtype` must be one of np.int64, np.float64, np.float32"),
    ({"dtype": "float32"}, "dtype` must be one of"),
    ({"vocabulary": {"long", "thin"}}, "vocabulary` is set, which cannot be stored"),
]
SEARCH = r"cannot be stored in a file.*best_model\(search\)"
UNSUPPORTED = [
    (MySVC(), X, "is a MySVC, which cannot be stored in a file"),
    (sx.KNeighborsClassifier(metric=lambda a, b: abs(a - b).sum()), X, "metric` is a function"),
    (sx.KNeighborsClassifier(weights=lambda d: 1 / (1 + d)), X, "weights` is a function"),
    (sx.BayesDecision(PeerGaussianNB()), X, "is a GaussianNB, which cannot be stored"),
    (
        make_pipeline(FunctionTransformer(), sx.SVC()),
        X,
        "is a FunctionTransformer, which cannot be stored",
    ),
    (
        make_pipeline(StandardScaler(), PeerGaussianNB()),
        X,
        "is a GaussianNB, which cannot be stored",
    ),
    (
        sx.LinearDiscriminantAnalysis("lsqr", covariance_estimator=LedoitWolf()),
        X,
        "is a LedoitWolf, which cannot be stored",
    ),
    (sx.Perceptron(random_state=np.random.RandomState(0)), X, "is a generator.* holds seeds"),
    (sx.Perceptron(random_state=np.random.default_rng(0)), X, "is a generator.* holds seeds"),
    (make_pipeline(OneHotEncoder(min_frequency=2), sx.SVC()), X, "group categories"),
    (KNeighborsCV(5), X, SEARCH),
    (GridSearchCV(sx.SVC(), {"C": [1.0]}, cv=2), X, SEARCH),
    *(
        (make(**params), TEXTS, sentence)
        for make in (CountVectorizer, TfidfVectorizer)
        for params, sentence in TEXT_PARAMETERS
    ),
    (SimpleImputer(add_indicator=True), HOLES, "add_indicator` must be False, for a file"),
    (SimpleImputer(strategy=np.mean), HOLES, "strategy` must be 'mean' or .*no code"),
    (SimpleImputer(strategy="most_frequent"), WORDS[:, None].astype(object), "to objects"),
]


@pytest.mark.parametrize(
    ("model", "samples", "sentence"), UNSUPPORTED, ids=lambda value: type(value).__name__
)
@pytest.mark.filterwarnings("ignore")  # scikit-learn warns of some parameters
def test_a_model_that_a_file_cannot_hold_is_refused_with_a_sentence(
    model, samples, sentence, tmp_path
):
    model = clone(model).fit(samples, Y)
    with pytest.raises(ModelFileError, match=sentence) as raised:
        sx.save(model, tmp_path / "x.model")
    assert raised.value.reason == "unsupported"
    assert "\n" not in str(raised.value)
    assert os.listdir(tmp_path) == []


def test_only_fitted_models_are_saved(tmp_path):
    for model, sentence in (
        (sx.SVC(), "this SVC is not fitted: call `fit` first"),
        (make_pipeline(StandardScaler(), sx.SVC()), "is not fitted"),
        (sx.SVC, "takes a fitted estimator; got"),
        ("model", "takes a fitted estimator; got str"),
        (Gaussian(1.0), "takes a fitted estimator; got Gaussian"),
    ):
        with pytest.raises(ModelFileError, match=sentence):
            sx.save(model, tmp_path / "x.model")


def test_attributes_that_no_fit_gives_are_not_lost_silently(tmp_path):
    model = sx.SVC().fit(X, Y)
    model.remark_ = "the good one"
    with pytest.raises(ModelFileError, match=r"no fit gives it, \['remark_'\]: delete them"):
        sx.save(model, tmp_path / "x.model")
    neighbors = sx.KNeighborsClassifier().fit(X, Y)
    neighbors.remark_ = "the good one"
    with pytest.raises(ModelFileError, match="remark_"):
        sx.save(neighbors, tmp_path / "x.model")


def test_a_model_that_was_tampered_with_is_not_written(tmp_path):
    model = sx.LogisticRegression().fit(X, Y)
    model.coef_[0, 0] = np.nan
    with pytest.raises(ModelFileError, match=r"`model.coef_` must be finite; found nan"):
        sx.save(model, tmp_path / "x.model")
    model = sx.SVC().fit(X, Y)
    model.support_vectors_ = model.support_vectors_[:-1]
    with pytest.raises(ModelFileError, match="support_vectors_"):
        sx.save(model, tmp_path / "x.model")


def test_a_note_is_one_line(path):
    with pytest.raises(ModelFileError, match="note"):
        sx.save(sx.SVC().fit(X, Y), path, note="two\nlines")
    assert not path.exists()


@pytest.mark.parametrize("path", ["", None, 3, "a\0b", b"bytes"])
def test_a_path_that_is_none_is_refused(path):
    with pytest.raises(ModelFileError, match="path"):
        sx.load(path)
    with pytest.raises(ModelFileError, match="path"):
        sx.save(sx.SVC().fit(X, Y), path)
