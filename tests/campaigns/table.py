"""The results of campaigns: kept in `results.json`, shown in `docs/reliability.md` and `campaigns.md`."""

import json
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from tests.campaigns.registry import CAMPAIGNS

RESULTS = Path(__file__).parent / "results.json"
DOCS = Path(__file__).parents[2] / "docs"
BEGIN, END = "<!-- results: begin -->\n", "<!-- results: end -->\n"


@dataclass
class Record:
    """What came of one part of a campaign."""

    campaign: str
    part: str
    tried: int
    failed: int
    first: int
    date: str
    failures: list[str] = field(default_factory=list)
    end: int = 0
    """One more than the largest number; workers that take turns leave gaps before it."""

    def __post_init__(self):
        self.end = max(self.end, self.first + self.tried)


def read_records():
    """All records, in the order of the campaigns."""
    records = records_of(RESULTS) if RESULTS.exists() else []
    order = list(CAMPAIGNS)
    return sorted(records, key=lambda one: order.index(one.campaign))


def next_number(campaign, part):
    """The first trial of a part that was not run yet."""
    own = (one for one in read_records() if (one.campaign, one.part) == (campaign, part))
    return max((one.end for one in own), default=0)


def number_tried(campaign, part):
    """How many trials of a part are kept."""
    own = (one for one in read_records() if (one.campaign, one.part) == (campaign, part))
    return sum(one.tried for one in own)


def extended(old, new):
    """A record with one that goes on where it ends; any other takes its place."""
    if old is None or new.first != old.end:
        return new
    tried, failed = old.tried + new.tried, old.failed + new.failed
    failures = [*old.failures, *new.failures]
    return replace(new, first=old.first, tried=tried, failed=failed, failures=failures)


def write_records(records, path):
    """Write records in JSON: of a campaign on another machine, or all that are kept."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")  # whoever reads the file finds a whole one
    part.write_text(json.dumps([asdict(one) for one in records], indent=1) + "\n")
    part.replace(path)


def records_of(path):
    """Records of such a file."""
    return [Record(**one) for one in json.loads(path.read_text())]


def keep_records(new):
    """Keep records of parts, and write the pages again."""
    records = {(one.campaign, one.part): one for one in read_records()}
    for one in new:
        if one.tried:
            key = one.campaign, one.part
            records[key] = extended(records.get(key), one)
    write_records(records.values(), RESULTS)
    write_pages()


def write_pages():
    """Put the tables of what is kept into the pages."""
    for page, render in PAGES.items():
        before, _, rest = page.read_text().partition(BEGIN)
        after = rest.partition(END)[2]
        page.write_text(before + BEGIN + render(read_records()) + END + after)


def render_campaigns(records):
    """A table of one line for each campaign."""
    lines = [
        "",
        "| campaign | tried | failed | numbers | command | date |",
        "|---|---|---|---|---|---|",
    ]
    for name, campaign in CAMPAIGNS.items():
        own = [one for one in records if one.campaign == name]
        if not own:
            lines.append(f"| {campaign.title} | not run | | | `make campaign NAME={name}` | |")
            continue
        tried, failed = sum(one.tried for one in own), sum(one.failed for one in own)
        most = max(one.end for one in own)
        first, last = min(one.first for one in own), max(one.date for one in own)
        numbers = f"{first} to {most - 1}"
        command = f"`make campaign NAME={name}`"
        lines.append(
            f"| {campaign.title} | {tried:,} | {failed} | {numbers} | {command} | {last} |"
        )
    return "\n".join(lines) + "\n\n"


def render_parts(records):
    """A table of one line for each part, and the failures that are open."""
    lines = ["", "| campaign | part | tried | failed |", "|---|---|---|---|"]
    lines += [f"| {one.campaign} | {one.part} | {one.tried:,} | {one.failed} |" for one in records]
    failures = [(one, what) for one in records for what in one.failures]
    if failures:
        lines += ["", "## Open failures", ""]
        lines += [f"- {one.campaign}, {one.part}, trial {what}" for one, what in failures]
    return "\n".join(lines) + "\n\n"


PAGES = {DOCS / "reliability.md": render_campaigns, DOCS / "campaigns.md": render_parts}
