"""All campaigns by name."""

from tests.campaigns import (
    certificates,
    differential,
    limits,
    model_files,
    properties,
    readers,
    threads,
)

CAMPAIGNS = {
    "differential": differential.CAMPAIGN,
    "properties": properties.CAMPAIGN,
    "limits": limits.CAMPAIGN,
    "certificates": certificates.CAMPAIGN,
    "model-files": model_files.CAMPAIGN,
    "readers": readers.CAMPAIGN,
    "threads": threads.CAMPAIGN,
}
