"""Without a card the tests of this folder are skipped; `make test-gpu` runs them where there is one."""

from pathlib import Path

import pytest
from tests.gpu.at_hand import why_no_card


def pytest_collection_modifyitems(items):
    own = [item for item in items if Path(__file__).parent in item.path.parents]
    if own and (reason := why_no_card()):
        for item in own:
            item.add_marker(pytest.mark.skip(reason=reason))
