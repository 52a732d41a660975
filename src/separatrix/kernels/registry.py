"""Every kernel of `separatrix.kernels`, by class name and by alias: the one table of kernels.

A kernel class is its own record: its fields are its parameters, and `alias` is what `kernel=` of an
estimator calls it.
"""

from __future__ import annotations

from inspect import isabstract

from separatrix import kernels
from separatrix.kernels import vector_kernels
from separatrix.kernels.base import Kernel, Precomputed
from separatrix.kernels.callables import FromCallable

KERNELS: dict[str, type[Kernel]] = {
    name: value
    for name in kernels.__all__
    if isinstance(value := getattr(kernels, name), type)
    and issubclass(value, Kernel)
    and not isabstract(value)
    and value is not FromCallable
}
"""Kernels that a model file or an experiment file can hold."""

ALIASES: dict[str, type[Kernel]] = {
    kernel.alias: kernel
    for kernel in (*vars(vector_kernels).values(), Precomputed)
    if getattr(kernel, "alias", "")
}
