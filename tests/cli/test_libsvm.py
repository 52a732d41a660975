"""LIBSVM's own programs are the oracle: the same words on both command lines, the same files out."""

import gzip
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.datasets import dump_svmlight_file, load_iris
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from separatrix import SVC, GaussianNB, load_libsvm, save
from separatrix.cli.libsvm import svm_predict, svm_scale, svm_train
from separatrix.kernels import Gaussian

OURS = {"svm-train": svm_train, "svm-predict": svm_predict, "svm-scale": svm_scale}
needs_libsvm = pytest.mark.skipif(
    any(shutil.which(name) is None for name in OURS),
    reason="LIBSVM's programs are not installed: apt-get install libsvm-tools",
)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ours(name, *words):
    return CliRunner().invoke(OURS[name], [str(word) for word in words])


def done(name, *words):
    found = ours(name, *words)
    assert found.exit_code == 0, found.output
    return found


def theirs(name, *words):
    return subprocess.run(
        [name, *map(str, words)], capture_output=True, text=True, check=True, timeout=60
    )


def write(name, X, y):
    dump_svmlight_file(X, y, str(name), zero_based=False)
    return name


def iris(name="iris", labels=(0, 1, 2)):
    """In a random order, so that labels come unsorted."""
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    return write(name, X[order], np.array(labels)[y[order]])


def kernel_matrix(name, rows):
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    K = Gaussian(0.25).block(X[order], X[order])
    lines = [
        f"{y[order[row]]} 0:{row + 1} "
        + " ".join(f"{column}:{value!r}" for column, value in enumerate(K[row].tolist(), start=1))
        for row in rows
    ]
    Path(name).write_text("".join(f"{line}\n" for line in lines))
    return name


def assert_same_predictions(test, *models):
    """svm-predict and ours print and write the same for each model."""
    for model in models:
        line = done("svm-predict", test, model, "ours.out").stdout
        assert line == theirs("svm-predict", test, model, "theirs.out").stdout
        assert Path("ours.out").read_bytes() == Path("theirs.out").read_bytes()


def assert_same_scaling(*words):
    """svm-scale and ours print the same and save the same ranges."""
    mine = done("svm-scale", *words)
    saved = Path("ranges").read_bytes() if Path("ranges").exists() else None
    other = theirs("svm-scale", *words)
    assert mine.stdout == other.stdout
    assert mine.stderr == other.stderr
    if saved is not None:
        assert saved == Path("ranges").read_bytes()
    return mine


def numbers(text):
    """Values of LIBSVM's summary by name, in their order, but for steps."""
    words = text.replace(",", " ").split()
    found = [(words[i - 1], float(words[i + 1])) for i, word in enumerate(words) if word == "="]
    return [(name, value) for name, value in found if name != "#iter"]


def header(model):
    """What a model file says before its support vectors."""
    lines = Path(model).read_text().partition("\nSV\n")[0].splitlines()
    words = {line.split()[0]: line.split()[1:] for line in lines}
    return {key: vs if "type" in key else list(map(float, vs)) for key, vs in words.items()}


# side by side; numbers are such as float32 holds, since Debian's programs read flags into that


POLYNOMIAL, SIGMOID = "-t 1 -d 2 -g 0.125 -r 1", "-t 3 -g 0.015625 -r -0.25"


@needs_libsvm
@pytest.mark.parametrize(
    "flags", ["", "-t 0 -c 0.5", POLYNOMIAL, SIGMOID, "-w1 5 -w2 0.5 -c 2", "-m 1"]
)
def test_training_prints_and_writes_what_svm_train_does(flags):
    iris()
    flags = [*flags.split(), "-e", "1e-7"]
    mine = numbers(done("svm-train", *flags, "iris", "ours.model").stdout)
    other = numbers(theirs("svm-train", *flags, "iris", "theirs.model").stdout)

    for (name, value), (same, expected) in zip(mine, other, strict=True):
        assert name == same
        assert value == pytest.approx(expected, abs=2e-5, rel=2e-5)
    mine, other = header("ours.model"), header("theirs.model")
    assert mine.pop("rho") == pytest.approx(other.pop("rho"), rel=5e-5, abs=2e-5)
    assert mine == other
    assert_same_predictions("iris", "ours.model", "theirs.model")


