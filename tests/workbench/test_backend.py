import asyncio
import json
import os
import signal
from contextlib import asynccontextmanager

import pytest
from tests.workbench import fake_workers

from separatrix.workbench import backend as module
from separatrix.workbench.backend import Backend
from separatrix.workbench.dispatcher import Dispatcher
from separatrix.workbench.replies import RequestError
from separatrix.workbench.settings import MEGABYTE, Settings

SECONDS = 60.0  # longer than anything here takes


@pytest.fixture
def settings(tmp_path):
    return Settings(folder=tmp_path, memory=200 * MEGABYTE)


@asynccontextmanager
async def started(settings, main=fake_workers.main):
    backend = Backend(settings, main=main)
    backend.start()
    try:
        yield backend
    finally:
        await backend.stop()


async def asked(backend, method, seconds=SECONDS, **arguments):
    return json.loads(await backend.call(f"echo.{method}", arguments, seconds=seconds))


async def refused(backend, method, seconds=SECONDS, **arguments):
    with pytest.raises(RequestError) as refusal:
        await backend.call(f"echo.{method}", arguments, seconds=seconds)
    return refusal.value


async def until(condition):
    async with asyncio.timeout(SECONDS):
        while not condition():
            await asyncio.sleep(0.005)


def test_fifty_requests_at_once_are_answered_each_with_its_own(settings):
    async def scenario():
        async with started(settings) as backend:
            wanted = [asked(backend, "echo", number=number) for number in range(50)]
            return await asyncio.gather(*wanted)

    answers = asyncio.run(scenario())

    assert [answer["number"] for answer in answers] == list(range(50))
    assert len({answer["process"] for answer in answers}) == 1


def test_whoever_goes_away_takes_no_answer_from_the_others(settings):
    async def scenario():
        async with started(settings) as backend:
            going = [asyncio.create_task(asked(backend, "echo", number=-1)) for _ in range(9)]
            await until(lambda: backend._answer is not None)
            for task in going[::2]:
                task.cancel()
            answers = [await asked(backend, "echo", number=number) for number in range(3)]
            stayed = await asyncio.gather(*going, return_exceptions=True)
            return answers, stayed

    answers, stayed = asyncio.run(scenario())

    assert [answer["number"] for answer in answers] == [0, 1, 2]
    assert [isinstance(one, asyncio.CancelledError) for one in stayed] == [True, False] * 4 + [True]


@pytest.mark.slow
def test_a_request_that_exceeds_its_time_is_ended_and_the_next_one_answered(settings):
    async def scenario():
        async with started(settings) as backend:
            before = await asked(backend, "echo")
            refusal = await refused(backend, "hang", seconds=0.2, mark="mark")
            return before, refusal, await asked(backend, "echo")

    before, refusal, after = asyncio.run(scenario())

    assert (refusal.status, refusal.code) == (408, "timeout")
    assert "0.2 seconds" in refusal.message
    assert after["process"] != before["process"]


def test_the_deadline_of_a_request_starts_when_its_service_is_loaded(settings, monkeypatch):
    events, make = [], fake_workers.Echo.__init__

    def made(service, settings):
        events.append("made")
        make(service, settings)

    monkeypatch.setattr(fake_workers.Echo, "__init__", made)
    dispatcher = Dispatcher(
        settings, lambda header, body=b"": events.append(header["kind"]), fake_workers.SERVICES
    )
    dispatcher.answer({"name": "echo.echo", "arguments": {}})

    assert events == ["made", "state", "begun", "answer"]


def test_cancelling_ends_what_runs_and_not_what_waits_in_line(settings, tmp_path):
    async def scenario():
        async with started(settings) as backend:
            nothing = backend.cancel()
            hanging = asyncio.create_task(refused(backend, "hang", mark="mark"))
            waiting = asyncio.create_task(asked(backend, "echo", number=7))
            await until((tmp_path / "mark").exists)
            return nothing, backend.cancel(), await hanging, await waiting

    nothing, something, refusal, answer = asyncio.run(scenario())

    assert (nothing, something) == (False, True)
    assert (refusal.status, refusal.code) == (409, "cancelled")
    assert answer["number"] == 7


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "status", "code"), [("SIGKILL", 413, "memory"), ("SIGSEGV", 503, "worker")]
)
def test_a_worker_that_dies_is_replaced(settings, number, status, code):
    async def scenario():
        async with started(settings) as backend:
            return await refused(backend, "die", number=number), await asked(backend, "echo")

    refusal, answer = asyncio.run(scenario())

    assert (refusal.status, refusal.code) == (status, code)
    assert answer["process"] > 0


def test_what_was_chosen_outlives_the_process(settings):
    async def scenario():
        async with started(settings) as backend:
            first = await asked(backend, "echo")
            backend.choose_data("usps")
            await refused(backend, "die", number="SIGKILL")
            return first, await asked(backend, "echo")

    first, then = asyncio.run(scenario())

    assert (first["chosen"], then["chosen"]) == (None, "usps")


def test_too_large_an_allocation_is_refused_and_the_worker_lives_on(settings):
    async def scenario():
        async with started(settings) as backend:
            fits = await asked(backend, "take", megabytes=50)
            refusal = await refused(backend, "take", megabytes=1000)
            again = await asked(backend, "take", megabytes=50)
            return fits, refusal, again

    fits, refusal, again = asyncio.run(scenario())

    assert fits == again == {"bytes": 50 * MEGABYTE}
    assert (refusal.status, refusal.code) == (413, "memory")


def test_errors_come_with_their_sentences_and_mistakes_of_ours_without(settings, capfd):
    async def scenario():
        async with started(settings) as backend:
            methods = ("refuse", "value", "fail", "nan", "secret", "__init__")
            return {method: await refused(backend, method) for method in methods}

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
        async with started(settings) as backend:
            await until(lambda: json.loads(backend.states.get("slow", b"{}")).get("done") == 3)
            first = json.loads(backend.states["slow"])["process"]
            await asked(backend, "keep", what="this")
            kept = json.loads(backend.states["echo"])
            os.kill(first, signal.SIGKILL)
            await until(lambda: json.loads(backend.states.get("slow", b"{}")).get("done") == 3)
            await until(
                lambda: json.loads(backend.states.get("slow", b"{}")).get("process", first) != first
            )
            return kept

    assert asyncio.run(scenario()) == {"kept": "this"}


@pytest.mark.slow
def test_a_worker_that_dies_at_every_start_is_given_up_for_a_while(settings, tmp_path, monkeypatch):
    async def scenario():
        async with started(settings, fake_workers.die_at_once) as backend:
            await until(lambda: len(backend._deaths) == module.DEATHS and backend._worker is None)
            refusal = await refused(backend, "echo")
            born = len(list(tmp_path.glob("*.born")))
            monkeypatch.setattr(module, "WINDOW", 0.0)
            again = await refused(backend, "echo")
            return refusal, born, again

    refusal, born, again = asyncio.run(scenario())

    assert (refusal.status, refusal.code) == (503, "worker")
    assert "3 times" in refusal.message
    assert born == module.DEATHS
    assert "exit code 7" in again.message


def test_stopping_ends_the_process_and_refuses_what_waits(settings, tmp_path):
    async def scenario():
        async with started(settings) as backend:
            process = (await asked(backend, "echo"))["process"]
            hanging = asyncio.create_task(refused(backend, "hang", mark="mark"))
            await until((tmp_path / "mark").exists)
            await backend.stop()
            return process, await hanging, await refused(backend, "echo")

    process, hanging, after = asyncio.run(scenario())

    assert hanging.status == after.status == 503
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)
