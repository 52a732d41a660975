"""The closed table of all kinds of models that a file may hold."""

from separatrix.modelfile.kinds import (
    gaussian,
    kernel_machines,
    linear,
    neighbors,
    preprocessing,
    tables,
    wrappers,
)
from separatrix.modelfile.schema import ModelSchema

KINDS: dict[str, ModelSchema] = {
    **neighbors.KINDS,
    **linear.KINDS,
    **kernel_machines.KINDS,
    **gaussian.KINDS,
    **wrappers.KINDS,
    **preprocessing.KINDS,
    **tables.KINDS,
}
