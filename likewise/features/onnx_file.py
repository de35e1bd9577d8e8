"""Any other image encoder as a feature: an ONNX file with a small JSON beside it.

``onnx:FILE`` reads ``FILE`` and ``FILE`` with the ending ``.json``, for instance

    {"size": 224, "resize": "shortest", "crop": true,
     "mean": [0.481, 0.458, 0.408], "std": [0.269, 0.261, 0.276],
     "layout": "NCHW", "output": "image_embeds", "normalise": true}

``size`` is a side or [height, width], and docs/features.md explains the rest.  Scale: whatever
the network gives, or unit length where it is to ``normalise``.
The block's name carries a hash of the files, so that vectors of two networks are never mixed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from likewise.features.deep import CHUNK, open_session
from likewise.features.pictures import Batch, Picture
from likewise.types import BadInput, DataProblem, NotFound

FILTERS = {
    "bicubic": Image.Resampling.BICUBIC,
    "bilinear": Image.Resampling.BILINEAR,
    "area": Image.Resampling.BOX,
}
LARGEST = 4096


@dataclass(frozen=True)
class Preprocessing:
    """What is done to a picture before the network sees it."""

    height: int
    width: int
    resize: str
    mean: tuple[float, float, float]
    std: tuple[float, float, float]
    layout: str
    output: str
    normalise: bool
    interpolation: str = "bicubic"
    edge: int = 0
    """What ``shortest`` scales the shorter side to, where more than the size is kept around it."""

    @classmethod
    def of(cls, values: Any, file: str = "settings") -> Preprocessing:
        """The settings of a JSON file; what is missing or wrong is named."""
        needed = ("size", "resize", "crop", "mean", "std", "layout", "output", "normalise")
        missing = [key for key in needed if key not in values]
        if missing:
            raise BadInput(f"The file {file} lacks {', '.join(missing)}; add what is missing.")
        unknown = sorted(set(values) - set(needed) - {"interpolation"})
        if unknown:
            raise BadInput(f"The file {file} has the unknown setting {unknown[0]!r}; take it out.")
        height, width = _size(values["size"], file)
        resize = _one_of(values, "resize", ("squash", "shortest"), file)
        if values["crop"] is not (resize == "shortest"):
            raise BadInput(
                f"In {file}, crop must be true with resize 'shortest' and false with 'squash'."
            )
        output = values["output"]
        if not isinstance(output, str) or not output:
            raise BadInput(f"In {file}, output must be the name of one of the network's outputs.")
        return cls(
            height,
            width,
            resize,
            _channels(values, "mean", file),
            _channels(values, "std", file),
            _one_of(values, "layout", ("NCHW", "NHWC"), file),
            output,
            _one_of(values, "normalise", (True, False), file),
            _one_of({"interpolation": "bicubic", **values}, "interpolation", tuple(FILTERS), file),
        )

    def tensor(self, batch: Batch) -> NDArray[np.float32]:
        """All pictures, resized, normalised and laid out."""
        out = np.empty((len(batch), self.height, self.width, 3), dtype=np.float32)
        for i, picture in enumerate(batch):
            out[i] = self._resized(picture)
        out /= 255.0
        out -= np.asarray(self.mean, dtype=np.float32)
        out /= np.asarray(self.std, dtype=np.float32)
        return out if self.layout == "NHWC" else np.ascontiguousarray(out.transpose(0, 3, 1, 2))

    def _resized(self, picture: Picture) -> Picture:
        image = Image.fromarray(picture)
        box: tuple[float, float, float, float] = (0.0, 0.0, image.width, image.height)
        if self.resize == "shortest":
            # the centre part that fills the size, resized in one step
            scale = max(self.width / image.width, self.height / image.height)
            scale = max(scale, self.edge / min(image.size))
            wide, high = self.width / scale, self.height / scale
            left, top = (image.width - wide) / 2, (image.height - high) / 2
            box = (max(left, 0), max(top, 0), left + wide, top + high)
            box = (*box[:2], min(box[2], image.width), min(box[3], image.height))
        size = (self.width, self.height)
        return np.asarray(image.resize(size, FILTERS[self.interpolation], box=box))


class OnnxFile:
    """The vectors of one output of an ONNX network, with the JSON file of its name beside it.

    Where the block's ``name`` is known, other files than those are refused.
    """

    kind: ClassVar[str] = "onnx"

    def __init__(self, path: Path | str, name: str = "", *, threads: int = 1) -> None:
        self.path, self._name, self.threads = Path(path), name, threads
        self._session: Any = None
        self._dim: int | None = None
        for file in self.files():
            if not file.is_file():
                raise NotFound(self._missing(file))

    def files(self) -> list[Path]:
        """All that the vectors depend on."""
        return [self.path, self.path.with_suffix(".json")]

    def _missing(self, file: Path) -> str:
        if file == self.path:
            return f"There is no ONNX file {self.path}; check the name after 'onnx:'."
        return (
            f"The file {file.name} is missing: put a JSON with size, resize, crop, mean, std, "
            "layout, output and normalise beside the ONNX file."
        )

    @cached_property
    def settings(self) -> Preprocessing:
        """What is done to a picture first."""
        file = self.path.with_suffix(".json")
        return Preprocessing.of(read_json(file), file.name)

    @cached_property
    def version(self) -> str:
        """Hash of the network and of what stands beside it."""
        whole = hashlib.sha256()
        for file in self.files():
            with file.open("rb") as opened:
                whole.update(hashlib.file_digest(opened, "sha256").digest())
        return f"{self.kind}-{whole.hexdigest()[:12]}"

    @property
    def name(self) -> str:
        """Name of the block: the version, unless another was asked for."""
        return self._name or self.version

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_session": None}

    @property
    def dim(self) -> int:
        """Length of a vector."""
        if self._dim is None:
            grey = np.full((self.settings.height, self.settings.width, 3), 127, np.uint8)
            self._dim = self._run(Batch([grey])).shape[1]
        return self._dim

    def __call__(self, pictures: Sequence[Picture]) -> NDArray[np.float32]:
        """One row a picture."""
        batch = Batch.of(pictures)
        if not len(batch):
            return np.empty((0, self.dim), dtype=np.float32)
        parts = [self._run(Batch(batch[at : at + CHUNK])) for at in range(0, len(batch), CHUNK)]
        out = np.concatenate(parts)
        if self.settings.normalise:
            out /= np.maximum(np.linalg.norm(out, axis=1, keepdims=True), np.float32(1e-12))
        return out

    def _run(self, batch: Batch) -> NDArray[np.float32]:
        session, tensor = self._opened(), self.settings.tensor(batch)
        entry, output = session.get_inputs()[0], self._output(session)
        if entry.type == "tensor(float16)":
            tensor = tensor.astype(np.float16)
        try:
            (out,) = session.run([output], {entry.name: tensor})
        except Exception as error:  # onnxruntime has no common error class
            raise BadInput(
                f"The network {self.path.name} does not take pictures as its JSON file says "
                f"({first_line(error)}); check size and layout."
            ) from error
        rows = np.asarray(out)
        if rows.shape[:1] != (len(batch),) or rows.dtype.kind != "f":
            raise BadInput(
                f"The output {output!r} of {self.path.name} does not hold one vector of floats a "
                "picture; name another output."
            )
        rows = rows.reshape(len(batch), -1).astype(np.float32)
        if not np.isfinite(rows).all():
            raise DataProblem(f"The network {self.path.name} gave NaN or infinity.")
        return rows

    def _opened(self) -> Any:
        if self._session is None:
            self.check()
            session = open_network(self.path, self.threads)
            if len(session.get_inputs()) != 1:
                raise BadInput(
                    f"The network {self.path.name} has {len(session.get_inputs())} inputs; "
                    "export the image encoder alone."
                )
            self._session = session
        return self._session

    def check(self) -> None:
        """Refuse other files than those that the block is named after."""
        if self.name != self.version:
            raise DataProblem(
                f"The network at {self.path} has changed since it described this collection; put "
                "the former one back, or start another data folder with --data."
            )

    def _output(self, session: Any) -> str:
        outputs = [o.name for o in session.get_outputs()]
        if self.settings.output not in outputs:
            raise BadInput(
                f"The network {self.path.name} has no output {self.settings.output!r}; "
                f"it has {', '.join(outputs)}."
            )
        return self.settings.output


def open_network(path: Path, threads: int) -> Any:
    """A network from elsewhere, parsed."""
    try:
        return open_session(str(path), threads)
    except Exception as error:
        raise DataProblem(
            f"The file {path.name} is no ONNX network that onnxruntime can open "
            f"({first_line(error)})."
        ) from error


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object in a file."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"The file {path.name} cannot be read: {error}.") from error
    except ValueError as error:
        raise BadInput(f"The file {path.name} is no valid JSON: {error}.") from error
    if not isinstance(values, dict):
        raise BadInput(f"The file {path.name} must hold one JSON object.")
    return values


def first_line(error: Exception) -> str:
    """What an error of another library says first."""
    return str(error).strip().splitlines()[0][:200] if str(error).strip() else type(error).__name__


def _size(value: Any, file: str) -> tuple[int, int]:
    pair = value if isinstance(value, list) else [value, value]
    whole = all(isinstance(v, int) and not isinstance(v, bool) for v in pair)
    if len(pair) != 2 or not whole or not all(1 <= v <= LARGEST for v in pair):
        raise BadInput(
            f"In {file}, size must be a whole number or [height, width] up to {LARGEST}, "
            f"not {value!r}."
        )
    return pair[0], pair[1]


def _channels(values: dict[str, Any], key: str, file: str) -> tuple[float, float, float]:
    value = values[key]
    good = (
        isinstance(value, list)
        and len(value) == 3
        and all(isinstance(v, (int, float)) and np.isfinite(v) for v in value)
        and (key == "mean" or min(value) > 0)
    )
    if not good:
        above = " above zero" if key == "std" else ""
        raise BadInput(f"In {file}, {key} must be three numbers{above}, not {value!r}.")
    return float(value[0]), float(value[1]), float(value[2])


def _one_of(values: dict[str, Any], key: str, allowed: tuple[Any, ...], file: str) -> Any:
    value = values[key]
    if not any(value is a or (isinstance(a, str) and value == a) for a in allowed):
        names = " or ".join(json.dumps(a) for a in allowed)
        raise BadInput(f"In {file}, {key} must be {names}, not {json.dumps(value)}.")
    return value
