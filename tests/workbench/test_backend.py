import asyncio
import json
import os
import signal
from contextlib import asynccontextmanager

import pytest
from tests.workbench import fake_workers
from tests.workbench.asynchronous import SECONDS, async_test, until

from separatrix.web import MEGABYTE
from separatrix.web.request_error import RequestError
from separatrix.workbench import backend as module
from separatrix.workbench.backend import Backend
from separatrix.workbench.dispatcher import Dispatcher
from separatrix.workbench.settings import Settings


@pytest.fixture
def settings(tmp_path):
    return Settings(folder=tmp_path, memory=200 * MEGABYTE)


@asynccontextmanager
async def start(settings, main=fake_workers.main):
    backend = Backend(settings, main=main)
    backend.start()
    try:
        yield backend
    finally:
        await backend.stop()


async def call(backend, method, seconds=SECONDS, **arguments):
    return json.loads(await backend.call(f"echo.{method}", json.dumps(arguments), seconds=seconds))


async def refuse(backend, method, seconds=SECONDS, **arguments):
    with pytest.raises(RequestError) as refusal:
        await backend.call(f"echo.{method}", json.dumps(arguments), seconds=seconds)
    return refusal.value


def state_of(backend, service):
    return json.loads(backend.states.get(service, b"{}"))


@async_test
async def test_fifty_requests_at_once_get_their_own_answers_from_one_process(settings):
    async with start(settings) as backend:
        calls = [call(backend, "echo", number=number) for number in range(50)]
        answers = await asyncio.gather(*calls)

    assert [answer["number"] for answer in answers] == list(range(50))
    assert len({answer["process"] for answer in answers}) == 1


@async_test
async def test_callers_that_give_up_take_no_answer_from_the_others(settings):
    async with start(settings) as backend:
        tasks = [asyncio.create_task(call(backend, "echo", number=-1)) for _ in range(9)]
        await until(lambda: backend._answer is not None)
        for task in tasks[::2]:
            task.cancel()
        answers = [await call(backend, "echo", number=number) for number in range(3)]
        ends = await asyncio.gather(*tasks, return_exceptions=True)

    assert [answer["number"] for answer in answers] == [0, 1, 2]
    assert [isinstance(one, asyncio.CancelledError) for one in ends] == [True, False] * 4 + [True]


@pytest.mark.slow
@async_test
async def test_a_request_that_exceeds_its_time_is_ended_and_the_next_one_answered(settings):
    async with start(settings) as backend:
        before = await call(backend, "echo")
        refusal = await refuse(backend, "hang", seconds=0.2, mark="mark")
        after = await call(backend, "echo")

    assert (refusal.status, refusal.code) == (408, "timeout")
    assert "0.2 seconds" in refusal.message
    assert after["process"] != before["process"]


def test_the_deadline_of_a_request_starts_when_its_service_is_loaded(settings, monkeypatch):
    events, make = [], fake_workers.Echo.__init__

    def record_init(service, settings):
        events.append("made")
        make(service, settings)

    monkeypatch.setattr(fake_workers.Echo, "__init__", record_init)
    dispatcher = Dispatcher(
        settings, lambda header, body=b"": events.append(header["kind"]), fake_workers.SERVICES
    )
    dispatcher.answer({"name": "echo.echo", "arguments": {}})

    assert events == ["made", "state", "begun", "answer"]


def test_what_is_loaded_is_frozen_once_before_the_first_wait(settings, monkeypatch):
    """A full collection over all modules takes as long as three answers."""
    events = []
    questions = [{"name": "echo.echo", "arguments": {}}] * 2

    class Waiting:
        def pending(self):
            return False

        def receive(self):
            events.append("waits")
            if not questions:
                raise EOFError
            return questions.pop()

    monkeypatch.setattr(
        "separatrix.workbench.dispatcher.gc.freeze", lambda: events.append("freeze")
    )
    dispatcher = Dispatcher(settings, lambda header, body=b"": None, fake_workers.SERVICES)
    dispatcher.serve(Waiting())

    assert events == ["freeze", "waits", "waits", "waits"]
    assert not dispatcher.work()


