"""Runs trials of a campaign in a process of its own and reports in lines of JSON on standard output.

python -m tests.campaigns.worker NAME PART FIRST STEP TRIALS SECONDS
"""

import json
import os
import sys
import time

from tests.campaigns.campaign import campaign_named, run_part

SLICE = 0.5  # seconds of trials between two reports


def main(name, part, first, step, trials, seconds):
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a trial prints is no report

    def report(**said):
        print(json.dumps(said), file=out, flush=True)

    campaign = campaign_named(name)
    trial = campaign.parts()[part]
    campaign.prepare()
    number, last, end = first, first + step * trials, time.monotonic() + seconds
    while number < last and time.monotonic() < end:
        report(begin=number)
        until = min(time.monotonic() + SLICE, end)
        found = run_part(trial, range(number, last, step), campaign.seconds, until)
        if not found.tried:
            break  # a list of cases is at its end
        number += step * found.tried
        report(tried=found.tried, failures=found.failures, next=number)


if __name__ == "__main__":
    name, part, *numbers = sys.argv[1:]
    main(name, part, *map(int, numbers[:-1]), float(numbers[-1]))
