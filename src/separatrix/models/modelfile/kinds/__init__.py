"""The closed table: every kind of model that a file may hold. No other name in a file means anything."""

from separatrix.models.modelfile.kind import Kind
from separatrix.models.modelfile.kinds import (
    around,
    features,
    gaussian,
    kernel,
    linear,
    missing,
    neighbors,
    words,
)

KINDS: dict[str, Kind] = {
    **neighbors.KINDS,
    **linear.KINDS,
    **kernel.KINDS,
    **gaussian.KINDS,
    **around.KINDS,
    **words.KINDS,
    **missing.KINDS,
    **features.KINDS,
}
