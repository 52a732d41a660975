"""Files that are no valid models of LIBSVM are refused with the line and what was expected there."""

import os
import warnings

import numpy as np
import pytest
from scipy.sparse import issparse
from tests.modelfile.libsvm_tools import halves, needs_svm_predict, svm_predict

from separatrix import SVC
from separatrix.errors import ModelFileError, ParameterError
from separatrix.kernels import Gaussian
from separatrix.modelfile import libsvm_parser
from separatrix.modelfile import libsvm_text as libsvm
from separatrix.modelfile.libsvm_text import load_libsvm, save_libsvm

GOOD = """svm_type c_svc
kernel_type rbf
gamma 0.5
nr_class 3
total_sv 4
rho 0.1 -0.2 0.3
label 7 -3 2
nr_sv 1 2 1
SV
0.5 1.5 1:0.25 3:-1
-0.5 0.5 1:1e-3 2:0.5
-0.25 1 2:.5
-1 -0.5
"""


PRECOMPUTED = (
    GOOD.replace("rbf\ngamma 0.5", "precomputed")
    .replace("1:0.25 3:-1", "0:3")
    .replace("1:1e-3 2:0.5", "0:1")
    .replace("2:.5", "0:4")
    .replace("-1 -0.5\n", "-1 -0.5 0:2\n")
)


@pytest.fixture
def good(tmp_path):
    path = tmp_path / "good.model"
    path.write_text(GOOD)
    return path


TWO = """svm_type c_svc
kernel_type rbf
gamma 0.5
nr_class 2
total_sv 3
rho 0.125
label 4 -3
nr_sv 2 1
SV
0.5 1:0.25 3:-1
0.75 1:1e-3 2:0.5
-1.25 2:.5
"""


def plain_scores(text, X):
    """Scores of all pairs as LIBSVM defines them: above 0 for the class whose label comes first."""
    head, _, body = text.partition("SV\n")
    said = dict(line.split(" ", 1) for line in head.splitlines())
    k, rho = int(said["nr_class"]), [float(word) for word in said["rho"].split()]
    ends = np.cumsum([0, *map(int, said["nr_sv"].split())])
    coefs, vectors = [], np.zeros((ends[-1], X.shape[1]))
    for row, line in enumerate(body.splitlines()):
        words = line.split()
        coefs.append([float(word) for word in words[: k - 1]])
        for word in words[k - 1 :]:
            vectors[row, int(word.split(":")[0]) - 1] = float(word.split(":")[1])
    K = np.exp(-float(said["gamma"]) * ((X[:, None] - vectors) ** 2).sum(axis=-1))
    scores = []
    for a in range(k):
        for b in range(a + 1, k):
            first, second = slice(ends[a], ends[a + 1]), slice(ends[b], ends[b + 1])
            score = K[:, first] @ np.array(coefs)[first, b - 1]
            scores.append(score + K[:, second] @ np.array(coefs)[second, a] - rho[len(scores)])
    return np.array(scores).T, [int(word) for word in said["label"].split()]


@pytest.mark.parametrize("text", [TWO, GOOD], ids=["two classes", "three classes"])
def test_a_file_means_what_the_format_says(text, good):
    X = np.random.default_rng(0).normal(size=(40, 3))
    scores, labels = plain_scores(text, X)
    pairs = [(a, b) for a in range(len(labels)) for b in range(a + 1, len(labels))]
    votes = np.zeros((40, len(labels)))
    for score, (a, b) in zip(scores.T, pairs, strict=True):
        votes[np.arange(40), np.where(score > 0, a, b)] += 1
    good.write_text(text)

    model = load_libsvm(good, n_features=3)

    assert model.predict(X).tolist() == [labels[i] for i in votes.argmax(axis=1)]
    assert len(set(model.predict(X).tolist())) > 1
    save_libsvm(model, good)
    np.testing.assert_allclose(
        sorted(np.abs(plain_scores(good.read_text(), X)[0]).T.tolist()),
        sorted(np.abs(scores).T.tolist()),
        rtol=1e-12,
    )


