"""Support vectors on a GPU: prepared once for each fitted model, and kept there between predictions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from separatrix.kernels.base import Kernel, Precomputed


class PreparedSupport(NamedTuple):
    """Support vectors prepared on a device, and for what."""

    vectors: Any  # shape: (s, d); the model's own
    kernel: Kernel
    device: Any
    tolerance: float
    whole: Any  # ByteVectors, or None
    floats: list[Any]  # one DeviceVectors, once it is needed


PREPARED: WeakKeyDictionary[Any, PreparedSupport] = WeakKeyDictionary()  # of each model


def device_support_blocks(model: Any, X: Any, device: Any) -> Iterator[Any]:
    """Blocks of kernel values of new samples with a model's support on a device, (rows, s)."""
    from separatrix.kernels.gram.device_gram import device_blocks  # torch is optional
    from separatrix.kernels.gram.device_prepared import to_device

    X = to_device(X, device)
    if isinstance(model.kernel_, Precomputed):
        yield X[:, to_device(model.support_, device)].double()
    elif not len(model.support_):
        yield X[:, :0].double()
    else:
        prepared = _prepared_for(model, X, device)
        for _, K in device_blocks(model.kernel_, X, prepared, memory=model._budget):
            yield K


def _prepared_for(model: Any, X: Any, device: Any) -> Any:
    """The model's support vectors, prepared precisely enough for samples X."""
    from separatrix.kernels.gram.device_bytes import prepare_bytes
    from separatrix.kernels.gram.device_prepared import prepare_on, to_device

    vectors, kernel, tolerance = model._vectors, model.kernel_, model._kernel_tolerance
    kept = PREPARED.get(model)
    if kept is None or kept.vectors is not vectors or kept[1:4] != (kernel, device, tolerance):
        found = prepare_bytes(kernel, to_device(vectors, device), tolerance=tolerance)
        kept = PREPARED[model] = PreparedSupport(vectors, kernel, device, tolerance, found, [])
    if kept.whole is not None and kept.whole.serves(kernel, X, tolerance):
        return kept.whole
    if not kept.floats:
        kept.floats.append(prepare_on(device, kernel, vectors, tolerance=tolerance))
    if kept.floats[0].serves(kernel, X, tolerance):
        return kept.floats[0]
    return prepare_on(device, kernel, vectors, X, tolerance=tolerance)
