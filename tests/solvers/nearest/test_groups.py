import threading

import numpy as np
import pytest

from separatrix.runtime.monitor import FitMonitor
from separatrix.solvers.nearest.groups import WORTH_A_THREAD, Search


@pytest.mark.parametrize("m", [1, 63, 64, 1000, 10_001])
@pytest.mark.parametrize("threads", [1, 3, 16])
def test_groups_hold_every_query_once_and_are_small_enough(m, threads):
    search = Search(np.empty((m, 2)), 3, np.full(m, -1), threads, FitMonitor())
    groups = []
    search.over_groups(lambda group, _: groups.append(group), 320)
    assert sorted(i for group in groups for i in range(group.start, group.stop)) == list(range(m))
    assert max(group.stop - group.start for group in groups) <= 320
    if m >= 10_000:
        assert len(groups) >= 2 * threads


def test_threads_with_little_to_do_are_not_started():
    search = Search(np.empty((1000, 2)), 3, np.full(1000, -1), 16, FitMonitor())
    used = set()
    search.over_groups(
        lambda *_: used.add(threading.get_ident()), 100, cost=1.9 * WORTH_A_THREAD / 1000
    )
    assert used == {threading.get_ident()}