@needs_svm_predict
@pytest.mark.parametrize("text", [GOOD, PRECOMPUTED, GOOD.replace("\n", "\r\n")])
def test_the_small_files_of_these_tests_are_good(text, good):
    good.write_text(text, newline="")
    n = 4 if text is PRECOMPUTED else 3
    X = np.random.default_rng(0).normal(size=(100, n))

    model = load_libsvm(good)

    assert model.n_features_in_ == n
    assert model.support_.tolist() == ([0, 3, 1, 2] if text is PRECOMPUTED else [0, 1, 2, 3])
    np.testing.assert_array_equal(model.predict(X), svm_predict(good, X))


REFUSED = {
    "an unknown key": ("gamma 0.5", "gama 0.5", "schema", "3: found 'gama', expected SV or one of"),
    "a blank line": ("gamma 0.5", "", "schema", "3: found '', expected SV or one of"),
    "a key twice": ("gamma 0.5", "nr_class 3", "schema", "4: found nr_class for the second time"),
    "regression": ("c_svc", "nu_svr", "schema", "1: found svm_type 'nu_svr', expected c_svc or nu_svc"),
    "labels of one class": ("c_svc", "one_class", "invariant", "found 3 values of rho, expected 1"),
    "half a sigmoid": ("SV\n", "probA 1 2 3\nSV\n", "schema", "found no probB before SV"),
    "two types": ("c_svc", "c_svc nu_svc", "schema", "1: found svm_type 'c_svc nu_svc'"),
    "another kernel": ("rbf", "laplace", "schema", "2: found kernel_type 'laplace', expected linear"),
    "no gamma": ("gamma 0.5\n", "", "schema", "2: found rbf without gamma, expected a line of it"),
    "no value": ("gamma 0.5", "gamma", "invariant", "3: found 0 values of gamma, expected 1"),
    "two values": ("gamma 0.5", "gamma 1 2", "invariant", "3: found 2 values of gamma"),
    "gamma of 0": ("gamma 0.5", "gamma 0", "invariant", "`gamma` of Gaussian must be above 0"),
    "gamma of nan": ("gamma 0.5", "gamma nan", "invariant", "3: found gamma that is not finite"),
    "gamma of words": ("gamma 0.5", "gamma half", "schema", "3: found 'half', expected numbers"),
    "a gamma apart": ("gamma 0.5", "gamma 1_0", "schema", "3: found '1_0', expected numbers"),
    "bad degree": ("rbf", "polynomial\ndegree 0\ncoef0 0", "invariant", "an integer of at least 1"),
    "half a degree": ("rbf", "polynomial\ndegree 1.5\ncoef0 0", "schema", "3: found '1.5'"),
    "a degree unused": ("gamma", "degree x\ngamma", "schema", "3: found 'x', expected a whole"),
    "one class": ("nr_class 3", "nr_class 1", "invariant", "4: found nr_class 1, expected at least"),
    "many classes": ("nr_class 3", "nr_class 10001", "limit", "10001, expected at most 10000"),
    "no classes": ("nr_class 3", "nr_class x", "schema", "4: found 'x', expected a whole number"),
    "half classes": ("nr_class 3", "nr_class 3.0", "schema", "4: found '3.0', expected a whole"),
    "classes apart": ("nr_class 3", "nr_class 1_0", "schema", "4: found '1_0'"),
    "more classes": ("nr_class 3", "nr_class 4", "invariant", "7: found 3 values of label, expected 4"),
    "many digits": ("nr_class 3", f"nr_class {'1' * 99}", "schema", "4: found '111"),
    "a label twice": ("7 -3 2", "7 -3 7", "invariant", "7: found label 7 twice, expected each once"),
    "a large label": ("7 -3 2", "7 -3 2147483648", "invariant", "found -3 to 2147483648"),
    "a word as label": ("7 -3 2", "7 -3 a", "schema", "7: found 'a', expected a whole number of label"),
    "few rho": ("rho 0.1 -0.2 0.3", "rho 0.1 -0.2", "invariant", "6: found 2 values of rho, expected 3"),
    "rho of inf": ("rho 0.1", "rho inf", "invariant", "6: found rho that is not finite"),
    "large rho": ("rho 0.1", "rho 1e999", "invariant", "6: found rho that is not finite"),
    "few nr_sv": ("nr_sv 1 2 1", "nr_sv 1 3", "invariant", "8: found 2 values of nr_sv, expected 3"),
    "wrong nr_sv": ("nr_sv 1 2 1", "nr_sv 1 2 2", "invariant", "found 5 support vectors, expected 4"),
    "nr_sv below 0": ("nr_sv 1 2 1", "nr_sv 4 2 -2", "invariant", "8: found -2 to 4, expected nr_sv"),
    "wrong total": ("total_sv 4", "total_sv 5", "invariant", "found 4 support vectors, expected 5"),
    "bad probA": ("SV", "probA 1 2 x\nSV", "schema", "9: found 'x', expected numbers of probA"),
    "few probB": ("SV", "probB 1 2\nSV", "invariant", "9: found 2 values of probB, expected 3"),
    "bad marks": ("SV", "prob_density_marks x\nSV", "schema", "9: found 'x', expected numbers"),
    "no SV": ("SV\n", "", "schema", "9: found '0.5', expected SV or one of"),
    "SV and more": ("SV\n", "SV 4\n", "schema", "9: found 'SV', expected SV or one of"),
    "only a header": (GOOD[GOOD.index("SV\n") :], "", "size", "8: found the end of the file, expected"),
    "a row less": ("-1 -0.5\n", "", "size", "12: found the end after 3 support vectors, expected 4"),
    "a row more": ("-1 -0.5\n", "-1 -0.5\n1 1 \n", "size", "14: found one more line, expected the end"),
    "a blank row more": ("-1 -0.5\n", "-1 -0.5\n\n", "size", "14: found one more line"),
    "a blank row": ("-1 -0.5\n", "\n", "schema", "13: found 0 numbers, expected 2 coefficients"),
    "few coefficients": ("-1 -0.5\n", "-1 2:1\n", "schema", "13: found '2:1', expected 2 coefficients"),
    "nan as coefficient": ("-1 -0.5\n", "-1 nan\n", "invariant", "13: found a coefficient that is not"),
    "a word as coefficient": ("-1 -0.5\n", "-1 a\n", "schema", "13: found 'a', expected 2 coefficients"),
    "an index of 0": ("1:0.25", "0:0.25", "invariant", "10: found 0:0.25, expected an index of at least"),
    "an index below 0": ("1:0.25", "-1:0.25", "invariant", "10: found -1:0.25, expected an index of"),
    "an index twice": ("3:-1", "1:-1", "invariant", "10: found 1:-1, expected an index above the one"),
    "falling indices": ("1:1e-3 2:0.5", "2:1 1:1", "invariant", "11: found 1:1, expected an index above"),
    "a large index": ("3:-1", "2147483648:1", "limit", "expected an index of at most 2147483647"),
    "a huge index": ("3:-1", f"{2**64}:1", "schema", "10: found '18446744073709551616:1'"),
    "no index": ("3:-1", ":-1", "schema", "10: found ':-1', expected 2 coefficients, then index:value"),
    "no value there": ("3:-1", "3:", "schema", "10: found '3:', expected 2 coefficients"),
    "no colon": ("3:-1", "3", "schema", "10: found '3', expected 2 coefficients"),
    "two colons": ("3:-1", "3:1:4", "schema", "10: found '3:1:4'"),
    "half an index": ("3:-1", "3.5:1", "schema", "10: found '3.5:1'"),
    "an index apart": ("3:-1", "1_000:1", "schema", "10: found '1_000:1'"),
    "a value apart": ("3:-1", "3:1_000", "schema", "10: found '3:1_000'"),
    "a hexadecimal value": ("3:-1", "3:0x10", "schema", "10: found '3:0x10'"),
    "a word as value": ("3:-1", "3:a", "schema", "10: found '3:a'"),
    "a long word": ("3:-1", f"3:{'1' * 2**20}x", "schema", "10: found '3:1111"),
    "a long number": ("3:-1", f"3:{'1' * 2**20}", "invariant", "10: found 3:inf, expected finite"),
    "nan as value": ("3:-1", "3:nan", "invariant", "10: found 3:nan, expected finite numbers"),
    "inf as value": ("2:.5", "2:-inf", "invariant", "12: found 2:-inf, expected finite numbers"),
    "a large value": ("2:.5", "2:1e999", "invariant", "12: found 2:inf, expected finite numbers"),
    "digits of others": ("2:.5", "2:٣", "schema", "12: found bytes that are no ASCII"),
    "a zero byte": ("2:.5", "2:\0", "schema", "12: found bytes that are no ASCII"),
    "no line break": ("-1 -0.5\n", "-1 -0.5", "size", "13: found the end of the file within a line"),
}  # fmt: skip
REFUSED |= {
    f"no {line.split()[0]}": (
        line,
        "",
        "schema",
        f"8: found no {line.split()[0]} before SV, expected",
    )
    for line in GOOD.partition("SV\n")[0].splitlines(keepends=True)
    if not line.startswith("gamma")
}
REFUSED_PRECOMPUTED = {
    "a vector": ("0:1", "1:0.5 2:0.5", "schema", "10: found 2 entries, expected one entry"),
    "nothing": ("0:1", "", "schema", "10: found 0 entries, expected one entry"),
    "another index": ("0:1", "1:1", "invariant", "10: found 1:1, expected one entry, 0:number"),
    "row 0": ("0:1", "0:0", "invariant", "10: found 0:0, expected a whole number from 1"),
    "half a row": ("0:1", "0:1.5", "invariant", "10: found 0:1.5, expected a whole number"),
    "row of nan": ("0:1", "0:nan", "invariant", "10: found 0:nan, expected finite numbers"),
    "a far row": ("0:1", "0:2147483648", "limit", "10: found 0:2147483648, expected at most"),
}  # fmt: skip


