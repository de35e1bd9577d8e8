"""Corrupt pictures mixed into good ones: every file ends in exactly one state.

Eight formats times fifteen mutations times seeds.  A file that a full Pillow load reads
must be indexed, every other must have one reason; no child may die unreported.

    python -m benchmarks.corrupt            1,200 corrupt files in 2,000 good ones
    python -m benchmarks.corrupt --quick    150 in 60
"""

from __future__ import annotations

import io
import struct
import tempfile
import time
import warnings
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import likewise
from experiments.report import Report, run
from likewise.intake.reading.decoding import FORMATS as ALLOWED
from likewise.intake.reading.decoding import MAX_PIXELS

FORMATS: dict[str, tuple[str, dict[str, object]]] = {
    "jpg": ("JPEG", {"quality": 90}),
    "progressive.jpg": ("JPEG", {"progressive": True}),
    "png": ("PNG", {}),
    "gif": ("GIF", {}),
    "webp": ("WEBP", {}),
    "avif": ("AVIF", {}),
    "bmp": ("BMP", {}),
    "tiff": ("TIFF", {"compression": "tiff_lzw"}),
}


def good_picture(rng: np.random.Generator, side: int = 96) -> Image.Image:
    """Smooth random colours: compresses like a photo, decodes in every format."""
    small = rng.integers(0, 255, (6, 6, 3), dtype=np.uint8)
    height, width = (int(v) for v in rng.integers(side // 2, side * 2, 2))
    return Image.fromarray(small).resize((width, height), Image.Resampling.BICUBIC)


def encode(image: Image.Image, kind: str) -> bytes:
    """The picture's file in one of the formats."""
    name, options = FORMATS[kind]
    out = io.BytesIO()
    exif = Image.Exif()
    exif[0x010E] = "a picture"
    if name in ("JPEG", "WEBP", "PNG", "AVIF", "TIFF"):
        options = {**options, "exif": exif.tobytes()}
    image.save(out, name, **options)
    return out.getvalue()


# --------------------------------------------------------------------------
# Mutations: bytes of a good file to bytes of a bad one


def _cut(share: float) -> Callable[[bytes, np.random.Generator], bytes]:
    return lambda data, rng: data[: max(1, int(len(data) * share))]


def _flip(data: bytes, rng: np.random.Generator) -> bytes:
    out = bytearray(data)
    out[int(rng.integers(len(out)))] ^= 1 << int(rng.integers(8))
    return bytes(out)


def _noise(share: float) -> Callable[[bytes, np.random.Generator], bytes]:
    def change(data: bytes, rng: np.random.Generator) -> bytes:
        a = np.frombuffer(data, np.uint8).copy()
        at = rng.integers(0, len(a), max(1, int(len(a) * share)))
        a[at] = rng.integers(0, 256, len(at))
        return a.tobytes()

    return change


def _magic_then_noise(data: bytes, rng: np.random.Generator) -> bytes:
    return data[:16] + rng.integers(0, 256, 4000, dtype=np.uint8).tobytes()


def _bad_crc(data: bytes, rng: np.random.Generator) -> bytes:
    """A wrong checksum in a PNG, a wrong byte near the end elsewhere."""
    at = data.find(b"IDAT")
    at = at + 4 + struct.unpack(">I", data[at - 4 : at])[0] if at > 4 else len(data) - 3
    out = bytearray(data)
    out[at] ^= 0xFF
    return bytes(out)


def _huge(data: bytes, rng: np.random.Generator) -> bytes:
    """A header that declares 50,000 x 50,000 pixels (a PNG; elsewhere size bytes are changed)."""
    if not data.startswith(b"\x89PNG"):
        out = bytearray(data)
        out[16:24] = b"\xc3\x50\x00\x00\xc3\x50\x00\x00"
        return bytes(out)
    head = struct.pack(">IIBBBBB", 50_000, 50_000, 8, 2, 0, 0, 0)
    crc = struct.pack(">I", zlib.crc32(b"IHDR" + head))
    return data[:16] + head + crc + data[33:]


def _loop(data: bytes, rng: np.random.Generator) -> bytes:
    """EXIF whose directory points at itself."""
    at = data.find(b"MM\x00*")
    at = data.find(b"II*\x00") if at < 0 else at
    if at < 0:
        return data + b"MM\x00*\x00\x00\x00\x08\x00\x00\x00\x00\x00\x08"
    out = bytearray(data)
    tail = b"\x00\x01\x87\x69\x00\x04\x00\x00\x00\x01\x00\x00\x00\x08\x00\x00\x00\x08"
    out[at + 8 : at + 8 + len(tail)] = tail
    return bytes(out[: len(data)])


def _metadata(data: bytes, rng: np.random.Generator) -> bytes:
    """Two megabytes of text inside the file."""
    text = b"Comment\x00" + b"x" * (2 << 20)
    if data.startswith(b"\x89PNG"):
        chunk = struct.pack(">I", len(text)) + b"tEXt" + text
        return data[:33] + chunk + struct.pack(">I", zlib.crc32(b"tEXt" + text)) + data[33:]
    if data.startswith(b"\xff\xd8"):
        part = b"\xff\xfe\xff\xff" + b"x" * 65533
        return data[:2] + part * 32 + data[2:]
    return data + text


MUTATIONS: dict[str, Callable[[bytes, np.random.Generator], bytes]] = {
    "zero-bytes": lambda data, rng: b"",
    "one-byte": lambda data, rng: data[:1],
    "header-only": lambda data, rng: data[:32],
    "cut-25": _cut(0.25),
    "cut-50": _cut(0.5),
    "cut-99": _cut(0.99),
    "bit-flip": _flip,
    "noise-1": _noise(0.01),
    "magic-noise": _magic_then_noise,
    "wrong-extension": lambda data, rng: data,
    "bad-crc": _bad_crc,
    "huge-size": _huge,
    "trailing": lambda data, rng: data + rng.integers(0, 256, 3 << 20, dtype=np.uint8).tobytes(),
    "exif-loop": _loop,
    "big-metadata": _metadata,
}


def corrupt_files(count: int, seed: int) -> Iterator[tuple[str, bytes]]:
    """(name, bytes) of as many corrupt files, every format and mutation in turn."""
    pairs = [(kind, mutation) for kind in FORMATS for mutation in MUTATIONS]
    for at in range(count):
        kind, mutation = pairs[at % len(pairs)]
        rng = np.random.default_rng([seed, at])
        data = MUTATIONS[mutation](encode(good_picture(rng), kind), rng)
        ending = ".png" if mutation == "wrong-extension" else "." + kind.split(".")[-1]
        yield f"{mutation}-{at:05d}{ending}", data


def pillow_reads(data: bytes) -> bool:
    """Whether a full Pillow load of the first frame succeeds, bombs refused."""
    limit = Image.MAX_IMAGE_PIXELS
    Image.MAX_IMAGE_PIXELS = MAX_PIXELS
    Image.init()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            formats = [f for f in ALLOWED if f in Image.OPEN]
            with Image.open(io.BytesIO(data), formats=formats) as image:
                image.load()
                image.convert("RGB")
        return True
    except Exception:
        return False
    finally:
        Image.MAX_IMAGE_PIXELS = limit


def check(
    folder: Path, corrupt: int, good: int, seed: int, features: tuple[str, ...]
) -> dict[str, Any]:
    """Write, index and compare; gives the counts of one run."""
    readable: dict[str, bool] = {}
    for name, data in corrupt_files(corrupt, seed):
        (folder / name).write_bytes(data)
        readable[name] = pillow_reads(data)
    for at in range(good):
        name = f"good-{at:05d}.jpg"
        (folder / name).write_bytes(
            encode(good_picture(np.random.default_rng([seed, 7, at])), "jpg")
        )
        readable[name] = True
    started = time.perf_counter()
    with likewise.open(folder, create=True) as collection:
        collection.index(features=features)
        items = collection.store.items.many(range(1, len(readable) + 1))
        states = {item.file: item.state for item in items}
        reasons = {item.file: item.reason for item in items}
        probe = collection.search("good-00000.jpg", k=5)
    wrong = [
        name
        for name, can in readable.items()
        if states.get(name) != ("indexed" if can else "problem")
    ]
    return {
        "files": len(readable),
        "indexed": sum(s == "indexed" for s in states.values()),
        "problems": sum(s == "problem" for s in states.values()),
        "without_reason": sum(s == "problem" and not reasons[n] for n, s in states.items()),
        "wrong_state": len(wrong),
        "wrong": wrong,
        "crashed": sum("crashed" in r for r in reasons.values()),
        "found": len(probe),
        "seconds": time.perf_counter() - started,
    }


def main(report: Report) -> None:
    corrupt, good = (150, 60) if report.quick else (1_200, 2_000)
    with tempfile.TemporaryDirectory() as place:
        found = check(Path(place), corrupt, good, report.seed, ("colour", "texture"))
    for name in found.pop("wrong"):
        report.say(f"  unlike Pillow: {name}")
    report.row(method="likewise", items=found["files"], peer="Pillow", **found)


if __name__ == "__main__":
    run("corrupt", main, __doc__)
