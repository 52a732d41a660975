"""Commands in this process."""

import inspect
import json

from click.testing import CliRunner

from separatrix.cli import main


def runner():
    """A runner that keeps stderr apart; click 8.1 does so only if it is asked."""
    asks = "mix_stderr" in inspect.signature(CliRunner).parameters
    return CliRunner(mix_stderr=False) if asks else CliRunner()


def run(*words, code=0):
    """Run a command that must end with this exit code."""
    done = runner().invoke(main, [str(word) for word in words])
    assert done.exit_code == code, (done.output, done.exception)
    return done


def run_json(*words):
    """The JSON that a command prints; Infinity and NaN are not JSON."""
    return json.loads(run(*words, "--json").stdout, parse_constant=_refuse)


def _refuse(name):
    raise ValueError(name)
