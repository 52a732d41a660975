"""Thousands of requests that are almost right: none is answered 5xx, none makes memory grow."""

import asyncio
import json
from collections import Counter

import pytest
from tests.serving.fuzzed_requests import RequestFuzzer

TOGETHER = 16
MEGABYTE = 2**20


def fuzz(client, seed, count):
    """Statuses of `count` requests, sent several at a time."""
    fuzzer, statuses = RequestFuzzer(seed), Counter()

    async def send_all():
        for _ in range(count // TOGETHER):
            requests = [fuzzer.next() for _ in range(TOGETHER)]
            answers = await asyncio.gather(
                *(client.call(m, target, body, headers) for m, target, body, headers in requests)
            )
            for request, answer in zip(requests, answers, strict=True):
                statuses[answer.status] += 1
                assert answer.status < 500, request
                if answer.status >= 400 and request[0] != "HEAD":
                    error = json.loads(answer.body)["error"]
                    assert "\n" not in error
                    assert "Traceback" not in error

    asyncio.run(send_all())
    return statuses


def resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


@pytest.mark.slow
def test_almost_right_requests_are_answered_or_refused(client):
    statuses = fuzz(client, seed=0, count=4000)
    assert statuses[200] > 200  # some are right,
    assert statuses[422] > 200  # and others wrong in all ways
    assert {400, 404, 405, 415} <= set(statuses)


@pytest.mark.long
def test_a_hundred_thousand_requests_leave_memory_flat(client):
    fuzz(client, seed=1, count=10_000)
    before = resident_bytes()
    fuzz(client, seed=2, count=100_000)
    assert resident_bytes() - before < 20 * MEGABYTE
