"""All campaigns by name."""

from tests.campaigns.campaign import campaign_named

NAMES = (
    *("differential", "properties", "limits", "certificates", "model-files", "readers"),
    *("kills", "faults", "stops", "threads", "workbench", "accel"),
)
CAMPAIGNS = {name: campaign_named(name) for name in NAMES}
