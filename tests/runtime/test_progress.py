from concurrent.futures import ThreadPoolExecutor

import pytest

from separatrix.runtime.progress import bar, busy, listen


class Heard(list):
    """Keeps all calls."""

    def __call__(self, *step):
        self.append(step)


@pytest.mark.parametrize("show", [False, None])
def test_nested_bars_are_heard_with_their_depth_whether_drawn_or_not(show):
    heard = Heard()

    with listen(heard), bar("steps", 2, show=show) as advance:
        for name in ("first", "second"):
            with busy(name, show=show), bar("fits", None, show=show) as fitted:
                fitted()
            advance()

    assert heard == [
        ("steps", 0, 2, 0),
        ("first", 0, None, 1),
        ("fits", 0, None, 2),
        ("fits", 1, None, 2),
        ("steps", 1, 2, 0),
        ("second", 0, None, 1),
        ("fits", 0, None, 2),
        ("fits", 1, None, 2),
        ("steps", 2, 2, 0),
    ]


def test_a_bar_that_is_left_by_an_error_is_closed():
    heard = Heard()

    with listen(heard):
        with pytest.raises(ValueError, match="no"), bar("one", 1), busy("inside"):
            raise ValueError("no")
        with bar("two", 1):
            pass

    assert [step[3] for step in heard] == [0, 1, 0]


def test_bars_that_go_on_in_threads_lose_no_step():
    heard = Heard()

    with listen(heard), bar("fits", 400) as advance, ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda _: advance(), range(400)))

    assert [step[1] for step in heard] == list(range(401))


def test_no_listener_is_called_after_the_end():
    heard = Heard()

    with listen(heard):
        pass
    with bar("fits", 1) as advance:
        advance()

    assert heard == []
