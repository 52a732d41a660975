"""`svm-train`, `svm-predict` and `svm-scale`, with LIBSVM's flags.

A flag is a dash, a letter and a value after a space; `-w1 5` has a label in the flag. click cannot parse
that, so it passes all words on, and `parse_flags` parses them by the tables below.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click

from separatrix.cli.common import Command, print_message


class LibsvmFlag(NamedTuple):
    """The option that a flag sets, and its values."""

    option: str
    value: str  # LIBSVM's names of the values; empty for a switch
    type: str  # a key of TYPES
    help: str


def _integer(word: str) -> int:
    return int(_plain(word))


def _number(word: str) -> float:
    value = float(_plain(word))
    if math.isnan(value):
        raise ValueError
    return value


def _plain(word: str) -> str:
    """Reject underscores, which Python accepts in numbers."""
    if "_" in word:
        raise ValueError
    return word


def _folds(word: str) -> int:
    if _integer(word) < 2:
        raise ValueError
    return _integer(word)


INTEGER, NUMBER, SWITCH = "an integer", "a number", "0 or 1"
FOLDS, FILE = "an integer of at least 2", "a file name"
TYPES: dict[str, Callable[[str], Any]] = {
    INTEGER: _integer,
    NUMBER: _number,
    SWITCH: ("0", "1").index,
    FOLDS: _folds,
    FILE: Path,
}

TRAIN = {
    "-s": LibsvmFlag(
        "svm_type", "svm_type", INTEGER, "0 C-SVC, 1 nu-SVC, 2 one-class SVM (default 0)"
    ),
    "-t": LibsvmFlag(
        "kernel_type",
        "kernel_type",
        INTEGER,
        "0 linear, 1 polynomial, 2 radial basis function, 3 sigmoid, 4 precomputed (default 2)",
    ),
    "-d": LibsvmFlag("degree", "degree", INTEGER, "degree in the kernel (default 3)"),
    "-g": LibsvmFlag("gamma", "gamma", NUMBER, "gamma in the kernel (default 1/num_features)"),
    "-r": LibsvmFlag("coef0", "coef0", NUMBER, "coef0 in the kernel (default 0)"),
    "-c": LibsvmFlag("cost", "cost", NUMBER, "the parameter C of C-SVC (default 1)"),
    "-n": LibsvmFlag("nu", "nu", NUMBER, "nu of nu-SVC and one-class SVM (default 0.5)"),
    "-p": LibsvmFlag("epsilon", "epsilon", NUMBER, "ignored: of regression only"),
    "-m": LibsvmFlag(
        "cache",
        "cachesize",
        NUMBER,
        "cache size in MB (default a quarter of the memory, at most 4096)",
    ),
    "-e": LibsvmFlag("tolerance", "epsilon", NUMBER, "tolerance of termination (default 0.001)"),
    "-h": LibsvmFlag("shrinking", "shrinking", SWITCH, "0 or 1; ignored"),
    "-b": LibsvmFlag(
        "probability", "probability_estimates", SWITCH, "1: with Platt's probabilities (default 0)"
    ),
    "-wi": LibsvmFlag("weights", "weight", NUMBER, "C of class i times weight, as in -w1 5 -w-1 2"),
    "-v": LibsvmFlag("folds", "n", FOLDS, "n-fold cross validation; no model is written"),
    "-q": LibsvmFlag("quiet", "", SWITCH, "print nothing but the accuracy of -v"),
}
PREDICT = {
    "-b": LibsvmFlag(
        "probability",
        "probability_estimates",
        SWITCH,
        "1: probabilities too, and labels by them (default 0)",
    ),
    "-q": LibsvmFlag("quiet", "", SWITCH, "print nothing"),
}
SCALE = {
    "-l": LibsvmFlag("lower", "lower", NUMBER, "x scaling lower limit (default -1)"),
    "-u": LibsvmFlag("upper", "upper", NUMBER, "x scaling upper limit (default +1)"),
    "-y": LibsvmFlag(
        "target", "y_lower y_upper", NUMBER, "y scaling limits (default: no y scaling)"
    ),
    "-s": LibsvmFlag("save", "save_filename", FILE, "save scaling parameters to it"),
    "-r": LibsvmFlag("restore", "restore_filename", FILE, "restore scaling parameters from it"),
}
IGNORED = {"-h": "shrinking", "-p": "epsilon"}


def parse_flags(
    words: Sequence[str], flags: Mapping[str, LibsvmFlag], files: str
) -> tuple[list[Path], dict[str, Any]]:
    """Parse flags with their values, then file names; return the file names and the options.

    `files` lists LIBSVM's names of the files, optional ones in brackets.

    >>> names, options = parse_flags(["-c", "10", "-w-1", "2", "a4a"], TRAIN, "training_set_file")
    >>> [name.name for name in names], options
    (['a4a'], {'cost': 10.0, 'weights': {-1: 2.0}})
    """
    options: dict[str, Any] = {}
    rest = list(words)
    while rest and rest[0].startswith("-"):
        word = rest.pop(0)
        flag = flags.get("-wi" if word.startswith("-w") else word)
        if flag is None:
            raise click.UsageError(f"unknown flag {word}; one of {' '.join(flags)}")
        length = len(flag.value.split())
        if len(rest) < length:
            raise click.UsageError(f"{word} needs {flag.value}")
        values = [_read(word, flag.type, rest.pop(0)) for _ in range(length)]
        if flag.option == "weights":
            label = _read(word, INTEGER, word[2:])
            options[flag.option] = {**options.get(flag.option, {}), label: values[0]}
        elif length < 2:
            options[flag.option] = values[0] if values else True
        else:
            options[flag.option] = tuple(values)
    wanted = files.split()
    if not sum("[" not in name for name in wanted) <= len(rest) <= len(wanted):
        raise click.UsageError(f"got {len(rest)} file names, expected {files}")
    return [Path(name) for name in rest], options


def _read(word: str, expected: str, value: str) -> Any:
    try:
        return TYPES[expected](value)
    except ValueError:
        raise click.UsageError(f"{word}: got {value!r}, expected {expected}") from None


def _command(
    name: str, flags: Mapping[str, LibsvmFlag], files: str
) -> Callable[[Any], click.Command]:
    """Make a command that gets all its words, with a help text from the table."""
    uses = [f"  {f'{word} {flag.value}'.strip()} : {flag.help}" for word, flag in flags.items()]

    def decorate(function: Any) -> click.Command:
        argument = click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar=files)
        return click.command(
            name,
            cls=Command,
            options_metavar="[options]",
            epilog="\b\n" + "\n".join(["Flags, before the file names:", *uses]),
            # -h is a LIBSVM flag
            context_settings={"ignore_unknown_options": True, "help_option_names": ["--help"]},
        )(argument(function))

    return decorate


@_command("svm-train", TRAIN, "training_set_file [model_file]")
def svm_train(words: tuple[str, ...]) -> None:
    """Train an SVM like LIBSVM's svm-train and write a LIBSVM model file, or cross-validate."""
    (path, *model), options = parse_flags(words, TRAIN, "training_set_file [model_file]")
    quiet = options.pop("quiet", False)
    for word, option in (IGNORED if options.get("svm_type") else {**IGNORED, "-n": "nu"}).items():
        if options.pop(option, None) is not None:
            print_message(f"{word} is ignored", quiet=quiet)

    from separatrix.app.libsvm.train import TrainOptions, train_file

    progress = sys.stderr.isatty() and not quiet
    done = train_file(path, model[0] if model else None, TrainOptions(progress=progress, **options))
    for note in done.notes:
        print_message(f"warning: {note}")
    if not quiet or done.model is None:
        click.echo("\n".join(done.lines))


@_command("svm-predict", PREDICT, "test_file model_file output_file")
def svm_predict(words: tuple[str, ...]) -> None:
    """Predict with a model file of LIBSVM or separatrix; write one label per line."""
    (path, model, output), options = parse_flags(words, PREDICT, "test_file model_file output_file")
    quiet = options.pop("quiet", False)

    from separatrix.app.libsvm.predict import predict_file

    found = predict_file(path, model, output, probability=bool(options.get("probability")))
    if not quiet:
        click.echo(found.line)


@_command("svm-scale", SCALE, "data_filename")
def svm_scale(words: tuple[str, ...]) -> None:
    """Scale the features of a file to one range; prints the same bytes as LIBSVM's svm-scale."""
    (path,), options = parse_flags(words, SCALE, "data_filename")

    from separatrix.app.libsvm.scale import ScaleOptions, scale_file

    done = scale_file(path, ScaleOptions(**options), lambda text: click.echo(text, nl=False))
    for note in done.notes:
        print_message(note)
