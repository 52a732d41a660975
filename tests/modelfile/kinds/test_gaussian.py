"""Files of discriminants."""

from tests.modelfile.cases import BY_NAME
from tests.modelfile.hostile import refused

from separatrix import (
    save,
)
from separatrix.modelfile.container import read_container


def test_a_threshold_is_between_two_classes(path):
    """The 125,973rd hostile file."""
    contents = read_container(
        save(BY_NAME["fisher-threshold"].fitted(), path, slim=True), versions=lambda _: None
    )
    document, tensors = contents.document, dict(contents.tensors)
    tensors["model.classes_"] = tensors["model.classes_"][:1]
    assert refused(document, tensors, path) == "invariant"
