import asyncio
import json
import os
import signal
from contextlib import asynccontextmanager

import pytest
from tests.workbench import rooms

from separatrix.workbench import worker as module
from separatrix.workbench.dispatcher import Dispatcher
from separatrix.workbench.replies import Refusal
from separatrix.workbench.settings import MEGABYTE, Settings
from separatrix.workbench.worker import Worker

SECONDS = 60.0  # longer than anything here takes


@pytest.fixture
def settings(tmp_path):
    return Settings(folder=tmp_path, memory=200 * MEGABYTE)


@asynccontextmanager
async def started(settings, run=rooms.main):
    worker = Worker(settings, run=run)
    worker.start()
    try:
        yield worker
    finally:
        await worker.stop()


async def asked(worker, method, seconds=SECONDS, **arguments):
    return json.loads(await worker.call(f"echo.{method}", arguments, seconds=seconds))


async def refused(worker, method, seconds=SECONDS, **arguments):
    with pytest.raises(Refusal) as refusal:
        await worker.call(f"echo.{method}", arguments, seconds=seconds)
    return refusal.value


async def until(condition):
    async with asyncio.timeout(SECONDS):
        while not condition():
            await asyncio.sleep(0.005)


def test_fifty_requests_at_once_are_answered_each_with_its_own(settings):
    async def scenario():
        async with started(settings) as worker:
            wanted = [asked(worker, "say", number=number) for number in range(50)]
            return await asyncio.gather(*wanted)

    answers = asyncio.run(scenario())

    assert [answer["number"] for answer in answers] == list(range(50))
    assert len({answer["process"] for answer in answers}) == 1


def test_whoever_goes_away_takes_no_answer_from_the_others(settings):
    async def scenario():
        async with started(settings) as worker:
            going = [asyncio.create_task(asked(worker, "say", number=-1)) for _ in range(9)]
            await until(lambda: worker._now is not None)
            for task in going[::2]:
                task.cancel()
            answers = [await asked(worker, "say", number=number) for number in range(3)]
            stayed = await asyncio.gather(*going, return_exceptions=True)
            return answers, stayed

    answers, stayed = asyncio.run(scenario())

    assert [answer["number"] for answer in answers] == [0, 1, 2]
    assert [isinstance(one, asyncio.CancelledError) for one in stayed] == [True, False] * 4 + [True]


def test_a_request_over_its_time_is_ended_and_the_next_one_answered(settings, tmp_path):
    async def scenario():
        async with started(settings) as worker:
            before = await asked(worker, "say")
            refusal = await refused(worker, "hang", seconds=0.2, mark="mark")
            return before, refusal, await asked(worker, "say")

    before, refusal, after = asyncio.run(scenario())

    assert (refusal.status, refusal.code) == (408, "timeout")
    assert "0.2 seconds" in refusal.message
    assert after["process"] != before["process"]
    assert (tmp_path / "mark").exists()


def test_the_clock_of_a_request_starts_when_its_room_is_there(settings, monkeypatch):
    events, make = [], rooms.Echo.__init__

    def made(room, settings):
        events.append("made")
        make(room, settings)

    def heard(message):
        events.append(json.loads(message.partition(b"\n")[0])["kind"])

    monkeypatch.setattr(rooms.Echo, "__init__", made)
    bench = Dispatcher(settings, heard, rooms.HOMES)
    bench.answer({"number": 1, "name": "echo.say", "arguments": {}})

    assert events == ["made", "state", "begun", "answer"]


def test_cancelling_ends_what_runs_and_not_what_waits_in_line(settings, tmp_path):
    async def scenario():
        async with started(settings) as worker:
            nothing = worker.cancel()
            hanging = asyncio.create_task(refused(worker, "hang", mark="mark"))
            waiting = asyncio.create_task(asked(worker, "say", number=7))
            await until((tmp_path / "mark").exists)
            return nothing, worker.cancel(), await hanging, await waiting

    nothing, something, refusal, answer = asyncio.run(scenario())

    assert (nothing, something) == (False, True)
    assert (refusal.status, refusal.code) == (409, "cancelled")
    assert answer["number"] == 7


@pytest.mark.parametrize(
    ("number", "status", "code"), [("SIGKILL", 413, "memory"), ("SIGSEGV", 503, "worker")]
)
def test_a_worker_that_dies_is_replaced(settings, number, status, code):
    async def scenario():
        async with started(settings) as worker:
            return await refused(worker, "die", number=number), await asked(worker, "say")

    refusal, answer = asyncio.run(scenario())

    assert (refusal.status, refusal.code) == (status, code)
    assert answer["process"] > 0


