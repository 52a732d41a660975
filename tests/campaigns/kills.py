"""R9: commands are killed with -9 at random moments, half of them inside a write, and run again."""

import zlib
from pathlib import Path

import numpy as np
from tests.campaigns.campaign import Campaign
from tests.campaigns.commands import tasks, workplace
from tests.campaigns.nursery import KILLED


def killed(name):
    """Kill this command once; its files are whole, and the same command then comes to the same result."""

    def trial(number):
        place = workplace(name)
        rng = np.random.default_rng([9, zlib.crc32(name.encode()), number])
        out, task = place.begin()
        if number % 2 == 0:
            at = int(rng.integers(place.points))
            ended = place.run(task, disturb=["kill", at, str(out)])
        else:
            ended = _at_random_moment(place, task, rng.uniform(0.0, place.seconds))
        assert ended.status == KILLED, f"exit code {ended.status}: {ended.err[-200:]}"
        place.require_whole(out)
        place.require_result(out, place.run(task))
        left = list(out.rglob("*.part"))
        assert len(left) <= (0 if name in ("run", "cluster run") else 1), left

    return trial


def _at_random_moment(place, task, after):
    while True:
        ended = place.run(task, kill_after=after)
        if ended.status == KILLED or after == 0.0:
            return ended
        after = after / 2 if after > 0.01 else 0.0  # it was done already


def parts():
    """Every command."""
    return {name: killed(name) for name in tasks(Path(), Path())}


CAMPAIGN = Campaign(
    "R9 kill -9 of run (also on a cluster), compare, tune, fit, predict and workbench jobs, every second "
    "one inside a write",
    parts,
    middle=1,
    seconds=300.0,
    quick=("fit",),
    thorough=("run", "workbench job"),
)