@needs_libsvm
@pytest.mark.parametrize("labels", [(-1, 1, 1), (1, -1, -1), (7, -3, -3), (2, 9, 4)])
def test_labels_lie_in_the_order_of_svm_train(labels):
    iris(labels=labels)
    done("svm-train", "-q", "iris", "ours.model")
    theirs("svm-train", "-q", "iris", "theirs.model")
    assert header("ours.model")["label"] == header("theirs.model")["label"]


@needs_libsvm
@pytest.mark.parametrize("name", ["a4a", "usps"])
def test_accuracy_on_real_data_is_that_of_svm_predict(name, request):
    data = request.getfixturevalue(name)
    X, y = (data.X, data.y) if name == "usps" else (data.X_test, data.y_test)
    write("train", data.X[:600], data.y[:600])
    write("test", X[600:2400], y[600:2400])
    done("svm-train", "-q", "-e", "1e-6", "-c", "10", "train", "ours.model")
    theirs("svm-train", "-q", "-e", "1e-6", "-c", "10", "train", "theirs.model")

    assert_same_predictions("test", "ours.model", "theirs.model")
    ours_said = done("svm-predict", "test", "ours.model", "out").stdout
    assert ours_said == theirs("svm-predict", "test", "theirs.model", "out").stdout


@needs_libsvm
@pytest.mark.parametrize("rows", [range(150), range(0, 150, 2)], ids=["all", "every second"])
def test_kernel_matrices_are_read_with_their_numbers(rows):
    kernel_matrix("part", rows)
    kernel_matrix("all", range(150))
    done("svm-train", "-q", "-t", "4", "part", "ours.model")
    theirs("svm-train", "-q", "-t", "4", "part", "theirs.model")

    assert_same_predictions("all", "ours.model", "theirs.model")


@needs_libsvm
@pytest.mark.parametrize("flags", ["-v 5", "-v 5 -t 0 -w1 3", "-v 3 -t 1", "-q -v 150"])
def test_cross_validation_is_within_the_noise_of_folds(flags):
    iris()
    mine, other = (run("svm-train", *flags.split(), "iris").stdout for run in (done, theirs))
    assert mine.startswith("Cross Validation Accuracy = ")
    assert mine.endswith("%\n")
    accuracy, expected = (float(text.split()[-1][:-1]) for text in (mine, other))
    assert accuracy == pytest.approx(expected, abs=2.1)
    assert not Path("iris.model").exists()


def test_cross_validation_weighs_classes_by_their_labels():
    found = []
    for labels in ((0, 1, 2), (5, 7, 9)):
        iris("iris", labels)
        found.append(done("svm-train", "-v", "5", f"-w{labels[1]}", "30", "iris").stdout)
    assert found[0] == found[1]


@needs_libsvm
def test_leaving_each_sample_out_has_no_noise():
    iris()
    flags = ("-v", "150", "-e", "1e-6")
    other = theirs("svm-train", "-q", *flags, "iris").stdout
    assert done("svm-train", *flags, "iris").stdout == other
    kernel_matrix("matrix", range(150))
    assert done("svm-train", "-t", "4", *flags, "matrix").stdout == other


@needs_libsvm
def test_test_samples_may_have_more_or_fewer_features_than_support_vectors():
    Path("train").write_text("1 1:1 2:0.5\n-1 1:-1 2:-0.5\n1 1:0.9\n-1 1:-0.8\n")
    Path("test").write_text("1 1:1\n-1 1:-0.1 2:-1 5:3\n-1 5:0.1\n")
    Path("narrow").write_text("-1 1:-0.5\n1 1:0.25\n")
    done("svm-train", "-q", "-g", "0.3", "train", "model")
    for test in ("test", "narrow"):
        assert_same_predictions(test, "model")


