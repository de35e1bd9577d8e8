"""Named arrays and a JSON card in one safetensors file: no pickle, checked before parsing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from likewise.files import write_file
from likewise.types import BadInput, DataProblem

Arrays = dict[str, NDArray[Any]]
_KINDS = "biuf"


def pack(arrays: Mapping[str, Any], card: Mapping[str, Any]) -> bytes:
    """The bytes of a file that holds arrays and their card."""
    plain: Arrays = {}
    for name, array in arrays.items():
        a = np.asarray(array)
        if a.dtype.kind not in _KINDS:
            raise BadInput(f"Array {name!r} holds {a.dtype}, but a file can keep numbers only.")
        little = a.astype(a.dtype.newbyteorder("<"), copy=False)
        plain[name] = np.ascontiguousarray(little).reshape(a.shape)
    data: bytes = save(plain, metadata={"card": to_json(card)})
    return data


def unpack(data: bytes, what: str) -> tuple[Arrays, dict[str, Any]]:
    """Arrays and card of such bytes; damaged or foreign ones are refused by name."""
    try:
        arrays: Arrays = load(data)
        length = int.from_bytes(data[:8], "little")
        header = json.loads(data[8 : 8 + length])
        card = json.loads(header.get("__metadata__", {}).get("card", "{}"))
    except (SafetensorError, ValueError, KeyError) as error:
        raise DataProblem(f"The file of {what} is no whole safetensors file: {error}.") from error
    if not isinstance(card, dict):
        raise DataProblem(f"The card of {what} is not a JSON object.")
    return arrays, card


def write_arrays(path: Path, arrays: Mapping[str, Any], card: Mapping[str, Any]) -> str:
    """Write such a file, synced; gives its SHA-256."""
    return write_file(path, [pack(arrays, card)])[0]


def to_json(card: Mapping[str, Any]) -> str:
    """A card as JSON; numbers of numpy become plain, NaN and infinity become null."""
    return json.dumps(_plain(card), ensure_ascii=False, allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        value = value.tolist()
    elif isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if isinstance(value, float) and not np.isfinite(value):
        return None
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    raise BadInput(
        f"A card can hold texts, numbers, lists and objects, not {type(value).__name__}."
    )