CASES = [
    *((GOOD, *case) for case in REFUSED.values()),
    *((PRECOMPUTED, *case) for case in REFUSED_PRECOMPUTED.values()),
]


@pytest.mark.parametrize(
    ("text", "part", "instead", "reason", "sentence"), CASES, ids=[*REFUSED, *REFUSED_PRECOMPUTED]
)
def test_a_file_that_cannot_be_is_refused(text, part, instead, reason, sentence, good):
    changed = text.replace(part, instead, 1)
    assert changed != text
    good.write_text(changed)

    with pytest.raises(ModelFileError) as caught:
        load_libsvm(good)

    assert sentence in str(caught.value)
    assert str(caught.value).startswith(f"{good}:")
    assert caught.value.reason == reason
    assert len(str(caught.value)) < len(str(good)) + 300


def test_marks_of_densities_and_parameters_of_other_kernels_are_read_over(good):
    good.write_text(GOOD.replace("gamma", "degree 3\ncoef0 0\nprob_density_marks 1 2\ngamma"))

    assert load_libsvm(good).kernel_ == Gaussian(0.5)


def test_bytes_that_are_no_text_are_refused(tmp_path):
    path = tmp_path / "m"
    for raw in (bytes(range(256)) + b"\n", b"svm_type \xff\n", "svm_type c_svc\n".encode("utf-16")):
        path.write_bytes(raw)
        with pytest.raises(ModelFileError, match=r"no ASCII|found '") as caught:
            load_libsvm(path)
        assert caught.value.reason == "schema"
    path.write_bytes(b"")
    with pytest.raises(ModelFileError, match=":0: found the end of the file, expected a line SV"):
        load_libsvm(path)