def test_what_was_chosen_outlives_the_process(settings):
    async def scenario():
        async with started(settings) as worker:
            first = await asked(worker, "say")
            worker.choose("usps")
            await refused(worker, "die", number="SIGKILL")
            return first, await asked(worker, "say")

    first, then = asyncio.run(scenario())

    assert (first["chosen"], then["chosen"]) == (None, "usps")


def test_too_large_an_allocation_is_refused_and_the_worker_lives_on(settings):
    async def scenario():
        async with started(settings) as worker:
            fits = await asked(worker, "take", megabytes=50)
            refusal = await refused(worker, "take", megabytes=1000)
            again = await asked(worker, "take", megabytes=50)
            return fits, refusal, again

    fits, refusal, again = asyncio.run(scenario())

    assert fits == again == {"bytes": 50 * MEGABYTE}
    assert (refusal.status, refusal.code) == (413, "memory")


def test_what_scikit_learn_would_load_for_nothing_is_not_there(settings):
    async def scenario():
        async with started(settings) as worker:
            return await asked(worker, "packages")

    assert asyncio.run(scenario()) == {"loaded": False, "said": "No module named 'pandas'"}


def test_errors_come_with_their_sentences_and_mistakes_of_ours_without(settings, capfd):
    async def scenario():
        async with started(settings) as worker:
            methods = ("refuse", "value", "fail", "nan", "secret", "__init__")
            return {method: await refused(worker, method) for method in methods}

    found = asyncio.run(scenario())

    refusal = found.pop("refuse")
    assert (refusal.status, refusal.message, refusal.hint) == (
        422,
        "this cannot be used",
        "use that",
    )
    assert found.pop("value").message == "k is too large"
    assert {(one.status, one.code) for one in found.values()} == {(500, "internal")}
    assert all("mistake" not in one.message for one in found.values())
    assert "a mistake of ours" in capfd.readouterr().err


def test_the_state_of_a_room_is_there_before_the_answer_and_anew_after_a_death(settings):
    async def scenario():
        async with started(settings) as worker:
            await until(lambda: json.loads(worker.told.get("slow", b"{}")).get("done") == 3)
            first = json.loads(worker.told["slow"])["process"]
            await asked(worker, "keep", what="this")
            kept = json.loads(worker.told["echo"])
            os.kill(first, signal.SIGKILL)
            await until(lambda: json.loads(worker.told.get("slow", b"{}")).get("done") == 3)
            await until(
                lambda: json.loads(worker.told.get("slow", b"{}")).get("process", first) != first
            )
            return kept

    assert asyncio.run(scenario()) == {"kept": "this"}


def test_a_worker_that_dies_at_every_start_is_given_up_for_a_while(settings, tmp_path, monkeypatch):
    async def scenario():
        async with started(settings, rooms.stillborn) as worker:
            await until(lambda: len(worker._deaths) == module.DEATHS and worker._child is None)
            refusal = await refused(worker, "say")
            born = len(list(tmp_path.glob("*.born")))
            monkeypatch.setattr(module, "WINDOW", 0.0)
            again = await refused(worker, "say")
            return refusal, born, again

    refusal, born, again = asyncio.run(scenario())

    assert (refusal.status, refusal.code) == (503, "worker")
    assert "3 times" in refusal.message
    assert born == module.DEATHS
    assert "exit code 7" in again.message


def test_a_worker_that_compiled_is_replaced_once(settings):
    async def scenario():
        async with started(settings, rooms.swollen) as worker:
            seen = set()
            while len(seen) < 2:
                seen.add((await asked(worker, "say"))["process"])
            settled = [await asked(worker, "say") for _ in range(20)]
            return seen, {answer["process"] for answer in settled}

    seen, settled = asyncio.run(scenario())

    assert len(seen) == 2
    assert len(settled) == 1


def test_stopping_ends_the_process_and_refuses_what_waits(settings, tmp_path):
    async def scenario():
        async with started(settings) as worker:
            process = (await asked(worker, "say"))["process"]
            hanging = asyncio.create_task(refused(worker, "hang", mark="mark"))
            await until((tmp_path / "mark").exists)
            await worker.stop()
            return process, await hanging, await refused(worker, "say")

    process, hanging, after = asyncio.run(scenario())

    assert hanging.status == after.status == 503
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)
