"""Run campaigns and write what came of them: `python -m tests.campaigns [NAME] [--minutes N]`.

Each part runs in processes of its own: one that dies is a failure of the campaign, not its end.
"""

import argparse
import json
import os
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime

from tests.campaigns.campaign import Outcome
from tests.campaigns.registry import CAMPAIGNS
from tests.campaigns.table import Record, keep_records, next_number

MOST_FAILURES = 20  # of a part are listed; all are counted


class PartRun:
    """One part of a campaign in one worker process after another."""

    def __init__(self, name, part, first, step, trials, seconds):
        self.name, self.part, self.first, self.step = name, part, first, step
        self.trials, self.seconds = trials, seconds
        self.tried, self.failures = 0, []

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


def run_campaign(name, only, firsts, trials, minutes, workers):
    """Run the parts of a campaign, some at a time, each for its share of the time."""
    campaign = CAMPAIGNS[name]
    parts = [part for part in campaign.parts() if only in (None, part)]
    trials = min(trials or campaign.full, campaign.full)
    copies = max(1, min(workers // len(parts), trials))  # workers of one part take turns
    seconds = 60 * minutes * min(workers, copies * len(parts)) / (copies * len(parts))
    runs = [
        PartRun(name, part, firsts[part] + turn, copies, -(-(trials - turn) // copies), seconds)
        for part in parts
        for turn in range(copies)
    ]
    waiting = list(runs)

    def work():
        while waiting:
            waiting.pop(0).run()

    threads = [threading.Thread(target=work) for _ in range(min(workers, len(runs)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    outcomes = {}
    for part in parts:
        own = [run for run in runs if run.part == part]
        failures = sorted(failure for run in own for failure in run.failures)
        outcomes[part] = Outcome(sum(run.tried for run in own), failures)
        say(f"{name} {part}: {outcomes[part].tried:,} tried, {len(failures)} failed")
        for number, what in failures[:MOST_FAILURES]:
            say(f"    {number}: {what}")
    return outcomes


def say(line):
    print(line, file=sys.stderr, flush=True)


def main():
    parser = argparse.ArgumentParser(prog="make campaign", description=__doc__)
    parser.add_argument("name", nargs="?", choices=list(CAMPAIGNS), help="all if none is named")
    parser.add_argument("--minutes", type=float, default=10.0, help="for each campaign")
    parser.add_argument("--part", help="only this part")
    parser.add_argument("--from", dest="first", type=int, default=0, help="number of a trial")
    parser.add_argument("--more", action="store_true", help="go on where the kept results end")
    parser.add_argument("--trials", type=int, help="of each part")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--dry-run", action="store_true", help="do not write docs/reliability.md")
    given = parser.parse_args()
    failed = 0
    for name in [given.name] if given.name else CAMPAIGNS:
        firsts = {
            part: next_number(name, part) if given.more else given.first
            for part in CAMPAIGNS[name].parts()
        }
        outcomes = run_campaign(
            name, given.part, firsts, given.trials, given.minutes, given.workers
        )
        failed += sum(len(outcome.failures) for outcome in outcomes.values())
        if given.dry_run:
            continue
        keep_records(
            Record(
                campaign=name,
                part=part,
                tried=outcome.tried,
                failed=len(outcome.failures),
                first=firsts[part],
                date=datetime.now(UTC).date().isoformat(),
                failures=[f"{number}: {what}" for number, what in outcome.failures[:3]],
            )
            for part, outcome in outcomes.items()
        )
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
