"""Names and versions of models, token files, and addresses that need a token."""

import pytest
from tests.cli.command import run

from separatrix.errors import DataError, ParameterError
from separatrix.serving.serving_options import parse_source, read_tokens, require_safe_host


@pytest.mark.parametrize(
    ("text", "name", "version", "path"),
    [
        ("iris.model", "iris", "1", "iris.model"),
        ("a=b=c.model", "a", "1", "b=c.model"),
        ("a:3=b.model", "a", "3", "b.model"),
        ("models/my iris.v2.model", "my-iris.v2", "1", "models/my iris.v2.model"),
        ("models/a=b.model", "a-b", "1", "models/a=b.model"),
    ],
)
def test_a_model_has_a_name_a_version_and_a_path(text, name, version, path):
    assert tuple(map(str, parse_source(text))) == (name, version, path)


@pytest.mark.parametrize("text", ["a b=c.model", "a:1 2=c.model", "=c.model", "..=c"])
def test_names_are_plain(text):
    with pytest.raises(ParameterError, match="NAME:VERSION=PATH"):
        parse_source(text)


def test_tokens_are_long_and_one_a_line(tmp_path):
    path = tmp_path / "tokens"
    path.write_text("# of the team\n0123456789abcdef\n\n fedcba9876543210 \n")
    assert read_tokens(path) == ("0123456789abcdef", "fedcba9876543210")
    for text in ("", "# only\n", "short\n", "0123456789abcdé\n"):
        path.write_text(text)
        with pytest.raises(DataError, match="16 or more"):
            read_tokens(path)


def test_another_host_needs_a_token_or_insecure():
    require_safe_host("127.0.0.1", (), insecure=False)
    require_safe_host("0.0.0.0", ("t" * 16,), insecure=False)
    require_safe_host("0.0.0.0", (), insecure=True)
    with pytest.raises(ParameterError, match=r"127\.0\.0\.1 without a token"):
        require_safe_host("0.0.0.0", (), insecure=False)


def test_the_command_refuses_an_open_port_and_a_missing_file():
    refused = run("serve", "iris.model", "--host", "0.0.0.0", code=1)
    assert "--token-file" in refused.output
    missing = run("serve", "nowhere.model", "--port", "0", code=1)
    assert "nowhere.model" in missing.output