def test_lines_have_a_limit(good, monkeypatch):
    good.write_text(GOOD.replace("SV", f"nr_class {' ' * 2**20}\nSV").replace("nr_class 3\n", ""))
    with pytest.raises(ModelFileError, match=r":8: found a longer line of nr_class") as caught:
        load_libsvm(good)
    assert caught.value.reason == "limit"

    monkeypatch.setattr(libsvm_parser, "LONGEST_LINE", 1000)
    good.write_text(GOOD.replace("3:-1", f"3:{'1' * 1000}"))
    with pytest.raises(
        ModelFileError, match=r":10: found a longer line, expected at most"
    ) as caught:
        load_libsvm(good)
    assert caught.value.reason == "limit"


def test_a_number_for_each_pair_may_take_more_than_a_header_line(tmp_path, monkeypatch):
    monkeypatch.setattr(libsvm_parser, "LONGEST_HEADER_LINE", 64)
    X, y, _, _ = halves("digits")
    model = SVC().fit(X, y)

    again = load_libsvm(save_libsvm(model, tmp_path / "m"), n_features=64)

    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_what_is_no_file_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for name, reason in (("pipe", "unreadable"), (".", "unreadable"), ("none", "missing")):
        with pytest.raises(ModelFileError) as caught:
            load_libsvm(tmp_path / name)
        assert caught.value.reason == reason


