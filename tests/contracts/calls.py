"""Models by the calls that make them, as the registry lists them."""

import separatrix
from separatrix import kernels

NAMES = {**vars(kernels), **{name: getattr(separatrix, name) for name in separatrix.__all__}}


def make(call):
    return eval(call, dict(NAMES))  # a call of the registry, such as "SVC(kernel='linear')"