@async_test
async def test_cancelling_ends_the_present_request_and_none_that_waits(settings, tmp_path):
    async with start(settings) as backend:
        assert not backend.cancel()
        hanging = asyncio.create_task(refuse(backend, "hang", mark="mark"))
        waiting = asyncio.create_task(call(backend, "echo", number=7))
        await until((tmp_path / "mark").exists)
        assert backend.cancel()
        refusal = await hanging
        assert (await waiting)["number"] == 7

    assert (refusal.status, refusal.code) == (409, "cancelled")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "status", "code"), [("SIGKILL", 413, "memory"), ("SIGSEGV", 503, "worker")]
)
@async_test
async def test_a_worker_that_dies_is_replaced(settings, number, status, code):
    async with start(settings) as backend:
        refusal = await refuse(backend, "die", number=number)
        assert (await call(backend, "echo"))["process"] > 0

    assert (refusal.status, refusal.code) == (status, code)


@async_test
async def test_a_request_that_a_dying_worker_had_not_begun_is_answered_by_the_next(settings):
    async with start(settings) as backend:
        for number in range(2):
            process = (await call(backend, "echo"))["process"]
            os.kill(process, signal.SIGKILL)  # the server does not know yet
            answer = await call(backend, "echo", number=number)
            assert answer["number"] == number
            assert answer["process"] != process


@async_test
async def test_the_chosen_data_set_outlives_the_process(settings):
    async with start(settings) as backend:
        assert (await call(backend, "echo"))["chosen"] is None
        backend.choose_data("usps")
        await refuse(backend, "die", number="SIGKILL")
        assert (await call(backend, "echo"))["chosen"] == "usps"


@async_test
async def test_too_large_an_allocation_is_refused_and_the_worker_lives_on(settings):
    async with start(settings) as backend:
        assert await call(backend, "take", megabytes=50) == {"bytes": 50 * MEGABYTE}
        refusal = await refuse(backend, "take", megabytes=1000)
        assert await call(backend, "take", megabytes=50) == {"bytes": 50 * MEGABYTE}

    assert (refusal.status, refusal.code) == (413, "memory")


@async_test
async def test_errors_come_with_their_messages_and_bugs_without(settings, capfd):
    async with start(settings) as backend:
        methods = ("refuse", "value", "fail", "nan", "secret", "__init__")
        found = {method: await refuse(backend, method) for method in methods}

    refusal = found.pop("refuse")
    assert refusal.status == 422
    assert (refusal.message, refusal.hint) == ("this cannot be used", "use that")
    assert found.pop("value").message == "k is too large"
    assert {(one.status, one.code) for one in found.values()} == {(500, "internal")}
    assert all("mistake" not in one.message for one in found.values())
    assert "a mistake of ours" in capfd.readouterr().err


@async_test
async def test_the_state_of_a_service_precedes_the_answer_and_is_new_after_a_death(settings):
    async with start(settings) as backend:
        await until(lambda: state_of(backend, "slow").get("done") == 3)
        first = state_of(backend, "slow")["process"]
        await call(backend, "keep", what="this")
        assert state_of(backend, "echo") == {"kept": "this"}
        os.kill(first, signal.SIGKILL)
        await until(lambda: state_of(backend, "slow").get("process", first) != first)
        assert json.loads(backend.former["slow"]) == {"done": 3, "process": first}
        assert json.loads(backend.former["echo"]) == {"kept": "this"}


@pytest.mark.slow
@async_test
async def test_a_worker_that_dies_at_every_start_is_given_up_for_a_while(
    settings, tmp_path, monkeypatch
):
    async with start(settings, fake_workers.die_at_once) as backend:
        await until(lambda: len(backend._deaths) == module.DEATHS and backend._worker is None)
        refusal = await refuse(backend, "echo")
        assert len(list(tmp_path.glob("*.born"))) == module.DEATHS
        monkeypatch.setattr(module, "WINDOW", 0.0)
        again = await refuse(backend, "echo")

    assert (refusal.status, refusal.code) == (503, "worker")
    assert "3 times" in refusal.message
    assert "exit code 7" in again.message


@async_test
async def test_stopping_ends_the_process_and_refuses_all_requests(settings, tmp_path):
    async with start(settings) as backend:
        process = (await call(backend, "echo"))["process"]
        hanging = asyncio.create_task(refuse(backend, "hang", mark="mark"))
        await until((tmp_path / "mark").exists)
        await backend.stop()
        assert (await hanging).status == (await refuse(backend, "echo")).status == 503

    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)
