"""Blocks of requests: bit-equal answers, errors that stay with their request, the window."""

import asyncio

import numpy as np
import pytest
from sklearn.datasets import load_digits
from tests.serving.asgi_client import AsgiClient

from separatrix import MultinomialNB, save

KINDS = ["iris", "digits", "jobs"]


def requests_for(name, data, rng, count=40):
    """Requests of one to five rows; some with huge values, which must not change the others."""
    found = []
    for number in range(count):
        rows = rng.integers(0, len(data), size=rng.integers(1, 6))
        if name == "jobs":
            cells = data.iloc[rows].to_numpy().tolist()
        else:
            cells = (data[rows] * (1e5 if number % 7 == 3 else 1)).tolist()
        found.append((f"/predict?model={name}", cells))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_answers_in_a_block_are_bit_equal_to_those_alone(client, request, name):
    requests = requests_for(name, request.getfixturevalue(name)[2], np.random.default_rng(0))
    alone = [client.post(*one).body for one in requests]
    blocks = client.endpoints.metrics.own.copy()

    together = client.post_together(requests)

    assert [one.body for one in together] == alone
    done = client.endpoints.metrics.own - blocks
    count = done[client.endpoints.metrics.sizes + 11]
    assert 1 <= count < len(requests) / 2  # they were scored in few blocks


def test_the_bits_of_a_row_do_not_depend_on_its_request(client, iris):
    X = iris[2][:30]
    whole = client.post("/predict?model=iris", X.tolist()).json()["probabilities"]
    single = [
        client.post("/predict?model=iris", [row]).json()["probabilities"][0] for row in X.tolist()
    ]
    assert whole == single


def test_an_error_stays_with_its_request(folder):
    X, y = load_digits(return_X_y=True)
    path = save(MultinomialNB().fit(X, y), folder / "bayes.model")
    client = AsgiClient([("bayes", "1", path)])
    assert client.endpoints.store.find(None).model.block > 1
    good, bad = ("/predict", X[:2].tolist()), ("/predict", (-X[:2]).tolist())

    answers = client.post_together([good, bad, good, bad, good])

    assert [one.status for one in answers] == [200, 422, 200, 422, 200]
    assert "Negative values" in answers[1].json()["error"]
    assert answers[0].body == client.post(*good).body


def test_a_lone_request_does_not_wait_for_the_window(iris):
    client = AsgiClient([("iris", "1", iris[1])], window=3600.0)
    assert client.post("/predict", [[1, 2, 3, 4]]).status == 200


def test_a_request_that_was_given_up_is_left_out(iris):
    client = AsgiClient([("iris", "1", iris[1])])
    batcher = client.endpoints.store.find("iris")
    rows = np.ones((1, 4))

    async def give_one_up():
        client.endpoints.in_progress = 2
        first = asyncio.create_task(batcher.score(rows, True))
        second = asyncio.create_task(batcher.score(rows, True))
        await asyncio.sleep(0)
        first.cancel()
        return await second

    assert asyncio.run(give_one_up()).P.shape == (1, 3)
    assert not batcher.queue


def test_large_requests_are_scored_alone_in_their_own_shape(client, digits):
    model, _, X = digits
    found = client.post("/predict?model=digits", X[:500].tolist()).json()
    assert found["labels"] == model.predict(X[:500]).tolist()