def probabilities(name):
    head, *lines = Path(name).read_text().splitlines()
    return head, np.array([line.split() for line in lines], dtype=float)


@needs_libsvm
@pytest.mark.parametrize("labels", [(0, 1, 2), (7, -3, -3), (2, 9, 4)])
def test_probabilities_of_models_of_both_are_those_of_svm_predict(labels):
    iris(labels=labels)
    theirs("svm-train", "-q", "-b", "1", "iris", "theirs.model")
    done("svm-train", "-q", "-b", "1", "iris", "ours.model")
    for model in ("theirs.model", "ours.model"):
        done("svm-predict", "-b", "1", "iris", model, "ours.out")
        theirs("svm-predict", "-b", "1", "iris", model, "theirs.out")
        (head, mine), (same, other) = probabilities("ours.out"), probabilities("theirs.out")
        assert head == same
        np.testing.assert_allclose(mine[:, 1:], other[:, 1:], atol=5e-3)
        assert np.mean(mine[:, 0] == other[:, 0]) > 0.98
    mine, other = header("ours.model"), header("theirs.model")
    for key in ("probA", "probB"):  # other folds
        assert mine[key] == pytest.approx(other[key], rel=0.5, abs=0.6)


def test_a_model_without_probabilities_has_none():
    done("svm-train", "-q", iris(), "model")
    refused = ours("svm-predict", "-b", "1", "iris", "model", "out")
    assert refused.exit_code == 1
    assert "no probability estimates" in refused.stderr


@needs_libsvm
@pytest.mark.parametrize(
    "flags",
    [
        *("-s 1 -n 0.15625", "-s 1 -n 0.3125 -t 0", "-s 1 -n 0.21875 -t 1 -d 2 -g 0.125 -r 1"),
        *("-s 2 -n 0.15625", "-s 2 -n 0.3125 -t 0 -m 1", "-s 2 -n 0.21875 -t 1 -d 2 -g 0.125 -r 1"),
    ],
)
def test_nu_and_one_class_machines_are_those_of_svm_train(flags):
    iris()
    flags = [*flags.split(), "-e", "1e-7"]
    mine = numbers(done("svm-train", *flags, "iris", "ours.model").stdout)
    other = numbers(theirs("svm-train", *flags, "iris", "theirs.model").stdout)

    for (name, value), (same, expected) in zip(mine, other, strict=True):
        assert name == same
        # of 4 features and rows that repeat, one coefficient more or less is at its bound
        counted = name == "nBSV" and "-t 0" in " ".join(flags)
        assert value == pytest.approx(expected, abs=1 if counted else 2e-5, rel=2e-5)
    mine, other = header("ours.model"), header("theirs.model")
    assert mine.pop("rho") == pytest.approx(other.pop("rho"), rel=5e-5, abs=2e-5)
    assert mine == other
    assert_same_predictions("iris", "ours.model", "theirs.model")


@needs_libsvm
@pytest.mark.parametrize("flags", ["-s 1 -n 0.125", "-s 2 -n 0.25"])
def test_cross_validation_of_nu_machines_is_within_the_noise_of_folds(flags):
    iris(labels=(1, -1, 1))
    mine, other = (
        float(text.rpartition("= ")[2].rstrip("%\n"))
        for text in (
            done("svm-train", *flags.split(), "-v", "10", "iris").stdout,
            theirs("svm-train", *flags.split(), "-v", "10", "iris").stdout.splitlines()[-1],
        )
    )
    assert mine == pytest.approx(other, abs=5)


