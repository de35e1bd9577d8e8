"""What a picture file says of itself: date, camera, keywords, caption; the place only when asked.

Broken metadata never costs the picture: whatever cannot be read is left out.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

from PIL import Image, ImageFile, IptcImagePlugin

MAX_TEXT = 2_000
MAX_KEYWORDS = 100
MAX_XMP = 1_000_000

_DATE = re.compile(r"^(\d{4})[:\-](\d{2})[:\-](\d{2})(?:[ T](\d{2}):(\d{2})(?::(\d{2}))?)?")


@dataclass(frozen=True)
class Metadata:
    """Facts embedded in a file."""

    taken: str = ""
    """ISO date and time without zone, or empty."""
    camera: str = ""
    keywords: tuple[str, ...] = ()
    caption: str = ""
    place: tuple[float, float] | None = None
    """Latitude and longitude, only where GPS was asked for."""


def read_metadata(
    image: Image.Image, *, gps: bool = False, exif: Image.Exif | None = None
) -> Metadata:
    """EXIF (of its own, or as given), IPTC and XMP of an opened picture."""
    facts: dict[str, Any] = {"keywords": []}
    place = None
    with contextlib.suppress(Exception):
        exif = exif if exif is not None else image.getexif()
        _exif(exif, facts)
        if gps:
            place = _gps(exif)
    for reader in (_iptc, _xmp, _text_chunks):
        with contextlib.suppress(Exception):
            reader(image, facts)
    return Metadata(
        taken=facts.get("taken", ""),
        camera=facts.get("camera", ""),
        keywords=tuple(dict.fromkeys(facts["keywords"]))[:MAX_KEYWORDS],
        caption=facts.get("caption", ""),
        place=place,
    )


def _clean(value: Any) -> str:
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    text = "".join(c if c.isprintable() else " " for c in str(value))
    return " ".join(text.split())[:MAX_TEXT]


def _caption(facts: dict[str, Any], text: Any) -> None:
    facts["caption"] = facts.get("caption") or _clean(text)


def _iso(value: Any) -> str:
    match = _DATE.match(_clean(value))
    if not match or match[1] == "0000":
        return ""
    year, month, day, hour, minute, second = match.groups(default="00")
    if not (1 <= int(month) <= 12 and 1 <= int(day) <= 31):
        return ""
    return f"{year}-{month}-{day}T{hour}:{minute}:{second}"


def _exif(exif: Image.Exif, facts: dict[str, Any]) -> None:
    detail = exif.get_ifd(0x8769)
    dates = (detail.get(0x9003, ""), detail.get(0x9004, ""), exif.get(0x0132, ""))
    facts["taken"] = next(filter(None, map(_iso, dates)), "")
    make, model = _clean(exif.get(0x010F, "")), _clean(exif.get(0x0110, ""))
    facts["camera"] = model if model.lower().startswith(make.lower()) else f"{make} {model}".strip()
    _caption(facts, exif.get(0x010E, ""))


def _iptc(image: Image.Image, facts: dict[str, Any]) -> None:
    info: dict[tuple[int, int], Any] = {}
    if isinstance(image, ImageFile.ImageFile):
        info = dict(IptcImagePlugin.getiptcinfo(image) or {})
    words = info.get((2, 25), [])
    words = words if isinstance(words, list) else [words]
    facts["keywords"] += [w for w in map(_clean, words) if w]
    for key in ((2, 120), (2, 5)):
        text = info.get(key) or ""
        _caption(facts, text[0] if isinstance(text, list) else text)


def _xmp(image: Image.Image, facts: dict[str, Any]) -> None:
    raw = image.info.get("xmp") or image.info.get("XML:com.adobe.xmp") or b""
    data = raw.encode() if isinstance(raw, str) else raw
    # A document type could define entities that expand without end: no picture needs one.
    if not data or len(data) > MAX_XMP or b"<!DOCTYPE" in data or b"<!ENTITY" in data:
        return
    root = ElementTree.fromstring(data.strip(b"\x00 \n\r\t"))
    dc = "{http://purl.org/dc/elements/1.1/}"
    facts["keywords"] += [w for w in _listed(root, dc + "subject") if w]
    for name in ("description", "title"):
        for text in _listed(root, dc + name):
            _caption(facts, text)


def _listed(root: ElementTree.Element, tag: str) -> Iterator[str]:
    for node in root.iter(tag):
        for leaf in node.iter("{http://www.w3.org/1999/02/22-rdf-syntax-ns#}li"):
            yield _clean(leaf.text or "")


def _text_chunks(image: Image.Image, facts: dict[str, Any]) -> None:
    for name in ("Description", "Title", "Comment", "comment"):
        _caption(facts, image.info.get(name) or "")


def _gps(exif: Image.Exif) -> tuple[float, float] | None:
    ifd = exif.get_ifd(0x8825)
    if 2 not in ifd or 4 not in ifd:
        return None

    def degrees(parts: Any, reference: Any) -> float:
        d, m, s = (float(p) for p in parts)
        return (d + m / 60 + s / 3600) * (-1 if str(reference).upper() in ("S", "W") else 1)

    return degrees(ifd[2], ifd.get(1, "N")), degrees(ifd[4], ifd.get(3, "E"))
