"""`export`: a model file in a format that other programs run."""

from __future__ import annotations

from pathlib import Path

import click

from separatrix.cli.common import Command, json_option, print_message, quiet_option, show_json

FILE = click.Path(dir_okay=False, path_type=Path)


@click.command(cls=Command)
@click.argument("model", type=FILE)
@click.option("--onnx", "out", type=FILE, required=True, help="ONNX file to write")
@click.option(
    "--dtype",
    type=click.Choice(["float32", "float64"]),
    default="float32",
    show_default=True,
    help="Type of the samples, probabilities and scores; the arithmetic is float64",
)
@click.option("--opset", type=int, help="Version of ONNX's operators  [default: skl2onnx's latest]")
@click.option("--zipmap", is_flag=True, help="Probabilities as dicts with the labels as keys")
@quiet_option
@json_option
def export(
    model: Path,
    out: Path,
    dtype: str,
    opset: int | None,
    zipmap: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Write a saved MODEL as an ONNX file, which predicts without Python: see docs/onnx.md."""
    from separatrix.modelfile.files import load
    from separatrix.onnx.convert import to_onnx

    written = to_onnx(load(model), out, opset=opset, dtype=dtype, zipmap=zipmap)
    outputs = [output.name for output in written.graph.output]
    if as_json:
        inputs = [given.name for given in written.graph.input]
        show_json({"file": str(out), "inputs": inputs, "outputs": outputs})
        return
    print_message(f"wrote {out}: outputs {', '.join(outputs)}", quiet=quiet)
