"""A Dask cluster of two worker threads that outlives the commands which use it and are killed.

python -m tests.campaigns.scheduler FILE writes where it listens into a file, and ends with its input.
"""

import sys
from pathlib import Path


def main(file):
    from distributed import LocalCluster

    options = {"n_workers": 2, "threads_per_worker": 1, "processes": False}
    with LocalCluster(
        dashboard_address=None, silence_logs=50, protocol="tcp", **options
    ) as cluster:
        Path(file).write_text(f'{{"address": "{cluster.scheduler_address}"}}')
        print("listening", flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main(sys.argv[1])