def random_sparse(name, seed, *, density=0.3, columns=40, sign=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, columns)) * 10.0 ** rng.integers(-6, 7, size=columns)
    X[:, : columns // 2] = np.abs(X[:, : columns // 2]) * sign
    X[rng.random(X.shape) > density] = 0.0
    X[:, 3], X[:, 5] = 0.0, 2.5
    return write(name, X, rng.normal(size=60).round(3))


@needs_libsvm
@pytest.mark.parametrize(
    "flags", ["", "-l 0", "-l 0 -u 3.75", "-l -2 -u -0.5 -y 0 1", "-y -3 7.125"]
)
@pytest.mark.parametrize("seed", range(4))
def test_scaling_gives_the_bytes_of_svm_scale(flags, seed):
    random_sparse("train", seed, density=(0.05, 0.3, 0.9, 1.0)[seed])
    random_sparse("test", seed + 100, columns=44, sign=-1.0)
    flags = flags.split()

    for words in ([*flags, "-s", "ranges", "train"], ["-r", "ranges", "test"], [*flags, "test"]):
        assert_same_scaling(*words)


@needs_libsvm
def test_scaling_of_odd_files_gives_the_bytes_of_svm_scale():
    Path("zero").write_text("1 0:3 1:0.1\n2 0:1 1:4\n3 1:2\n")
    Path("zeros").write_text("1 1:0 2:0 3:1\n+2 1:0 3:-0\n-3e-2\n")
    Path("one").write_text("1 1:2 2:3")
    for name in ("zero", "zeros", "one"):
        for flags in ([], ["-l", "0"], ["-s", "ranges"]):
            assert_same_scaling(*flags, name)


@needs_libsvm
def test_ranges_that_know_more_and_fewer_features_are_used_as_svm_scale_does():
    Path("ranges").write_text("y\n0 1\n-5 5\nx\n-1 1\n2 0 4\n9 -1 1\n")
    Path("data").write_text("1 1:3 2:4 4:1\n-2 1:2 2:8\n")
    scaled = assert_same_scaling("-r", "ranges", "data")
    assert "feature index 1 appeared in file data was not seen" in scaled.stderr


# ours alone


@pytest.mark.slow
def test_the_model_goes_to_the_current_folder(folder):
    (folder / "data").mkdir()
    iris("data/iris")
    found = done("svm-train", "data/iris")
    assert found.stdout.splitlines()[-1].startswith("Total nSV = ")
    assert load_libsvm("iris.model").classes_.tolist() == [0, 1, 2]


def test_compressed_files_are_read():
    Path("iris.gz").write_bytes(gzip.compress(Path(iris()).read_bytes()))
    done("svm-train", "-q", "iris")
    done("svm-train", "-q", "iris.gz")
    assert Path("iris.model").read_bytes() == Path("iris.gz.model").read_bytes()


def test_quiet_prints_nothing_and_ignored_flags_are_named():
    iris()
    assert done("svm-train", "-q", "-h", "0", "-n", "0.1", "iris").output == ""
    assert done("svm-predict", "-q", "iris", "iris.model", "out").output == ""
    messages = done("svm-train", "-h", "0", "-p", "0.1", "iris").stderr
    assert messages == "-h is ignored\n-p is ignored\n"
    assert "label 9 of -w9 is not in iris" in done("svm-train", "-q", "-w9", "2", "iris").stderr


def test_predicting_with_models_of_separatrix(folder):
    iris()
    X, y = load_iris(return_X_y=True)
    write("plain", X, y)
    for model in (SVC(calibration="sigmoid", random_state=0), GaussianNB()):
        scaled = make_pipeline(StandardScaler(), model).fit(X, y)
        save(scaled, folder / "ours")

        line = done("svm-predict", "-b", "1", "plain", "ours", "out").stdout

        right = int((scaled.predict(X) == y).sum())
        assert f"({right}/150) (classification)" in line
        head, *rows = Path("out").read_text().splitlines()
        assert head == "labels 0 1 2"
        found = np.array([row.split() for row in rows], dtype=float)
        np.testing.assert_array_equal(found[:, 0], scaled.predict(X))
        np.testing.assert_allclose(found[:, 1:], scaled.predict_proba(X), rtol=1e-5, atol=1e-300)


def assert_refused(found, *messages):
    """One line and at most a hint."""
    assert found.exit_code == 1, found.output
    first, *hint = found.stderr.splitlines()
    assert first.startswith("Error: ")
    assert len(hint) <= 1
    assert all(line.startswith("hint: ") for line in hint)
    for message in messages:
        assert message in found.stderr
    assert found.stdout == ""


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("-s 1 -n 0", "`nu` of NuSVC must be above 0 and at most 1"),
        ("-s 2 -n 1.5", "`nu` of OneClassSVM must be above 0 and at most 1"),
        ("-s 2 -b 1", "-b 1 is not supported with -s 2"),
        ("-s 2 -w1 2", "-wi is not supported with -s 2"),
        ("-s 3", "epsilon-SVR"),
        ("-s 4", "nu-SVR"),
        ("-s 7", "unknown SVM type -s 7"),
        ("-t 5", "unknown kernel type -t 5"),
        ("-c 0", "`-c` of svm-train must be above 0"),
        ("-w1 0", "`-w1` of svm-train must be above 0"),
        ("-e -1", "`-e` of svm-train must be above 0"),
        ("-m 0", "`-m` of svm-train must be above 0"),
        ("-g -1", "must be above 0; got -1"),
        ("-t 4", "-t 4 reads"),
    ],
)
def test_what_cannot_be_trained_is_refused_by_name(words, named):
    iris()
    assert_refused(ours("svm-train", *words.split(), "iris"), named)
    assert not Path("iris.model").exists()


