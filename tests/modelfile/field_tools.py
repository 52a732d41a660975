"""A field alone: its documents, arrays and refusals."""

import numpy as np
import pytest

from separatrix.errors import ModelFileError
from separatrix.modelfile import fields as f
from separatrix.modelfile.given_code import GivenCode


def said(field, document, tensors=None, **sizes):
    """The refusal of a document, with its reason."""
    archive = f.Archive({f"at{name}": array for name, array in (tensors or {}).items()})
    archive.code = GivenCode()
    with pytest.raises(ModelFileError) as refusal:
        field.get(document, "at", archive.scope(**sizes))
    return f"{refusal.value.reason}: {refusal.value}"


def written(field, value, **more):
    """The document of a value, and its arrays by the end of their names."""
    archive = f.Archive(**more)
    document = field.put(value, "at", archive)
    return document, {name.removeprefix("at"): array for name, array in archive.tensors.items()}


def ends(*lengths):
    return np.cumsum(lengths, dtype=np.int64)


def letters(text):
    return np.frombuffer(text.encode(), np.uint8)
