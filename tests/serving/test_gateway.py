"""Access, limits, request ids, the log, and errors without details."""

import asyncio
import json

import numpy as np
import pytest
from tests.serving.asgi_client import AsgiClient

from separatrix.serving.endpoints import Endpoints

ROW = [[5.0, 3.0, 1.5, 0.2]]
TOKEN = "correct-horse-battery"


@pytest.fixture
def make_client(iris):
    return lambda **options: AsgiClient([("iris", "1", iris[1])], **options)


def bearer(token):
    return [("Authorization", f"Bearer {token}")]


def test_a_token_opens_all_but_pages_and_health_which_are_open(make_client):
    client = make_client(tokens=("another-long-token", TOKEN), host="0.0.0.0")
    for headers in ([], bearer("wrong"), bearer(""), bearer(TOKEN) * 2, [("Authorization", TOKEN)]):
        for path in ("/v2/models/iris", "/metrics", "/v2"):
            assert client.get(path, headers=headers).status == 401
        assert client.post("/predict", ROW, headers=headers).status == 401
    assert client.post("/predict", ROW, headers=bearer(TOKEN)).status == 200
    assert client.get("/metrics", headers=bearer("another-long-token")).status == 200
    for path in ("/", "/docs", "/v2/health/live", "/v2/health/ready", "/static/form.js"):
        assert client.get(path).status == 200


def test_a_local_server_without_token_refuses_other_hosts_and_sites(make_client):
    client = make_client()
    for headers in (
        [("Host", "evil.example")],
        [("Sec-Fetch-Site", "cross-site")],
        [("Sec-Fetch-Site", "same-site")],
    ):
        assert client.post("/predict", ROW, headers=headers).status in (403, 421)
    assert client.post("/predict", ROW, headers=[("Sec-Fetch-Site", "same-origin")]).status == 200


def test_a_body_beyond_the_limit_is_refused_before_it_is_read(make_client):
    client = make_client(max_body=1000)
    declared = client.post("/predict", headers=[("Content-Length", "1001")], chunks=[])
    trickled = client.post("/predict", chunks=[b" " * 400] * 3)
    assert declared.status == trickled.status == 413
    assert declared.headers["connection"] == "close"


@pytest.mark.parametrize("kind", ["application/xml", "text/plain", "multipart/form-data"])
def test_other_types_of_bodies_are_refused(make_client, kind):
    client = make_client()
    assert client.post("/predict", ROW, headers=[("Content-Type", kind)]).status == 415
    gzip = [("Content-Encoding", "gzip")]
    assert client.post("/predict", ROW, headers=gzip).status == 415


def test_rows_beyond_the_limit_are_refused(make_client):
    client = make_client(max_rows=3)
    assert client.post("/predict", ROW * 3).status == 200
    assert client.post("/predict", ROW * 4).status == 413
    text = b"sepal length,sepal width,petal length,petal width\n" + b"1,2,3,4\n" * 4
    assert client.post("/predict", text, headers=[("Content-Type", "text/csv")]).status == 413


def test_a_body_that_never_comes_ends_with_the_time_of_the_request(make_client):
    answer = make_client(timeout=0.05).post("/predict", chunks=[])
    assert answer.status == 408


def test_an_answer_that_takes_too_long_is_given_up(make_client, monkeypatch):
    client = make_client(timeout=0.05)
    client.endpoints.scorer.submit(lambda: __import__("time").sleep(0.5))
    answer = client.post("/predict", ROW)
    assert answer.status == 503
    assert "longer than the limit of 0.05 seconds" in answer.json()["error"]
    assert client.endpoints.in_progress == 0


def test_requests_beyond_the_queue_are_answered_429(make_client):
    client = make_client(queue=5, window=0.05, reject_delay=0.01)

    answers = client.post_together([("/predict", ROW)] * 20)

    statuses = [one.status for one in answers]
    assert statuses.count(200) == 5
    assert statuses.count(429) == 15
    refused = next(one for one in answers if one.status == 429)
    assert refused.headers["retry-after"] == "1"
    assert b"separatrix_rejected_total 15" in client.get("/metrics").body
    assert client.post("/predict", ROW).status == 200  # afterwards there is room again


def test_an_unexpected_error_is_answered_without_details(make_client, monkeypatch, capsys):
    client = make_client()

    async def break_down(self, _request):
        raise RuntimeError("secret path /home/me")

    monkeypatch.setattr("separatrix.serving.endpoints.ROUTES", [])
    monkeypatch.setattr(Endpoints, "answer", break_down)
    answer = client.get("/v2", headers=[("X-Request-Id", "mine-7")])

    assert answer.status == 500
    assert b"secret" not in answer.body
    logged = json.loads(capsys.readouterr().err)
    assert "secret path" in logged["error"]
    assert logged["id"] == "mine-7"


def test_request_ids_are_kept_if_plain_and_made_otherwise(make_client):
    client = make_client()
    kept = client.get("/v2", headers=[("X-Request-Id", "abc-123")])
    assert kept.headers["x-request-id"] == "abc-123"
    made = [client.get("/v2", headers=[("X-Request-Id", "a\tb")]), client.get("/v2")]
    ids = [one.headers["x-request-id"] for one in made]
    assert len(set(ids)) == 2
    assert "a\tb" not in ids


def test_the_log_has_one_line_of_json_a_request(make_client, capsys):
    client = make_client(access_log=True)
    client.post("/predict", ROW * 2)
    client.get("/missing\nline", headers=bearer("a-secret-token-here"))
    first, second = map(json.loads, capsys.readouterr().err.splitlines())
    assert (first["event"], first["status"], first["rows"]) == ("request", 200, 2)
    assert first["model"] == "iris:1"
    assert first["ms"] > 0
    assert second["status"] == 404
    assert "secret" not in json.dumps(second)


def test_metrics_count_requests_rows_and_blocks(make_client):
    client = make_client()
    client.post("/predict", ROW * 3)
    client.post("/predict", [])
    lines = dict(
        line.rsplit(" ", 1)
        for line in client.get("/metrics").body.decode().splitlines()
        if not line.startswith("#")
    )
    assert lines['separatrix_requests_total{status="200"}'] == "1"
    assert lines['separatrix_requests_total{status="422"}'] == "1"
    assert lines["separatrix_rows_total"] == "3"
    assert lines['separatrix_batch_rows_bucket{le="2"}'] == "0"
    assert lines['separatrix_batch_rows_bucket{le="4"}'] == "1"
    assert lines["separatrix_request_seconds_count"] == "2"
    assert lines["separatrix_queue"] == lines["separatrix_requests_in_progress"] == "0"
    assert lines['separatrix_request_seconds_bucket{le="+Inf"}'] == "2"


def test_head_has_no_body_and_other_methods_are_refused(make_client):
    client = make_client()
    assert asyncio.run(client.call("HEAD", "/v2")).body == b""
    assert asyncio.run(client.call("PUT", "/predict")).status == 405
    assert asyncio.run(client.call("GET", "/predict")).status == 405


def test_readiness_is_false_while_the_server_drains(make_client):
    client = make_client()
    assert client.get("/v2/health/ready").json()["ready"]
    client.endpoints.draining = True
    assert client.get("/v2/health/ready").status == 503
    assert client.get("/v2/models/iris/ready").status == 503
    assert client.get("/v2/health/live").status == 200
    assert client.post("/predict", np.array(ROW).tolist()).status == 200
