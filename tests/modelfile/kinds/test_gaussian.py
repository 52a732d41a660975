"""Files of discriminants."""

from tests.modelfile.cases import BY_NAME
from tests.modelfile.hostile import refused_after


def test_a_threshold_is_between_two_classes(path):
    """The 125,973rd hostile file."""
    model, changes = BY_NAME["fisher-threshold"].fitted(), {"@.classes_": lambda a: a[:1]}
    assert refused_after(model, changes, path, slim=True) == "invariant"
