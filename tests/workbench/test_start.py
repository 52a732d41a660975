"""What the process of Draw and Playground imports before its first answers."""

import json
import subprocess
import sys

PROGRAM = """
import json, sys
from pathlib import Path
from separatrix.workbench.dispatcher import main
from separatrix.workbench.settings import Settings

class ClosedChannel:
    pending = staticmethod(lambda: False)

    def send(self, header, body=b""):
        pass

    def receive(self):
        raise EOFError

main(ClosedChannel(), Settings(folder=Path(sys.argv[1]), data="digits"))
print(json.dumps([name for name in ("pandas", "scipy.stats", "matplotlib") if name in sys.modules]))
"""


def test_models_load_without_pandas_and_scipy_stats(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)], capture_output=True, text=True, check=True
    )

    assert json.loads(done.stdout) == []
    assert len(list((tmp_path / "fitted").rglob("*.json"))) == 9  # all models were fitted
