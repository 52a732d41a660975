"""`PYTHONPATH=src python -m benchmarks.gpu [suite ...] [--out FILE] [--time-limit S]`: benchmarks on a GPU.

Needs torch, Triton, NumPy, SciPy, scikit-learn and numba only. Prints sections in the format of RESULTS.md,
and writes the results to FILE after each suite. A suite that fails is reported and the next one runs.
`figures` is all suites of one figure each, with its floor; `--time-limit` stops a suite that takes longer.
`--plot FILE` draws docs/gpu_scaling.svg from such a file, `--keep FILE` puts its sections into RESULTS.md;
neither needs a GPU.
"""

import argparse
import json
import signal
import sys
import time
import traceback
import warnings
from contextlib import contextmanager
from dataclasses import asdict
from importlib import import_module
from pathlib import Path

from sklearn.exceptions import ConvergenceWarning

from benchmarks.measure import Row, keep_section, section

# module of each suite, imported when the suite runs: a module that fails does not affect the others
MODULES = {
    "ceilings": "gpu_ceilings",
    "svc": "gpu_svc",
    "svccv": "gpu_svc",
    "perceptron": "gpu_perceptrons",
    "study": "gpu_perceptrons",
    "neighbors": "gpu_neighbors",
    "million": "gpu_million",
    "virtual": "gpu_virtual",
    "linear": "gpu_linear",
    "deformed": "gpu_linear",
    "digits": "gpu_digits",
    "grid": "gpu_grid",
    "softmax": "gpu_figures",
    "binary": "gpu_figures",
    "lda_host": "gpu_figures",
    "mnist1m": "gpu_figures",
    "mnist8m": "gpu_figures",
    "rows1m": "gpu_figures",
    "floor60k": "gpu_figures",
    "first": "gpu_figures",
}
# one figure each, with its floor
FIGURES = (
    *("softmax", "binary", "lda_host", "rows1m", "floor60k", "first", "grid", "neighbors"),
    *("virtual", "mnist8m"),
)


def main(arguments):
    options = parse_arguments(arguments)
    if options.plot:
        from benchmarks.gpu_million import draw

        return print(draw(json.loads(Path(options.plot).read_text())["million"]["figures"]))
    if options.keep:
        return keep_sections(json.loads(Path(options.keep).read_text()))
    warnings.simplefilter("ignore", ConvergenceWarning)
    reason = missing_gpu_reason()
    if reason:
        sys.exit(f"error: {reason}")
    results = {}
    for name in chosen_suites(options.suites):
        results[name] = run_suite(name, options.time_limit)
        print(results[name]["section"], flush=True)
        if options.out:
            Path(options.out).write_text(json.dumps(results, indent=1) + "\n")
    return 1 if any(part["failed"] for part in results.values()) else 0


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu")
    parser.add_argument("suites", nargs="*", metavar="suite", help=f"of {', '.join(MODULES)}")
    parser.add_argument("--out", metavar="FILE", help="also write all figures as JSON")
    parser.add_argument("--time-limit", type=float, metavar="S", help="seconds of a suite")
    parser.add_argument("--plot", metavar="FILE", help="draw docs/gpu_scaling.svg from a JSON file")
    parser.add_argument("--keep", metavar="FILE", help="put a JSON file's sections into RESULTS.md")
    options = parser.parse_args(arguments)
    unknown = set(options.suites) - set(MODULES) - {"figures"}
    if unknown:
        parser.error(f"no suite {sorted(unknown)}; there are {list(MODULES)}")
    return options


def chosen_suites(names):
    """The suites of these names; all without names, and `figures` for those of one figure each."""
    wanted = [part for name in names for part in (FIGURES if name == "figures" else (name,))]
    return list(dict.fromkeys(wanted)) or list(MODULES)


@contextmanager
def limited(seconds):
    """Raise TimeoutError in the main thread after so many seconds; None: never."""

    def stop(*_):
        raise TimeoutError(f"the suite took longer than {seconds:g} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds or 0.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def missing_gpu_reason():
    from separatrix.errors import DeviceError
    from separatrix.runtime.device import default_gpu

    try:
        default_gpu()
    except DeviceError as error:
        return str(error)
    return None


def run_suite(name, time_limit=None):
    """Run one suite: its section, rows and figures, or a traceback if it fails."""
    import torch

    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    start = time.perf_counter()
    suite, found = None, ([], [], {})
    failed = ""
    try:
        suite = find_suite(name)
        with limited(time_limit):
            result = suite()
        found = (*result, {}) if len(result) == 2 else result
    except Exception:
        failed = traceback.format_exc()
        print(failed, file=sys.stderr, flush=True)
    rows, notes, figures = found
    peak = max([torch.cuda.max_memory_allocated() / 2**30, *memory_peaks(figures)])
    took = time.perf_counter() - start
    rows = [*rows, Row("peak GPU memory of the suite", f"{peak:.1f} GiB", "-", "-", "-")]
    notes = [*notes, *([failed.strip()] if failed else [])]
    details = f"; {describe_gpu()}; the suite took {took:.0f} s"
    return {
        "section": section(f"gpu_{name}", suite and suite.__doc__, rows, notes, details),
        "rows": [asdict(row) for row in rows],
        "figures": figures,
        "seconds": took,
        "peak_gib": peak,
        "failed": failed,
    }


def memory_peaks(figures):
    """Memory peaks that a suite measured itself, after resetting the counter."""
    return [part["peak_gib"] for part in figures if isinstance(part, dict) and "peak_gib" in part]


def find_suite(name):
    """The function of a suite: its name, with or without the prefix `gpu_`."""
    module = import_module(f"benchmarks.{MODULES[name]}")
    return getattr(module, name, None) or getattr(module, f"gpu_{name}")


def describe_gpu():
    import torch
    import triton

    properties = torch.cuda.get_device_properties(0)
    size = properties.total_memory / 2**30
    return (
        f"{properties.name}, {size:.0f} GiB, torch {torch.__version__}, triton {triton.__version__}"
    )


def keep_sections(results):
    """Put the sections of suites that did not fail into RESULTS.md."""
    for part in results.values():
        if not part["failed"]:
            keep_section(part["section"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
