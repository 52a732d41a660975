"""Build the wheel twice and compare: `python -m tests.contracts.wheel DIST`."""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
LARGEST = 5_000_000  # bytes
BUILD = "import sys; from hatchling.build import build_wheel; build_wheel(sys.argv[1])"


def build_twice(dist):
    """The wheel in `dist`; raises if a second build differs in any byte, or if it is too large."""
    dist.mkdir(parents=True, exist_ok=True)
    wheels = []
    with tempfile.TemporaryDirectory() as folder:
        for number in ("1", "2"):
            copy, out = Path(folder) / number / "source", Path(folder) / number / "dist"
            ignored = shutil.ignore_patterns("__pycache__", "*.nbi", "*.nbc")
            shutil.copytree(ROOT / "src", copy / "src", ignore=ignored)
            for name in ("pyproject.toml", "README.md", "LICENSE"):
                shutil.copy(ROOT / name, copy)
                os.utime(copy / name, (int(number), int(number)))
            environment = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}
            subprocess.run(
                [sys.executable, "-c", BUILD, str(out)], cwd=copy, env=environment, check=True
            )
            wheels += out.glob("*.whl")
        first, second = (wheel.read_bytes() for wheel in wheels)
        if first != second:
            raise SystemExit("two builds of the wheel differ")
        if len(first) > LARGEST:
            raise SystemExit(f"the wheel has {len(first):,} bytes; the limit is {LARGEST:,}")
        return Path(shutil.copy(wheels[0], dist))


def write_checksums(dist):
    """List the files of a folder in SHA256SUMS, which a release signs."""
    files = sorted(path for path in dist.iterdir() if path.suffix in (".whl", ".gz", ".json"))
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (dist / "SHA256SUMS").write_text("".join(lines))


if __name__ == "__main__":
    made = build_twice(Path(sys.argv[1]))
    write_checksums(Path(sys.argv[1]))
    sys.stdout.write(f"{made}: {made.stat().st_size:,} bytes, the same in both builds\n")
