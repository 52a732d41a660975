"""Errors of one shape, and bodies that are read strictly or not at all."""

from __future__ import annotations

import json
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import Field
from tests.workbench.attacks import bodies
from tests.workbench.hostile import NAMES
from tests.workbench.live_server import LiveServer, Text

from separatrix.web.request_error import MAX_ECHO, RequestError
from separatrix.workbench.replies import parse_body
from separatrix.workbench.strict_model import StrictModel


class Scene(StrictModel):
    points: list[tuple[float, float, str]] = Field(max_length=3)
    count: int = Field(default=1, ge=1, le=9)
    rule: Literal["each", "pairs"] = "each"
    on: bool = False


def test_a_hundred_malformed_bodies_are_refused(server: LiveServer):
    forms = bodies()
    assert len(set(forms)) >= 100

    for body in forms:
        reply = server.post("/api/echo", body)
        assert (reply.status, reply.error["code"]) == (400, "json"), body[:80]


@pytest.mark.parametrize("body", [b"[]", b'"a"', b"1", b"true", b"null", b"[[[]]]"])
def test_json_that_is_no_object_is_refused_by_the_schema(server: LiveServer, body):
    reply = server.post("/api/echo", body)
    assert (reply.status, reply.error["code"]) == (422, "schema")
    assert "expected an object" in reply.error["message"]


def test_there_are_200_hostile_names():
    assert len(NAMES) == len(set(NAMES)) == 200
    assert all(name and "\0" not in name for name in NAMES)


def test_two_hundred_hostile_texts_come_back_equal_and_fields_are_refused(server: LiveServer):
    for name in NAMES:
        reply = server.post("/api/echo", json.dumps({"text": name}).encode())
        assert json.loads(reply.body) == {"text": name}
        reply = server.post("/api/echo", json.dumps({"text": "a", name: 1}).encode())
        assert (reply.status, reply.error["code"]) == (422, "schema")
        assert reply.body.isascii()
        assert reply.headers["content-type"] == "application/json"


LETTERS = st.text('ab"\\\n\u2028é\U0001f600{}[]')


def read_or_refused(body: bytes) -> Text | int:
    """What was read, or the status of the refusal; whatever else is raised is a bug."""
    try:
        return parse_body(body, Text)
    except RequestError as refusal:
        return refusal.status


@settings(deadline=None)
@given(st.binary(max_size=200) | st.sampled_from([b'{"text": "', b"{", b"["]))
def test_any_bytes_are_read_or_refused(body):
    found = read_or_refused(body)
    assert isinstance(found, Text) or found in (400, 422)


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from(["text", "x"]), st.floats() | LETTERS, max_size=2))
def test_what_is_read_is_what_was_sent(value):
    found = read_or_refused(json.dumps(value).encode())

    fits = list(value) == ["text"] and isinstance(value["text"], str)
    assert found == (Text(**value) if fits else found)
    assert isinstance(found, Text) == fits


def test_a_good_body_is_read_without_conversions():
    body = b'{"points": [[1, 2.5, "a"]], "count": 2, "rule": "pairs", "on": true}'
    assert parse_body(body, Scene) == Scene(
        points=[(1.0, 2.5, "a")], count=2, rule="pairs", on=True
    )


SENTENCES = {
    '{"points": [[1, 2, "a"], [1, "2", "b"]]}': "`points.1.1`: found '2', expected a valid number",
    '{"points": [[1, 2, 3]]}': "`points.0.2`: found 3, expected a valid string",
    '{"points": [[1, 2]]}': "`points.0.2`: found nothing, expected a value",
    '{"points": [], "count": 0}': "`count`: found 0, expected greater than or equal to 1",
    '{"points": [], "count": 1.0}': "`count`: found 1.0, expected a valid integer",
    '{"points": [], "count": true}': "`count`: found True, expected a valid integer",
    '{"points": [], "on": 1}': "`on`: found 1, expected a valid boolean",
    '{"points": [], "rule": "all"}': "`rule`: found 'all', expected 'each' or 'pairs'",
    '{"points": [], "sed": 1}': "`sed`: found a field of this name, expected none",
    "{}": "`points`: found nothing, expected a value",
    '{"points": [[true, 2, "a"]]}': "`points.0.0`: found True, expected a valid number",
    '{"on": 1}': "`points`: found nothing, expected a value (and 1 more)",
}


@pytest.mark.parametrize("body", SENTENCES)
def test_a_schema_error_names_the_field_the_value_and_what_was_expected(body):
    with pytest.raises(RequestError) as refused:
        parse_body(body.encode(), Scene)
    assert (refused.value.status, refused.value.code) == (422, "schema")
    assert refused.value.message == SENTENCES[body]


def test_long_values_are_shortened_in_messages():
    for body in ({"text": ["x" * 10_000]}, {"text": "a", "x" * 10_000: 1}):
        with pytest.raises(RequestError) as refused:
            parse_body(json.dumps(body).encode(), Text)
        assert "xxx..." in refused.value.message
        assert len(refused.value.message) < 3 * MAX_ECHO
