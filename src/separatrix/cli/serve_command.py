"""`separatrix serve`: models behind HTTP."""

from __future__ import annotations

from pathlib import Path

import click

from separatrix.cli.common import Command, combine_options, device_option, print_message, show_json
from separatrix.errors import MissingPackageError
from separatrix.serving.serving_options import (
    ServingOptions,
    parse_source,
    read_tokens,
    require_safe_host,
)
from separatrix.web import MEGABYTE

POSITIVE = click.IntRange(1)
SECONDS = click.FloatRange(0, 1e6, min_open=True)

limit_options = combine_options(
    click.option(
        "--max-batch",
        type=click.IntRange(1, 4096),
        default=ServingOptions.max_batch,
        show_default=True,
        help="Rows of a block; small requests are scored together. 1: each alone",
    ),
    click.option(
        "--max-rows",
        type=POSITIVE,
        default=ServingOptions.max_rows,
        show_default=True,
        help="Rows of a request",
    ),
    click.option(
        "--max-body",
        type=POSITIVE,
        default=ServingOptions.max_body // MEGABYTE,
        show_default=True,
        help="Body of a request in MB",
    ),
    click.option(
        "--timeout",
        type=SECONDS,
        default=ServingOptions.timeout,
        show_default=True,
        help="Seconds of a request; slower clients are cut",
    ),
    click.option(
        "--connections",
        type=POSITIVE,
        default=ServingOptions.connections,
        show_default=True,
        help="Open connections of a worker",
    ),
    click.option(
        "--queue",
        type=POSITIVE,
        default=ServingOptions.queue,
        show_default=True,
        help="Requests in progress in a worker; others are answered 429",
    ),
    click.option(
        "--drain",
        type=click.FloatRange(0, 3600),
        default=ServingOptions.drain,
        show_default=True,
        help="Seconds without readiness before the server stops",
    ),
)


@click.command(cls=Command)
@click.argument("models", metavar="MODEL...", nargs=-1, required=True)
@click.option("--host", default=ServingOptions.host, show_default=True, help="Address to listen on")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=ServingOptions.port,
    show_default=True,
    help="Port; 0: any free port",
)
@click.option(
    "--workers",
    type=click.IntRange(1, 64),
    default=ServingOptions.workers,
    show_default=True,
    help="Processes",
)
@click.option(
    "--token-file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="File of tokens, one per line; requests need one of them",
)
@click.option("--insecure", is_flag=True, help="Serve other machines without a token")
@limit_options
@click.option(
    "--any-signature",
    is_flag=True,
    help="Take up a changed model file of other columns or classes too",
)
@click.option("--access-log/--no-access-log", default=True, help="Log each request to stderr")
@device_option
@click.option("--json", "as_json", is_flag=True, help="Print the address as JSON")
def serve(
    models: tuple[str, ...],
    host: str,
    port: int,
    workers: int,
    token_file: Path | None,
    insecure: bool,
    max_body: int,
    as_json: bool,
    **options: object,
) -> None:
    """Serve saved models over HTTP: the Open Inference Protocol, and plain /predict.

    MODEL is PATH, NAME=PATH or NAME:VERSION=PATH of a model file. A file that changes is loaded again
    without a lost request. SIGTERM and Ctrl-C stop the server after requests in progress are answered.
    """
    try:
        from separatrix.serving.model_server import serve_models
    except ModuleNotFoundError as missing:
        error = MissingPackageError(f"{missing.name} is not installed")
        error.hint = "pip install 'separatrix[serve]'"
        raise error from None

    from separatrix.data.counts import count_of

    tokens = () if token_file is None else read_tokens(token_file)
    require_safe_host(host, tokens, insecure=insecure)
    sources = tuple(parse_source(text) for text in models)

    def announce(address: str) -> None:
        if as_json:
            show_json({"url": address})
        else:
            served = count_of(len(sources), "model")
            print_message(f"serving {served} at {address}/; stop with Ctrl-C")

    settings = ServingOptions(
        sources,
        host=host,
        port=port,
        workers=workers,
        tokens=tokens,
        max_body=max_body * MEGABYTE,
        **options,  # type: ignore[arg-type]  # click has checked them
    )
    serve_models(settings, announce)
