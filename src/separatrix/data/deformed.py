"""An endless stream of deformed digits: image number i is a function of i alone, on every device.

As in the infinite MNIST of Loosli, Canu and Bottou, a smooth random field of displacements moves and bends
the strokes of an original, and a random multiple of the length of its slopes makes them thicker or thinner.
The field is an elastic one, cubic B-splines over a coarse grid of random numbers, plus a small rotation,
stretching, shear and translation. They move images to first order, by slopes times displacements; here the
displaced pixels are looked up, between four neighbours: displacements of more than a pixel stay true. All
of it is whole numbers, and random numbers are hashes of the image's number: NumPy and torch, CPU and GPU,
give the same bytes.

Reference: Loosli, Canu and Bottou, Training Invariant Support Vector Machines Using Selective Sampling, in
Large Scale Kernel Machines, MIT Press (2007).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from separatrix.errors import DataError
from separatrix.validation import require_integer

SIDE = 28
PIXELS = SIDE * SIDE
SPACING, KNOTS = 7, 7  # pixels between random numbers of an elastic field; how many along a side
REST = 7  # random numbers beside the fields: rotation, stretching, shear, translation, thickness
NUMBERS = 2 * KNOTS * KNOTS + REST  # of an image
UNIT_BITS, UNIT = 6, 64  # of displacements and of thickness: one pixel
# strengths chosen by the error on 20,000 originals that were neither deformed nor trained on
ELASTIC, ELASTIC_BITS = 45, 27  # a field times this, in 2^-27 units: 0.8 pixels, root mean square
ROTATION = 160  # in 1/1024 of a radian: at most 9 degrees
STRETCHING = 100  # in 1/1024, also of shear: at most a tenth
TRANSLATION = 24  # at most three eighths of a pixel
THICKNESS = 48  # at most three quarters of a pixel of every edge
SLOPE = 8  # the sum of the absolute weights of a slope
WIDE = SIDE + 3  # an image with a margin of one pixel before it and two behind
BLOCK = 8192  # images made at a time
MASK = 0xFFFFFFFF


class DeformedDigits:
    """Deformed images of digits, by number; the first n are the originals.

    Image i is made from original i mod n. Give a torch device for images that are tensors there.

    Parameters
    ----------
    images
        Originals, (n, 784) or (n, 28, 28), with pixels from 0 to 255.
    labels
        Their labels, (n,).
    seed
        Another seed is another stream. At least 0.
    smooth
        Whether all images, the originals too, are `smoothed`. Smooth images to be classified likewise.
    device
        A torch device, or its name; None for NumPy.

    Examples
    --------
    >>> images = np.zeros((2, 784), np.uint8)
    >>> images[:, 200:500] = 255
    >>> stream = DeformedDigits(images, np.array([3, 8]))
    >>> stream.images(0, 5).shape, stream.labels(0, 5).tolist()
    ((5, 784), [3, 8, 3, 8, 3])
    >>> bool((stream.images(4, 5) == stream.images(2, 5)[2:]).all())
    True
    """

    def __init__(
        self, images: Any, labels: Any, *, seed: int = 0, smooth: bool = False, device: Any = None
    ) -> None:
        require_integer("DeformedDigits", "seed", seed, least=0)
        images, labels = np.asarray(images), np.asarray(labels)
        if images.size != len(images) * PIXELS or not len(images):
            raise DataError(f"digits must be images of 28 x 28 pixels; got shape {images.shape}")
        if len(labels) != len(images):
            raise DataError(f"{len(images)} images have {len(labels)} labels; give one for each")
        if images.min() < 0 or images.max() > 255 or (images != np.rint(images)).any():
            raise DataError("pixels must be whole numbers from 0 to 255; scale the images to bytes")
        flat = images.reshape(len(images), PIXELS)
        self.n_originals, self.seed, self.smooth = len(flat), seed, smooth
        self._move = _to_device(device)
        self._labels = self._move(labels) if labels.dtype.kind in "biuf" else labels
        pixels = flat.reshape(-1, SIDE, SIDE).astype(np.int16)
        self._pixels, self._edges = (
            self._move(_with_margin(part)) for part in (pixels, _edges(pixels))
        )
        self._splines = self._move(_splines().astype(np.float64))
        rows, columns = np.divmod(np.arange(PIXELS, dtype=np.int32), np.int32(SIDE))
        self._at = self._move(np.stack([columns, rows]) + np.int32(1))
        self._from_middle = self._move(np.stack([2 * columns, 2 * rows]) - np.int32(SIDE - 1))

    def labels(self, start: int, stop: int) -> Any:
        """Labels of images number start to stop, (stop - start,)."""
        return self._labels[self._move(np.arange(start, stop) % self.n_originals)]

    def images(self, start: int, stop: int) -> Any:
        """Images number start to stop, (stop - start, 784), uint8."""
        require_integer("DeformedDigits.images", "start", start, least=0)
        require_integer("DeformedDigits.images", "stop", stop, least=start + 1)
        return self.take(np.arange(start, stop))

    def take(self, numbers: Any) -> Any:
        """Images of any numbers, (n, 784), uint8, such as those of support vectors."""
        numbers = np.asarray(numbers, dtype=np.int64)
        starts = range(0, len(numbers), BLOCK)
        parts = [self._made(numbers[start : start + BLOCK]) for start in starts]
        return parts[0] if len(parts) == 1 else _concatenate(parts)

    def blocks(self, start: int, stop: int, size: int) -> Iterator[tuple[Any, Any]]:
        """Images and labels from number start to stop, at most `size` at a time."""
        for begin in range(start, stop, size):
            end = min(begin + size, stop)
            yield self.images(begin, end), self.labels(begin, end)

    def _made(self, counters: npt.NDArray[np.int64]) -> Any:
        """At most a block of images."""
        numbers = _numbers(self._move(counters), self.seed, self._move)
        numbers = numbers * (self._move(counters) >= self.n_originals)[:, None]
        positions = self._positions(numbers)
        x, y = positions[:, 0], positions[:, 1]
        corner = (y >> UNIT_BITS) * WIDE + (x >> UNIT_BITS)
        source = self._move(counters % self.n_originals)
        shares = (x & (UNIT - 1), y & (UNIT - 1))
        thicker = _within(numbers[:, -1:], THICKNESS) * _between(
            self._edges[source], corner, *shares
        )
        half = UNIT * SLOPE // 2
        made = _bytes(_between(self._pixels[source], corner, *shares) + ((thicker + half) >> 9))
        return smoothed(made) if self.smooth else made

    def _positions(self, numbers: Any) -> Any:
        """Where each pixel comes from, in units from the corner of the margin, (n, 2, 784): x and y."""
        knots, rest = numbers[:, :-REST], numbers[:, -REST:]
        m = len(numbers)
        fields = _whole(_floats(knots).reshape(2 * m, -1) @ self._splines).reshape(m, 2, PIXELS)
        turn = _within(rest[:, 0], ROTATION)
        wider, higher, shear = (_within(rest[:, j], STRETCHING) for j in (1, 2, 3))
        x, y = self._from_middle
        linear = [
            wider[:, None] * x + (shear - turn)[:, None] * y,
            (shear + turn)[:, None] * x + higher[:, None] * y,
        ]
        moved = (fields * ELASTIC) >> ELASTIC_BITS
        for axis in (0, 1):
            moved[:, axis] += linear[axis] >> 5
        moved += _within(rest[:, 4:6], TRANSLATION)[:, :, None]
        return (UNIT * self._at + moved).clip(0, UNIT * (SIDE + 1))


def smoothed(images: Any) -> Any:
    """Images, (n, 784) bytes, by means of 3 x 3 pixels with weights 1, 2, 1 along rows and columns.

    >>> image = np.zeros((1, 784), np.uint8)
    >>> image[0, 29] = 160
    >>> smoothed(image).reshape(28, 28)[:3, :3].tolist()
    [[10, 20, 10], [20, 40, 20], [10, 20, 10]]
    """
    sums = _whole(images).reshape(-1, SIDE, SIDE)
    for axis in (1, 2):
        ahead, behind = (
            tuple(slice(None) if other != axis else part for other in range(3))
            for part in (slice(1, None), slice(None, -1))
        )
        both = 2 * sums
        both[ahead] += sums[behind]
        both[behind] += sums[ahead]
        sums = both
    return _bytes((sums + 8) >> 4).reshape(len(images), PIXELS)


def _between(images: Any, corner: Any, right: Any, below: Any) -> Any:
    """Values of images with a margin between four pixels, rounded: bilinear, by shares of a unit."""
    value = 0
    for step, share in (
        (0, (UNIT - right) * (UNIT - below)),
        (1, right * (UNIT - below)),
        (WIDE, (UNIT - right) * below),
        (WIDE + 1, right * below),
    ):
        value = value + share * _taken(images, corner + step)
    return (value + UNIT * UNIT // 2) >> (2 * UNIT_BITS)


def _with_margin(images: Any) -> Any:
    """Images, (n, 28, 28), with a margin of zeros, (n, 31 x 31)."""
    return np.pad(images, ((0, 0), (1, 2), (1, 2))).reshape(len(images), WIDE * WIDE)


def _edges(images: npt.NDArray[np.int16]) -> Any:
    """Lengths of the slopes along columns and along rows, in eighths, rounded down."""
    P = np.pad(images.astype(np.int32), ((0, 0), (1, 1), (1, 1)))
    apart = P[:, :, 2:] - P[:, :, :-2]
    along = apart[:, :-2] + 2 * apart[:, 1:-1] + apart[:, 2:]
    apart = P[:, 2:] - P[:, :-2]
    down = apart[:, :, :-2] + 2 * apart[:, :, 1:-1] + apart[:, :, 2:]
    return np.floor(np.sqrt(along.astype(np.float64) ** 2 + down**2)).astype(np.int16)


def _splines() -> npt.NDArray[np.int64]:
    """Weight of each random number of a field at each pixel, (49, 784): whole numbers, the sum 2058^2."""
    B = np.zeros((KNOTS, SIDE), np.int64)
    for pixel in range(SIDE):
        base, k = divmod(pixel, SPACING)
        r = SPACING - k
        s = SPACING**3
        B[base : base + 4, pixel] = (
            r**3,
            3 * k**3 - 6 * SPACING * k**2 + 4 * s,
            3 * r**3 - 6 * SPACING * r**2 + 4 * s,
            k**3,
        )
    return np.kron(B, B)


def _numbers(counters: Any, seed: int, move: Any) -> Any:
    """Random whole numbers of each image, (n, NUMBERS), from -128 to 127: hashes of their positions."""
    indices = move(np.arange(NUMBERS, dtype=np.int64))
    low = _hash((counters & MASK) ^ (_hash_number(seed) & MASK))
    high = _hash(low ^ ((counters >> 32) & MASK))
    return (_hash((high[:, None] + indices * 0x9E3779B9) & MASK) >> 24) - 128


def _hash(x: Any) -> Any:
    """A number below 2^32 as another one, by xor, shifts and products of 32 bits.

    Wellons, Prospecting for Hash Functions (2018). Products wrap in 64 bits, of which the lower 32 count.
    """
    x = ((x ^ (x >> 16)) * 0x7FEB352D) & MASK
    x = ((x ^ (x >> 15)) * 0x846CA68B) & MASK
    return x ^ (x >> 16)


def _hash_number(x: int) -> int:
    return int(_hash(np.array([(x & MASK) ^ (x >> 32 & MASK)], np.int64))[0])


def _within(numbers: Any, most: int) -> Any:
    """Numbers from -128 to 127 as whole numbers of at most `most`."""
    return (numbers * most) >> 7


def _to_device(device: Any) -> Any:
    """A function that makes an array one of the device: itself, or a tensor."""
    if device is None:
        return lambda array: array
    import torch

    return lambda array: torch.as_tensor(array, device=device)


def _floats(values: Any) -> Any:
    """Whole numbers in float64, in which sums of products below 2^53 are exact in any order."""
    return values.astype(np.float64) if isinstance(values, np.ndarray) else values.double()


def _whole(values: Any) -> Any:
    return values.astype(np.int64) if isinstance(values, np.ndarray) else values.long()


def _taken(images: Any, pixels: Any) -> Any:
    """Values of pixels by number, of each image its own."""
    if isinstance(images, np.ndarray):
        return np.take_along_axis(images, pixels, axis=1).astype(np.int64)
    return images.gather(1, pixels).long()


def _bytes(values: Any) -> Any:
    values = values.clip(0, 255)
    if isinstance(values, np.ndarray):
        return values.astype(np.uint8)
    import torch

    return values.to(torch.uint8)


def _concatenate(parts: list[Any]) -> Any:
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    import torch

    return torch.cat(parts)