@pytest.mark.parametrize(
    ("command", "words", "said"),
    [
        ("svm-train", "", "got 0 file names, expected training_set_file [model_file]"),
        ("svm-train", "a b c", "got 3 file names"),
        ("svm-train", "-z 1 a", "unknown flag -z"),
        ("svm-train", "-c", "-c needs cost"),
        ("svm-train", "-c five a", "-c: got 'five', expected a number"),
        ("svm-train", "-c nan a", "expected a number"),
        ("svm-train", "-d 1_0 a", "expected an integer"),
        ("svm-train", "-d 2.5 a", "expected an integer"),
        ("svm-train", "-h 2 a", "expected 0 or 1"),
        ("svm-train", "-v 1 a", "at least 2"),
        ("svm-train", "-wx 1 a", "-wx: got 'x', expected an integer"),
        ("svm-predict", "a b", "got 2 file names"),
        ("svm-predict", "-w1 2 a b c", "unknown flag -w1"),
        ("svm-scale", "-y 1 a", "-y: got 'a', expected a number"),
        ("svm-scale", "-l", "-l needs lower"),
    ],
)
def test_wrong_flags_are_usage_errors(command, words, said):
    found = ours(command, *words.split())
    assert found.exit_code == 2
    assert said in found.stderr


HOSTILE = {
    "empty": "",
    "blank": "\n\n",
    "words": "one 1:2\n",
    "bare": "1 1:2 x\n",
    "endless": "1 1:1e999\n2 1:1\n",
    "nan": "1 1:nan\n2 1:1\n",
    "falling": "1 3:1 2:1\n2 1:1\n",
    "far": "1 2147483647:1\n-1 1:1\n",
    "one class": "1 1:2\n1 1:3\n",
    "fractions": "0.5 1:2\n1 1:3\n",
    "large labels": "1e300 1:2\n1 1:3\n",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_training_file_that_cannot_be_used_is_one_line_and_a_hint(name):
    Path(name).write_text(HOSTILE[name])
    assert_refused(ours("svm-train", name), f"Error: {name}")
    assert not Path(f"{name}.model").exists()


@pytest.mark.parametrize("name", sorted(set(HOSTILE) - {"one class", "fractions", "large labels"}))
def test_a_file_that_cannot_be_predicted_or_scaled_is_one_line(name):
    done("svm-train", "-q", iris())
    Path(name).write_text(HOSTILE[name])
    for words in (["svm-predict", name, "iris.model", "out"], ["svm-scale", name]):
        assert_refused(ours(*words), f"Error: {name}")
    assert not Path("out").exists()


@pytest.mark.parametrize(
    "words",
    [
        "svm-train nothing",
        "svm-train iris nowhere/model",
        "svm-predict nothing iris.model out",
        "svm-predict iris nothing out",
        "svm-predict iris iris out",
        "svm-predict iris iris.model nowhere/out",
        "svm-predict -b 1 iris iris.model out",
        "svm-scale nothing",
        "svm-scale -r nothing iris",
        "svm-scale -r iris iris",
        "svm-scale -s nowhere/ranges iris",
        "svm-scale -s a -r b iris",
        "svm-scale -l 1 -u 1 iris",
        "svm-scale -y 2 1 iris",
        "svm-scale -u inf iris",
    ],
)
def test_files_that_are_not_there_or_not_right_are_one_line(words):
    done("svm-train", "-q", iris())
    found = ours(*words.split())
    assert_refused(found)
    assert ".part" not in found.stderr
    assert sorted(path.name for path in Path().iterdir()) == ["iris", "iris.model"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "ranges:1: found nothing, expected x"),
        ("z\n", "ranges:1: found 'z', expected x"),
        ("x\n0\n", "ranges:2: found '0', expected 2 numbers"),
        ("x\n0 1\n1 2\n", "ranges:3: found '2', expected 2 numbers"),
        ("x\n0 1\n0 2 3\n", "ranges:3: found '0 2 3', expected an index from 1"),
        ("x\n0 1\n2147483647 2 3\n", "expected an index from 1 to"),
        ("x\n0 1\n99999999999999999999999 2 3\n", "expected an index from 1 to"),
        ("x\n0 1\n\n1 nan 3\n", "ranges:4: found 'nan 3', expected 2 numbers"),
        ("x\n0 1\n1 1_0 3\n", "ranges:3: found '1_0 3', expected 2 numbers"),
        ("y\n0 1\nx\n0 1\n", "ranges:3: found 'x', expected 2 numbers"),
        ("\xff\x00", "ranges:1: found"),
    ],
)
def test_an_invalid_scaling_file_is_one_line(text, said):
    Path("ranges").write_bytes(text.encode("latin-1"))
    hint = "hint: -r needs a file that svm-scale -s wrote"
    assert_refused(ours("svm-scale", "-r", "ranges", iris()), said, hint)


@pytest.mark.slow
def test_models_that_do_not_go_with_the_samples_are_refused(folder):
    X, y = load_iris(return_X_y=True)
    iris()
    save(SVC().fit(X[:, :2], y), folder / "narrow")
    save(SVC().fit(X, np.array(["a", "b", "c"])[y]), folder / "words")
    done("svm-train", "-q", "-t", "4", kernel_matrix("matrix", range(150)))
    texts = make_pipeline(TfidfVectorizer(), SVC()).fit(["win cash", "see you"] * 5, [1, -1] * 5)
    save(texts, "texts.model")
    for model, message in (
        ("narrow", "found 4 features, expected 2, as narrow has"),
        ("words", "the labels of words are not numbers"),
        ("matrix.model", "kernel values, expected"),
        ("texts.model", "Error: texts.model was fitted to texts"),
    ):
        assert_refused(ours("svm-predict", "iris", model, "out"), message)
    assert not Path("out").exists()


def test_help_lists_the_flags_and_h_is_one_of_them():
    flags = {"svm-train": "-wi weight", "svm-predict": "-b ", "svm-scale": "-y y_lower"}
    for name, flag in flags.items():
        assert flag in done(name, "--help").output
    assert ours("svm-train", "-h").exit_code == 2
