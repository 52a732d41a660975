"""All campaigns by name."""

from tests.campaigns import (
    certificates,
    differential,
    faults,
    kills,
    limits,
    model_files,
    properties,
    readers,
    stops,
    threads,
    workbench,
)

CAMPAIGNS = {
    "differential": differential.CAMPAIGN,
    "properties": properties.CAMPAIGN,
    "limits": limits.CAMPAIGN,
    "certificates": certificates.CAMPAIGN,
    "model-files": model_files.CAMPAIGN,
    "readers": readers.CAMPAIGN,
    "kills": kills.CAMPAIGN,
    "faults": faults.CAMPAIGN,
    "stops": stops.CAMPAIGN,
    "threads": threads.CAMPAIGN,
    "workbench": workbench.CAMPAIGN,
}
