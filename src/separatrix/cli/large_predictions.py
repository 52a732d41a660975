"""Predictions of data that is not read at once: blocks of a Parquet file, and files on a cluster."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from separatrix.cli.common import print_message
from separatrix.cli.model_options import take_decision


def predict_in_blocks(fitted: Any, data: str, out: Path | None, proba: bool, quiet: bool) -> bool:
    """Predict a large Parquet file; False for all other data."""
    from separatrix.app.predict_in_blocks import BlockPredictor, takes_blocks

    if not takes_blocks(fitted, data):
        return False
    blocks = BlockPredictor(fitted, Path(data), probabilities=proba)
    if out is None:
        blocks.print_csv(sys.stdout)
    else:
        print_message(f"wrote {out}, {blocks.write(out)} rows", quiet=quiet)
    for note in blocks.notes:
        print_message(f"note: {note}", quiet=quiet)
    return True


def predict_on_cluster(
    model: Path,
    data: Path,
    out: Path | None,
    cluster: str,
    proba: bool,
    keep: tuple[str, ...],
    quiet: bool,
    file: dict[str, Any],
) -> None:
    """Predict files larger than memory on a cluster, into a folder of Parquet files."""
    from separatrix.app import predict_on_cluster as parts

    if out is None or keep:
        raise click.UsageError("--cluster needs --out FOLDER, and has no --keep")
    options: dict[str, Any] = {"decision": take_decision(file), "probabilities": proba}
    count = parts.predict_on_cluster(model, data, out, cluster, **options, **file)
    print_message(f"wrote {out}, {count} Parquet files", quiet=quiet)
