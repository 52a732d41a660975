"""Tests that are coroutines, and waiting in them."""

import asyncio
import functools

SECONDS = 600.0  # longer than anything here takes on a loaded machine


def async_test(function):
    """Run a test that is a coroutine in an event loop of its own."""

    @functools.wraps(function)
    def run(*arguments, **fixtures):
        asyncio.run(function(*arguments, **fixtures))

    return run


async def until(condition):
    async with asyncio.timeout(SECONDS):
        while not condition():
            await asyncio.sleep(0.005)
