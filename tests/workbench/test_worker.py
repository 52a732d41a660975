import asyncio
import json
import os
import sys

import pytest

from separatrix.errors import DataError
from separatrix.web import MEGABYTE
from separatrix.workbench.worker import Worker, describe_error


def echo(channel, task):
    """Send the task, then the messages that come."""
    channel.send({"task": task}, b"raw\nbytes")
    while True:
        channel.send(channel.receive())


def allocate(channel, megabytes):
    try:
        bytearray(megabytes * MEGABYTE)
    except MemoryError:
        channel.send({"refused": megabytes})


def run(main, task, messages=(), *, count, deadline=None):
    """The first `count` messages of a worker, its exit code, and whether its deadline expired."""
    found, expired = [], []

    async def scenario():
        exited, received = asyncio.Event(), asyncio.Event()

        def on_message(header, body):
            found.append((header, body))
            if len(found) == count:
                received.set()

        def on_exit(code):
            found.append(code)
            exited.set()

        worker = Worker(main, task, memory=200 * MEGABYTE, on_message=on_message, on_exit=on_exit)
        for message in messages:
            worker.send(json.dumps(message).encode())
        if deadline is None:
            await received.wait()
            worker.kill()
        else:
            worker.set_deadline(deadline, lambda: expired.append(True))
        await exited.wait()
        await worker.join()

    asyncio.run(scenario())
    return found, expired


def test_messages_come_in_order_with_their_bodies_and_the_exit_comes_last():
    found, expired = run(echo, [1, "a"], [{"n": 1}, {"n": 2}], count=3)

    assert found == [({"task": [1, "a"]}, b"raw\nbytes"), ({"n": 1}, b""), ({"n": 2}, b""), -9]
    assert not expired


def test_a_worker_is_killed_at_its_deadline():
    found, expired = run(echo, None, count=0, deadline=0.05)

    assert found[-1] == -9
    assert expired == [True]


@pytest.mark.skipif(sys.platform != "linux", reason="memory limits need Linux")
def test_memory_beyond_the_limit_is_refused():
    found, _ = run(allocate, 2000, count=1)

    assert found[0] == ({"refused": 2000}, b"")


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (DataError("no rows"), "refused", "no rows"),
        (MemoryError(), "memory", "not enough memory"),
        (RuntimeError("can't start new thread"), "memory", "not enough memory"),
        (
            OSError(28, os.strerror(28)),
            "refused",
            f"cannot read or write a file: {os.strerror(28)}",
        ),
        (KeyError("ours"), "internal", ""),
    ],
)
def test_errors_are_described_and_bugs_are_not(error, code, message, capsys):
    found = describe_error(error)

    assert (found["code"], found["message"]) == (code, message)
    assert ("KeyError" in capsys.readouterr().err) == (code == "internal")
