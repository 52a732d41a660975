"""Dates and times in the cells of a table: one format for a column, seconds since 1970."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from separatrix.types import Vector

_DAYS = (
    *("%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%Y/%m/%d", "%d-%m-%Y", "%d-%b-%Y"),
    *("%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%d.%m.%y", "%m/%d/%y", "%d/%m/%y"),
    *("%d-%m-%y", "%d-%b-%y", "%Y.%m.%d", "%d%b%Y"),
)
_TIMES = ("%H:%M:%S", "%H:%M")
_HALF_DAYS = ("%I:%M:%S %p", "%I:%M %p")  # of twelve hours
FORMATS = (
    *_DAYS,
    *(f"{day} {time}" for day in _DAYS for time in _TIMES),
    *(f"{day} {time}" for day in _DAYS for time in _HALF_DAYS),
    *(*_TIMES, *_HALF_DAYS),
    *("%Y-%m", "%b %Y", "%Y%m%d", "%Y%m%d %H%M%S", "%b-%y", "%Y/%m", "%B %Y"),
)
"""Formats of dates as of `strptime`, the likelier one first; weekdays, fractions and zones are cut off."""

SERIAL = "Excel's serial days"
"""Days since 1899-12-30, as spreadsheets count them; read as dates only if the user says so."""

EPOCHS = {"seconds since 1970": 1.0, "milliseconds since 1970": 1e-3}
"""Whole numbers that count the time since 1970, and how long each is in seconds."""

EPOCH_SECONDS = (1e9, 4.1e9)  # from 2001 to 2099
SERIALS = (20_000.0, 60_000.0)  # from 1954 to 2064
UNIX_EPOCH = 25_569.0  # 1970-01-01 in days of Excel
OR = " or "  # between formats of one column
MOST_FORMATS, MOST_TO_MIX = 6, 200  # of one column; different texts that show them
LEAST_SHARE = 0.95
_SAMPLE = 500  # different texts that decide about a format
_LIKELY = re.compile(r"[0-9][-/.: ][0-9A-Za-z]|[A-Za-z]{3}[ -]?[0-9]|[0-9]{8}")
_DIGITS = re.compile(r"[0-9][^0-9]{0,20}[0-9]")  # in every date; spares the work of cleaning
_HALF_DAY = re.compile(r"[0-9] ?[AaPp][Mm]$")
_CLEANING = (
    (r"^([0-9]{4})[年년] ?([0-9]{1,2})[月월] ?([0-9]{1,2})[日일]", r"\1-\2-\3"),
    (r"^([0-9]{1,2})(?:[.]|st|nd|rd|th|er|º)? (?:de |of )?([A-Za-z])", r"\1 \2"),
    (r"^([A-Za-z]{3,}) ([0-9]{1,2})(?:st|nd|rd|th), ", r"\1 \2, "),
    (r"([A-Za-z]{3})[.]? (?:de )?([0-9]{4})", r"\1 \2"),
    (r"^([0-9]{1,2}[A-Za-z]{3}[0-9]{4}):", r"\1 "),
    (r"([0-9])T([0-9])", r"\1 \2"),
    (r"^(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)(?:day)?,? +([0-9A-Z])", r"\1"),
    (r"(:[0-9]{2})([.,][0-9]+)?( ?(?:Z|[A-Z]{3,4}|[+-][0-9]{2}(?::?[0-9]{2})?))?$", r"\1"),
    (r"([0-9])([AaPp][Mm])$", r"\1 \2"),
)
"""What is replaced before a date is read: words between its parts, a weekday, a fraction, a zone."""

_MONTHS = {  # of German, Dutch, Danish and Norwegian, Swedish; French; Spanish; Italian; Portuguese
    "January": "januar januari jänner jan janvier janv enero ene gennaio gen janeiro",
    "February": "februar februari feb février févr fevrier febrero febbraio fevereiro fev",
    "March": "märz maerz mrz mär maart mrt marts mars marzo mar março marco",
    "April": "april apr avril avr abril abr aprile",
    "May": "mai mei maj mayo maggio mag maio",
    "June": "juni jun juin junio giugno giu junho",
    "July": "juli jul juillet juil julio luglio lug julho",
    "August": "august augustus augusti aug août aout agosto ago",
    "September": "september sept sep septembre septiembre settembre set setembro",
    "October": "oktober okt october octobre octubre oct ottobre ott outubro out",
    "November": "november nov novembre noviembre novembro",
    "December": "dezember dez december des décembre déc decembre diciembre dic dicembre dezembro",
}
_ENGLISH = {word: month for month, words in _MONTHS.items() for word in words.split()}
_MONTH = re.compile(r"(?<![^\W\d_])([^\W\d_]{3,10})[.]?(?=[ ]|$)")


def parse_dates(texts: Sequence[str], format: str) -> Vector:
    """Seconds since 1970 of texts in a format, NaN for others; time zones are ignored.

    Several formats are separated by `OR`: the first that fits a text reads it. In a format with a time, a
    day alone is midnight.

    >>> parse_dates(["1970-01-02T00:00:01.5Z", "soon"], "%Y-%m-%d %H:%M:%S").tolist()
    [86401.0, nan]
    >>> parse_dates(["25570.5"], SERIAL).tolist(), parse_dates(["00:01"], "%H:%M").tolist()
    ([129600.0], [60.0])
    >>> parse_dates(["1970-01-02", "2.1.1970"], "%Y-%m-%d %H:%M:%S or %d.%m.%Y").tolist()
    [86400.0, 86400.0]
    """
    if format in EPOCHS:
        return _as_integers(texts) * EPOCHS[format]
    if format == SERIAL:
        return (_as_days(texts) - UNIX_EPOCH) * 86_400.0
    return _parse_any(_normalize(texts), format)


def find_format(
    texts: Sequence[str], *, compact: bool = False, least: float = LEAST_SHARE
) -> str | None:
    """The format that reads at least a share of some different texts, or several if none alone does.

    `compact` allows 20240131, 45322 for the same day in Excel, and times since 1970.

    >>> find_format(["31.12.2020", "01.02.2021"]), find_format(["3/4/20", "13/4/20"])
    ('%d.%m.%Y', '%d/%m/%y')
    >>> find_format(["Monday, 04 June 2020", "Friday, 01 May 2020"]), find_format(["3/4/20 5:10PM"])
    ('%d %B %Y', '%m/%d/%y %I:%M %p')
    >>> find_format(["4. März 2020", "1 de mayo de 2020", "2nd June 2020"]), find_format(["2020年4月6日"])
    ('%d %B %Y', '%Y-%m-%d')
    """
    if compact and are_serials(_as_days(texts[:_SAMPLE])):
        return SERIAL
    if compact and (epoch := find_epoch(_as_integers(texts[:_SAMPLE]))):
        return epoch
    if not any(map(_DIGITS.search, texts[:20])):
        return None
    some = _normalize(texts[:_SAMPLE])
    if not any(_LIKELY.search(text) for text in some[:20].to_pylist()):
        return None
    halves = any(_HALF_DAY.search(text) for text in texts[:20])
    best, most = None, least * len(some)
    for format in FORMATS:
        if (format == "%Y%m%d" and not compact) or ("%p" in format) != halves:
            continue
        read = int(np.isfinite(_parse_with_midnight(some, format)).sum())
        if read and read >= most and (best is None or read > most):
            best, most = format, read
    return best if best is not None or least < LEAST_SHARE else _find_mixture(some)


def _find_mixture(texts: pa.Array) -> str | None:
    """Formats that together read nearly all texts; none if a day and a month could be either.

    >>> texts = ["2020-12-31", "1.2.2021", "Mar 4, 2021", "20210405", "2022-01-01"]
    >>> _find_mixture(pa.array(texts, pa.large_string()))
    '%Y-%m-%d or %d.%m.%Y or %b %d, %Y or %Y%m%d'
    >>> _find_mixture(pa.array(["2020-12-31", "1/2/2021", "2021-02-03"], pa.large_string()))
    """
    if len(texts) > MOST_TO_MIX:
        texts = texts[:MOST_TO_MIX]
    read = {format: np.isfinite(_parse(texts, format)) for format in FORMATS}
    left, chosen = np.ones(len(texts), dtype=bool), list[str]()
    while left.sum() > (1 - LEAST_SHARE) * len(texts):
        best = max(read, key=lambda format: int((read[format] & left).sum()))
        if not (read[best] & left).any() or len(chosen) == MOST_FORMATS:
            return None
        other = best.translate(
            str.maketrans("dm", "md")
        )  # the day and the month the other way round
        if other != best and other in read and not (read[other] & left < read[best] & left).any():
            return None  # no text shows which is the day
        if other in chosen:
            return None
        chosen.append(best)
        left &= ~read[best]
    return OR.join(chosen)


def are_formats(text: str) -> bool:
    """Whether a text names several known formats.

    >>> are_formats("%Y-%m-%d or %d.%m.%Y"), are_formats("%Y-%m-%d or %s"), are_formats("%Y-%m-%d")
    (True, False, False)
    """
    formats = text.split(OR)
    return 1 < len(formats) <= MOST_FORMATS and all(format in FORMATS for format in formats)


def are_serials(days: Vector) -> bool:
    """Whether numbers could be dates of Excel: NaN aside, all within a century.

    >>> are_serials(np.array([44927.0, np.nan, 45291.75])), are_serials(np.array([44927.0, 3.0]))
    (True, False)
    """
    known = days[~np.isnan(days)]
    return bool(len(known)) and bool(SERIALS[0] <= known.min() and known.max() <= SERIALS[1])


def find_epoch(numbers: Vector) -> str:
    """The unit in which whole numbers count the time since 1970, NaN aside; "" if they do not.

    >>> find_epoch(np.array([1.6e9, np.nan])), find_epoch(np.array([1.6e12])), find_epoch(np.array([5.0]))
    ('seconds since 1970', 'milliseconds since 1970', '')
    """
    known = numbers[~np.isnan(numbers)]
    if not len(known) or (known != np.rint(known)).any():
        return ""
    low, high = EPOCH_SECONDS
    fits = (
        n for n, size in EPOCHS.items() if low <= known.min() * size <= known.max() * size <= high
    )
    return next(fits, "")


def is_time_of_day(format: str) -> bool:
    """Whether a format has hours and no days.

    >>> is_time_of_day("%H:%M"), is_time_of_day("%Y-%m-%d %H:%M")
    (True, False)
    """
    return format in (*_TIMES, *_HALF_DAYS)


def _as_integers(texts: Sequence[str]) -> Vector:
    """Whole numbers of texts, NaN for others."""
    return np.array([float(t) if t.isascii() and t.isdigit() else np.nan for t in texts])


def _as_days(texts: Sequence[str]) -> Vector:
    """Numbers of texts, NaN for others."""
    column = pa.array(texts, pa.large_string())
    plain = pc.match_substring_regex(column, r"^[0-9]{5}([.][0-9]+)?$")
    days = pc.cast(pc.if_else(plain, column, None), pa.float64())
    return np.asarray(days.to_numpy(zero_copy_only=False), dtype=float)


def _normalize(texts: Sequence[str]) -> pa.Array:
    column = pa.array(texts, pa.large_string())
    if pc.any(pc.match_substring_regex(column, r"\pL{3}")).as_py():
        column = pa.array([_with_english_month(text) for text in texts], pa.large_string())
    for expression, to in _CLEANING:
        column = pc.replace_substring_regex(column, expression, to)
    return column


def _with_english_month(text: str) -> str:
    """The text with a month of another language in English.

    >>> _with_english_month("3 févr. 2020"), _with_english_month("on 3 May 2020")
    ('3 February 2020', 'on 3 May 2020')
    """
    return _MONTH.sub(lambda word: _ENGLISH.get(word[1].casefold(), word[0]), text)


def _parse_any(column: pa.Array, formats: str) -> Vector:
    """`_parse_with_midnight` in the first of several formats that fits each text."""
    first, *others = formats.split(OR)
    found = _parse_with_midnight(column, first)
    for format in others:
        found = np.where(np.isnan(found), _parse_with_midnight(column, format), found)
    return found


def _parse_with_midnight(column: pa.Array, format: str) -> Vector:
    """`_parse`; of a day and a time, the day alone is midnight, as spreadsheets and pandas write it."""
    found, day = _parse(column, format), format.split(" %H")[0].split(" %I")[0]
    if day != format and day in _DAYS and np.isnan(found).any():
        found = np.where(np.isnan(found), _parse(column, day), found)
    return found


def _parse(column: pa.Array, format: str) -> Vector:
    """Seconds since 1970; NaN for other texts, and for days that their month has not.

    >>> _parse(pa.array(["29.02.2024", "29.02.2023", "31.4.2023"]), "%d.%m.%Y").tolist()
    [1709164800.0, nan, nan]
    """
    four = format.replace("%Y", "[0-9]{4}").replace("%y", "[0-9]{2}")
    for code in ("%m", "%H", "%I", "%M", "%S"):
        four = four.replace(code, "[0-9]{1,2}")
    four = (
        four.replace("%p", "[AaPp][Mm]")
        .replace("%b", "[A-Za-z]{3}")
        .replace("%B", "[A-Za-z]+")
        .replace(".", "[.]")
        .replace("%d", "(?P<day>[0-9]{1,2})")
    )
    fits = pc.match_substring_regex(column, f"^{four}$")  # strptime alone accepts more
    stamps = pc.strptime(
        pc.if_else(fits, column, None), format=format, unit="s", error_is_null=True
    )
    if "%d" in format and pc.any(pc.less(pc.day(stamps), 4)).as_py():  # the 31st of June is July 1
        day = pc.struct_field(pc.extract_regex(column, f"^{four}$"), "day")
        same = pc.equal(pc.cast(day, pa.int64()), pc.day(stamps))
        stamps = pc.if_else(same, stamps, None)
    seconds = pc.cast(stamps.cast(pa.int64()), pa.float64())
    found = np.asarray(seconds.to_numpy(zero_copy_only=False), dtype=float)
    return found % 86_400.0 if is_time_of_day(format) else found
