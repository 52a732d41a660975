"""Run campaigns and write what came of them: `python -m tests.campaigns [NAME] [--minutes N]`.

Each part runs in processes of its own: one that dies is a failure of the campaign, not its end. Where
there are more workers than parts, several take turns with the trials of one part. On another machine,
`NAME --more --keep FILE` writes the records into a file, and `--add FILE` here adds them to those kept.
"""

import argparse
import json
import os
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

from tests.campaigns.registry import CAMPAIGNS
from tests.campaigns.table import (
    Record,
    keep_records,
    next_number,
    number_tried,
    records_of,
    write_records,
)

MOST_FAILURES = 20  # of a part are listed; all are counted


class PartRun:
    """One part of a campaign in one worker process after another."""

    def __init__(self, name, part, first, step, trials, seconds):
        self.name, self.part, self.first, self.step = name, part, first, step
        self.trials, self.seconds = trials, seconds
        self.tried, self.failures = 0, []

    @property
    def reached(self):
        """One more than the largest number of a trial."""
        return self.first + self.step * (self.tried - 1) + 1 if self.tried else 0

    def run(self):
        """Start workers until all trials are done or the time is over."""
        self.end = time.monotonic() + self.seconds
        while self.tried < self.trials and (left := self.end - time.monotonic()) > 0:
            number = self.first + self.step * self.tried
            count = self.trials - self.tried
            arguments = [self.name, self.part, number, self.step, count, round(left, 1)]
            command = [sys.executable, "-m", "tests.campaigns.worker", *map(str, arguments)]
            begun = self._follow(command, number)
            if begun is None:
                return
            self.failures.append((begun, "the process died, or never came back"))
            self.tried = (begun - self.first) // self.step + 1

    def _follow(self, command, number):
        """Read the reports of a worker; the number it died at, or None."""
        limit = CAMPAIGNS[self.name].seconds * 5 + 300  # compiling included
        worker = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        alarm = threading.Timer(self.end - time.monotonic() + limit, worker.kill)
        alarm.daemon = True
        alarm.start()
        try:
            for line in worker.stdout:
                said = json.loads(line)
                number = said.get("begin", said.get("next", number))
                self.tried += said.get("tried", 0)
                self.failures += map(tuple, said.get("failures", []))
        finally:
            alarm.cancel()
        return number if worker.wait() else None


def part_runs(name, firsts, trials, minutes, workers):
    """The parts of a campaign, each with its share of the time, in turns where cores are left.

    `trials` is a number for each part, or for all.
    """
    if not isinstance(trials, dict):
        trials = dict.fromkeys(firsts, trials or CAMPAIGNS[name].full)
    trials = {part: min(most, CAMPAIGNS[name].full) for part, most in trials.items()}
    copies = max(1, min(workers // len(firsts), *(trials[part] for part in firsts)))
    seconds = 60 * minutes * min(workers, copies * len(firsts)) / (copies * len(firsts))
    return [
        PartRun(name, part, first + turn, copies, -(-(trials[part] - turn) // copies), seconds)
        for part, first in firsts.items()
        for turn in range(copies)
    ]


def run_campaign(name, firsts, trials, minutes, workers, keep=None):
    """Run parts of a campaign from these numbers on; the records, and also those so far in a file."""
    runs = part_runs(name, firsts, trials, minutes, workers)
    waiting = list(runs)

    def work():
        while waiting:
            waiting.pop(0).run()

    threads = [threading.Thread(target=work) for _ in range(min(workers, len(runs)))]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        threads[0].join(1.0)
        threads.append(threads.pop(0))
        if keep:
            write_records(records_of_runs(runs), keep)
    for part in firsts:
        own = [run for run in runs if run.part == part]
        failures = failures_of(own)
        say(f"{name} {part}: {sum(run.tried for run in own):,} tried, {len(failures)} failed")
        for number, what in failures[:MOST_FAILURES]:
            say(f"    {number}: {what}")
    return records_of_runs(runs)


def failures_of(runs):
    return sorted(failure for run in runs for failure in run.failures)


def records_of_runs(runs):
    """One record for each part of a campaign that has been tried."""
    records = []
    for part in dict.fromkeys(run.part for run in runs):
        own = [run for run in runs if run.part == part]
        failures = failures_of(own)
        records.append(
            Record(
                campaign=own[0].name,
                part=part,
                tried=sum(run.tried for run in own),
                failed=len(failures),
                first=own[0].first,
                date=datetime.now(UTC).date().isoformat(),
                failures=[f"{number}: {what}" for number, what in failures[:MOST_FAILURES]],
                end=max(run.reached for run in own),
            )
        )
    return [record for record in records if record.tried]


def say(line):
    print(line, file=sys.stderr, flush=True)


def main():
    parser = argparse.ArgumentParser(prog="make campaign", description=__doc__)
    parser.add_argument("name", nargs="?", choices=list(CAMPAIGNS), help="all if none is named")
    parser.add_argument("--minutes", type=float, default=10.0, help="for each campaign")
    parser.add_argument("--part", nargs="+", help="only these parts")
    parser.add_argument("--from", dest="first", type=int, default=0, help="number of a trial")
    parser.add_argument("--more", action="store_true", help="go on where the kept results end")
    parser.add_argument("--trials", type=int, help="of each part")
    parser.add_argument("--until", type=int, help="trials of each part, those kept included")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--dry-run", action="store_true", help="do not write docs/reliability.md")
    parser.add_argument("--keep", type=Path, help="a file of records, in place of the page")
    parser.add_argument("--add", type=Path, nargs="+", help="files of records; nothing is run")
    given = parser.parse_args()
    if given.add:
        for path in given.add:
            keep_records(records_of(path))
        return
    failed = 0
    for name in [given.name] if given.name else CAMPAIGNS:
        firsts = {
            part: next_number(name, part) if given.more else given.first
            for part in CAMPAIGNS[name].parts()
            if given.part is None or part in given.part
        }
        if not firsts:
            sys.exit(f"{name} has no such part; it has: {', '.join(CAMPAIGNS[name].parts())}")
        trials = given.trials
        if given.until:
            trials = {part: given.until - number_tried(name, part) for part in firsts}
            firsts = {part: first for part, first in firsts.items() if trials[part] > 0}
            if not firsts:
                continue
        records = run_campaign(name, firsts, trials, given.minutes, given.workers, given.keep)
        failed += sum(record.failed for record in records)
        if not (given.dry_run or given.keep):
            keep_records(records)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
