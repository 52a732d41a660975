"""Arrays whose type and shape a header states: checked against the limits, then read.

Memory is allocated for bytes that were read, not for sizes in a header.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from separatrix.data.streams import ByteSource


def read_array(
    source: ByteSource, dtype: np.dtype[Any], shape: tuple[int, ...], order: Literal["C", "F"] = "C"
) -> npt.NDArray[Any]:
    """The rest of the source as an array in native byte order and row-major."""
    count = math.prod(shape)
    sizes = {"rows": (*shape, 1)[0], "columns": math.prod(shape[1:]), "values": count}
    for name, size in sizes.items():
        source.require_limit(name, size, found=f"an array of {by(shape)}: {size:,} {name}")
    wanted = count * dtype.itemsize
    content = source.read_up_to(wanted + 1)
    if len(content) != wanted:
        more = "more" if len(content) > wanted else f"{len(content):,}"
        raise source.error(
            found=f"{more} bytes of values",
            expected=f"{wanted:,} for an array of {by(shape)}",
            hint="the file is truncated or damaged: download it again",
        )
    values: npt.NDArray[Any] = np.ndarray(shape, dtype, buffer=content, order=order)
    return np.ascontiguousarray(values, dtype.newbyteorder("="))


def as_samples(values: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], tuple[int, int] | None]:
    """One row for each sample, and rows and columns of an image if samples are images."""
    image = (values.shape[1], values.shape[2]) if values.ndim == 3 else None
    return values.reshape(len(values), math.prod(values.shape[1:])), image


def by(shape: tuple[int, ...]) -> str:
    """A shape in words.

    >>> by((60_000, 28, 28))
    '60,000 x 28 x 28'
    """
    return " x ".join(f"{size:,}" for size in shape)
