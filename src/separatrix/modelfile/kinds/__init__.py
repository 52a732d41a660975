"""The closed table: every kind of model that a file may hold. No other name in a file means anything."""

from separatrix.modelfile.kinds import (
    gaussian,
    imputers,
    kernel_features,
    kernel_machines,
    linear,
    neighbors,
    text,
    wrappers,
)
from separatrix.modelfile.schema import ModelSchema

KINDS: dict[str, ModelSchema] = {
    **neighbors.KINDS,
    **linear.KINDS,
    **kernel_machines.KINDS,
    **gaussian.KINDS,
    **wrappers.KINDS,
    **text.KINDS,
    **imputers.KINDS,
    **kernel_features.KINDS,
}