def test_memory_that_runs_out_is_a_limit(good, monkeypatch):
    def no_memory(*_):
        raise MemoryError

    monkeypatch.setattr(libsvm, "_make_svc", no_memory)
    with pytest.raises(ModelFileError, match="does not fit into memory") as caught:
        load_libsvm(good)
    assert caught.value.reason == "limit"


@pytest.mark.parametrize("n_features", [3, 5, 2**31 - 1])
def test_features_beyond_the_largest_index_can_be_asked_for(n_features, good):
    assert load_libsvm(good, n_features=n_features).n_features_in_ == n_features


@pytest.mark.parametrize("n_features", [2, 2**31])
def test_features_that_do_not_hold_the_indices_are_refused(n_features, good):
    with pytest.raises(ModelFileError, match="found indices up to 3, expected") as caught:
        load_libsvm(good, n_features=n_features)
    assert caught.value.reason == "invariant"


@pytest.mark.parametrize("n_features", [0, 1.5, "3", True])
def test_a_number_of_features_is_a_whole_number(n_features, good):
    with pytest.raises(ParameterError, match="`n_features` of load_libsvm must be an integer"):
        load_libsvm(good, n_features=n_features)


@pytest.mark.parametrize("text", [GOOD, PRECOMPUTED])
def test_the_largest_index_takes_no_memory(text, good):
    last = "3:-1" if text is GOOD else "0:3"
    good.write_text(
        text.replace(last, f"{last[0]}:2147483647" if text is PRECOMPUTED else "2147483647:1")
    )

    model = load_libsvm(good)

    assert model.n_features_in_ == 2**31 - 1
    assert good.stat().st_size < 210
    if text is GOOD:
        assert issparse(model.support_vectors_)
        assert model.support_vectors_.indices.dtype == np.int32
    else:
        assert int(model.support_.max()) == 2**31 - 2


def survives(path, counts):
    """Refused, or a model that predicts."""
    try:
        model = load_libsvm(path)
    except ModelFileError:
        counts["refused"] += 1
        return
    if model.n_features_in_ < 1000:
        with np.errstate(all="ignore"):
            assert len(model.predict(np.ones((3, model.n_features_in_)))) == 3
    counts["read"] += 1


@pytest.mark.parametrize("text", [GOOD, PRECOMPUTED])
def test_a_file_cut_short_anywhere_is_refused(text, good):
    for length in range(len(text)):
        good.write_text(text[:length])
        with pytest.raises(ModelFileError) as caught:
            load_libsvm(good)
        assert caught.value.reason == "size"


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", [GOOD, PRECOMPUTED, GOOD.replace("rbf", "polynomial\ndegree 2\ncoef0 1")]
)
def test_a_file_with_damaged_bytes_is_refused_or_predicts(text, good):
    rng = np.random.default_rng(0)
    letters = np.frombuffer(b"012345678901234567890123456789.-+e: \n_xSV\0\xff", dtype=np.uint8)
    counts = {"refused": 0, "read": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(1000):
            raw = bytearray(text.encode())
            for _ in range(rng.integers(1, 3)):
                raw[rng.integers(len(raw))] = rng.choice(letters)
            good.write_bytes(raw)
            survives(good, counts)

    assert min(counts.values()) > 100
