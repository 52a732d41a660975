"""What is sent to the workbench that should not be, as lists: Host, Origin, bytes, paths, bodies."""

from __future__ import annotations


def _words(text: str) -> list[str]:
    return text.split()


HOSTS = ["", "localhost:{port} evil.example", "\xe9:{port}"]
HOSTS += _words("""
evil.example  evil.example:{port}  127.0.0.1.evil.example:{port}  localhost.evil.example:{port}
127.0.0.1  localhost  127.0.0.1:1  127.0.0.1:{port}0  127.0.0.1:0{port}  localhost:  127.0.0.1:+{port}
localhost.:{port}  127.0.0.1.:{port}  LOCALHOST:{port}  LocalHost:{port}  user@127.0.0.1:{port}
127.0.0.1:{port}@evil.example  127.1:{port}  2130706433:{port}  0x7f000001:{port}  0177.0.0.1:{port}
0.0.0.0:{port}  127.0.0.2:{port}  [::]:{port}  [::ffff:127.0.0.1]:{port}  ::1:{port}  [::1]
[0:0:0:0:0:0:0:1]:{port}  [::1%lo]:{port}  localhost:{port},evil.example  127.0.0.1:{port}/
http://127.0.0.1:{port}  localhost:{port}#  localhost%2e:{port}  1.0.0.127.in-addr.arpa:{port}
""")


FOREIGN = [
    {"Origin": "null"},
    {"Origin": ""},
    {"Origin": "http://evil.example"},
    {"Origin": "https://{host}"},
    {"Origin": "http://{host}/"},
    {"Origin": "http://{host}.evil.example"},
    {"Origin": "http://localhost:{port}"},
    {"Origin": "HTTP://{host}"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": ""},
    {"Sec-Fetch-Site": "Same-Origin"},
    {"Origin": "http://{host}", "Sec-Fetch-Site": "cross-site"},
]


GARBAGE = [
    b"\r\n\r\n\r\n\r\nx\r\n\r\n",
    b"GET\r\n\r\n",
    b"GET / HTTP/9.9\r\n\r\n",
    b"GET /\x00 HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET /\xc3\xa9 HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\n: x\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\nA b: x\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\x00\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\n folded: b\r\n\r\n",
    b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"a" * 100_000 + b"\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\n" + b"X: y\r\n" * 20_000 + b"\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, chunked\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
]


def escapes() -> list[str]:
    """500 ways to write a path that leads out of a folder."""
    dots = _words("""
    ..  %2e%2e  .%2e  %2e.  %252e%252e  %c0%ae%c0%ae  %e0%80%ae%e0%80%ae  %u002e%u002e  ..%00  ...  ....
    %ef%bc%8e%ef%bc%8e  %e2%80%a4%e2%80%a4  ..;  ..%20  .%00.  ..%0d%0a  ..%ff
    """)
    slashes = _words(
        r"/ %2f %5c \ %252f %255c %c0%af %e0%80%af // \/ %2f%2f ;/ %ef%bc%8f %e2%88%95"
    )
    ends = ["etc/passwd", "pyproject.toml", "app.py"]
    ups = [
        f"{dot}{slash}" * depth + end
        for dot in dots
        for slash in slashes
        for depth, end in zip((1, 2, 8), ends, strict=True)
    ]
    absolute = _words("""
    //etc/passwd /%2fetc/passwd ///etc/passwd /%5c%5cserver%5cshare /c:/windows/win.ini /C:%5cwindows
    /file:///etc/passwd /%00/etc/passwd /~/.ssh/id_rsa /.git/config /.env /.lock /proc/self/environ
    /etc/passwd%00.js /main.js%00 /main.js/ /main.js%2f /main.js/. /main.js/.. /./main.js /MAIN.JS
    /main.js%0a /main.js%20 /main.js; /main.js::$DATA /index.html/../../app.py /%6dain.js /con /nul.js
    /index.html%3f /index.html%23 /.. /. /%2e /%2e%2e /* /main.js.bak /main /__init__.py
    """)
    return [f"/{way}" for way in ups] + absolute


BASES = [
    "/static",
    "/jobs/0123456789abcdef",
    "/jobs",
    "/api/jobs/0123456789abcdef",
    "/api",
    "",
]


def targets() -> list[str]:
    """Each way out, beneath one path of ours after the other."""
    return [BASES[number % len(BASES)] + way for number, way in enumerate(escapes())]


TEXT = b'{"text": "a"}'
NUMBERS = _words("""
NaN Infinity -Infinity nan inf +1 01 1. .5 1e 1e+ 0x10 1_000 --1 1e400 -1e400 - 1e5.5 1,5 0b1 0o7
9223372036854775808 -9223372036854775809 99999999999999999999999999 True False None undefined
nul tru TRUE NULL \u0661
""")
NUMBERS += ["9" * 5000, "1" + "0" * 400, "0." + "1" * 5000, "1e" + "9" * 50]
STRINGS = [
    rf'"{text}"' for text in _words(r"\ud800 \udfff \ud800\u0041 \udc00\ud800 \x41 \u12 \u \a \0")
]
STRINGS += ["'a'", '"a', 'a"', "`a`", '"a" "b"', '"a"+"b"', '"""a"""', '"\\']
STRINGS += [f'"{chr(code)}"' for code in range(32)]
DEEP = ["[" * 100_000, '{"text":' * 100_000, "[[]," * 100_000]
DEEP += ["[" * 65 + "]" * 65, '{"text": ' * 65 + "1" + "}" * 65]
ODD = [
    '{"text": "a", "text": "a"}',
    r'{"text": "a", "\u0074ext": "b"}',
    '{"text": "a",}',
    '{"text": "a"}}',
    '{"text": "a"} {}',
    '{"text": "a"}\x00',
    '{"text" "a"}',
    '{"text": "a" "b": 1}',
    '{text: "a"}',
    "{'text': 'a'}",
    '{"text": "a" /* why */}',
    '{"text": "a"} // why',
    '{"text": ["a",]}',
    '{"text": [,"a"]}',
    '{"text":\u00a0"a"}',
    '{"text":\u2028"a"}',
    '\ufeff{"text": "a"}',
    ")]}',\n" + '{"text": "a"}',
    "text=a",
    "<text>a</text>",
    "---\ntext: a",
    "}",
    '"',
    " ",
    "\t\r\n",
]
NOT_UTF_8 = (
    b"\xff",
    b"\xc0\x80",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"\xc3",
    b"\x80",
    b"\xe9",
)


def bodies() -> list[bytes]:
    """More than 100 bodies that look like `{"text": "a"}` and are no JSON that may be read."""
    cut = [TEXT[:end] for end in range(len(TEXT))]
    values = [f'{{"text": {value}}}'.encode() for value in NUMBERS + STRINGS]
    coded = [TEXT.decode().encode(f"utf-{name}") for name in ("16", "16-le", "16-be", "32")]
    raw = [b'{"text": "' + letters + b'"}' for letters in NOT_UTF_8]
    return [*cut, *values, *(one.encode() for one in DEEP + ODD), *coded, *raw]
