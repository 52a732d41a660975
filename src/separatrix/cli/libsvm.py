"""`svm-train`, `svm-predict` and `svm-scale`, with LIBSVM's flags.

Those are a dash, a letter and a value after a space; `-w1 5` has a label in the flag. click cannot
read that, so it hands on all words, and `parsed` takes them apart by the tables below.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click

from separatrix.cli.common import Command, print_message


class Kind(NamedTuple):
    """What a value must be."""

    words: str
    read: Callable[[str], Any]


class Flag(NamedTuple):
    """What follows a flag, and which option that sets."""

    option: str
    value: str  # what LIBSVM calls it; empty where nothing follows
    kind: Kind
    about: str

    @property
    def length(self) -> int:
        """Words that follow."""
        return len(self.value.split())


def _whole(word: str) -> int:
    return int(_plain(word))


def _number(word: str) -> float:
    value = float(_plain(word))
    if math.isnan(value):
        raise ValueError
    return value


def _plain(word: str) -> str:
    """The word; Python would read 1_000 too."""
    if "_" in word:
        raise ValueError
    return word


def _folds(word: str) -> int:
    if _whole(word) < 2:
        raise ValueError
    return _whole(word)


WHOLE = Kind("a whole number", _whole)
NUMBER = Kind("a number", _number)
SWITCH = Kind("0 or 1", lambda word: ("0", "1").index(word))
FOLDS = Kind("a whole number from 2 on", _folds)
FILE = Kind("the name of a file", Path)

TRAIN = {
    "-s": Flag("svm_type", "svm_type", WHOLE, "only 0, which is C-SVC (default 0)"),
    "-t": Flag(
        "kernel_type",
        "kernel_type",
        WHOLE,
        "0 linear, 1 polynomial, 2 radial basis function, 3 sigmoid, 4 precomputed (default 2)",
    ),
    "-d": Flag("degree", "degree", WHOLE, "degree in the kernel (default 3)"),
    "-g": Flag("gamma", "gamma", NUMBER, "gamma in the kernel (default 1/num_features)"),
    "-r": Flag("coef0", "coef0", NUMBER, "coef0 in the kernel (default 0)"),
    "-c": Flag("cost", "cost", NUMBER, "the parameter C (default 1)"),
    "-n": Flag("nu", "nu", NUMBER, "without effect on C-SVC"),
    "-p": Flag("epsilon", "epsilon", NUMBER, "without effect on C-SVC"),
    "-m": Flag(
        "cache",
        "cachesize",
        NUMBER,
        "MB for kernel values (default a quarter of the machine's, at most 4096)",
    ),
    "-e": Flag("tolerance", "epsilon", NUMBER, "tolerance of termination (default 0.001)"),
    "-h": Flag("shrinking", "shrinking", SWITCH, "0 or 1; without effect here"),
    "-b": Flag("probability", "probability_estimates", SWITCH, "only 0 (default 0)"),
    "-wi": Flag("weights", "weight", NUMBER, "C of class i times weight, as in -w1 5 -w-1 2"),
    "-v": Flag("folds", "n", FOLDS, "n-fold cross validation; no model is written"),
    "-q": Flag("quiet", "", SWITCH, "print nothing but the accuracy of -v"),
}
PREDICT = {
    "-b": Flag(
        "probability",
        "probability_estimates",
        SWITCH,
        "1: probabilities too, of a model that separatrix.save wrote (default 0)",
    ),
    "-q": Flag("quiet", "", SWITCH, "print nothing"),
}
SCALE = {
    "-l": Flag("lower", "lower", NUMBER, "x scaling lower limit (default -1)"),
    "-u": Flag("upper", "upper", NUMBER, "x scaling upper limit (default +1)"),
    "-y": Flag("target", "y_lower y_upper", NUMBER, "y scaling limits (default: no y scaling)"),
    "-s": Flag("save", "save_filename", FILE, "save scaling parameters to it"),
    "-r": Flag("restore", "restore_filename", FILE, "restore scaling parameters from it"),
}
WITHOUT_EFFECT = {"-h": "shrinking", "-n": "nu", "-p": "epsilon"}


def parsed(
    words: Sequence[str], flags: Mapping[str, Flag], files: str
) -> tuple[list[Path], dict[str, Any]]:
    """Names of files, and options by name: flags with their values come before the first file.

    `files` has the names that LIBSVM gives them, in brackets one that may be left out.

    >>> names, options = parsed(["-c", "10", "-w-1", "2", "a4a"], TRAIN, "training_set_file")
    >>> [name.name for name in names], options
    (['a4a'], {'cost': 10.0, 'weights': {-1: 2.0}})
    """
    options: dict[str, Any] = {}
    rest = list(words)
    while rest and rest[0].startswith("-"):
        word = rest.pop(0)
        flag = flags.get("-wi" if word.startswith("-w") else word)
        if flag is None:
            raise click.UsageError(f"unknown flag {word}; there are {' '.join(flags)}")
        if len(rest) < flag.length:
            raise click.UsageError(f"{word} needs {flag.value} after it")
        values = [_read(word, flag.kind, rest.pop(0)) for _ in range(flag.length)]
        if flag.option == "weights":
            label = _read(word, WHOLE, word[2:])
            options[flag.option] = {**options.get(flag.option, {}), label: values[0]}
        elif flag.length < 2:
            options[flag.option] = values[0] if values else True
        else:
            options[flag.option] = tuple(values)
    wanted = files.split()
    if not sum("[" not in name for name in wanted) <= len(rest) <= len(wanted):
        raise click.UsageError(f"found {len(rest)} names of files, expected {files}")
    return [Path(name) for name in rest], options


def _read(word: str, kind: Kind, value: str) -> Any:
    try:
        return kind.read(value)
    except ValueError:
        raise click.UsageError(f"{word}: found {value!r}, expected {kind.words}") from None


def _command(name: str, flags: Mapping[str, Flag], files: str) -> Callable[[Any], click.Command]:
    """A command that is handed all its words, with a help made of the table."""
    uses = [f"  {f'{word} {flag.value}'.strip()} : {flag.about}" for word, flag in flags.items()]

    def made(function: Any) -> click.Command:
        taking = click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar=files)
        return click.command(
            name,
            cls=Command,
            options_metavar="[options]",
            epilog="\b\n" + "\n".join(["Flags, before the names of files:", *uses]),
            # -h is a flag of LIBSVM's
            context_settings={"ignore_unknown_options": True, "help_option_names": ["--help"]},
        )(taking(function))

    return made


@_command("svm-train", TRAIN, "training_set_file [model_file]")
def svm_train(words: tuple[str, ...]) -> None:
    """Train an SVC as LIBSVM's svm-train does, and write its model file, or cross-validate."""
    (path, *model), options = parsed(words, TRAIN, "training_set_file [model_file]")
    quiet = options.pop("quiet", False)
    for word, option in WITHOUT_EFFECT.items():
        if options.pop(option, None) is not None:
            print_message(f"{word} has no effect here", quiet=quiet)

    from separatrix.app.libsvm.train import TrainOptions, train_file

    progress = sys.stderr.isatty() and not quiet
    done = train_file(path, model[0] if model else None, TrainOptions(progress=progress, **options))
    for note in done.notes:
        print_message(f"warning: {note}")
    if not quiet or done.model is None:
        click.echo("\n".join(done.lines))


@_command("svm-predict", PREDICT, "test_file model_file output_file")
def svm_predict(words: tuple[str, ...]) -> None:
    """Classify with a model of LIBSVM or of separatrix, and write a label a line."""
    (path, model, output), options = parsed(words, PREDICT, "test_file model_file output_file")
    quiet = options.pop("quiet", False)

    from separatrix.app.libsvm.predict import predict_file

    found = predict_file(path, model, output, probability=bool(options.get("probability")))
    if not quiet:
        click.echo(found.line)


@_command("svm-scale", SCALE, "data_filename")
def svm_scale(words: tuple[str, ...]) -> None:
    """Bring the features of a file to one range; prints the scaled file, the same bytes as LIBSVM."""
    (path,), options = parsed(words, SCALE, "data_filename")

    from separatrix.app.libsvm.scale import ScaleOptions, scale_file

    done = scale_file(path, ScaleOptions(**options), lambda text: click.echo(text, nl=False))
    for note in done.notes:
        print_message(note)
