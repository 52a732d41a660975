"""The first trials of every campaign; `make campaign` runs on from there."""

import pytest
from tests.campaigns.campaign import TooSlow, run_one, run_part
from tests.campaigns.registry import CAMPAIGNS
from tests.campaigns.table import BEGIN, END, PAGE, read_records, render

# The campaigns whose first trials the other tests of `make test` do not have in some form.
QUICK = (
    *("differential", "properties", "limits", "certificates", "readers", "threads"),
    *("kills", "faults", "stops"),
)
