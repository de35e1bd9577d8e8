"""A network of one's own that sees pictures and reads words: CLIP, SigLIP, MobileCLIP.

``clip:FOLDER`` reads a folder as people download it: ``onnx/vision_model.onnx``,
``onnx/text_model.onnx``, ``tokenizer.json`` and ``preprocessor_config.json`` (the networks may lie
in FOLDER itself, and may be the ``_fp16``, ``_int8`` or ``_quantized`` ones).  What the towers
expect is taken from their inputs and from the JSON files.  Scale: unit length, of pictures and of
texts, so that the product of both is their cosine.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from likewise.features.onnx_file import (
    FILTERS,
    OnnxFile,
    Preprocessing,
    first_line,
    open_network,
    read_json,
)
from likewise.types import BadInput, DataProblem

CLIP = "clip"
PROMPTS = ("{}", "a photo of {}.")
"""What a text is put into; the vectors are averaged."""
KINDS = ("", "_fp16", "_int8", "_uint8", "_quantized")
TOKENS, SIGLIP_TOKENS, MOST_TOKENS = 77, 64, 4096
"""Longest text where no file says so; and what no file says in earnest."""
OTHER_FILES = ("config.json", "tokenizer_config.json")


class Clip(OnnxFile):
    """Unit vectors of the pictures of a folder's network, and :meth:`read` for those of texts."""

    kind: ClassVar[str] = CLIP
    outputs: ClassVar[tuple[str, ...]] = ("image_embeds", "pooler_output")

    def __init__(self, path: Path | str, name: str = "", *, threads: int = 1) -> None:
        self.folder = Path(path)
        if find_spec("tokenizers") is None:
            raise BadInput(
                "A network that reads words needs the package tokenizers; install it with: "
                "pip install 'likewise[clip]'"
            )
        super().__init__(self._tower("vision_model"), name, threads=threads)
        self._texts: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_texts": None}

    def _tower(self, name: str) -> Path:
        places = [self.folder / "onnx", self.folder]
        files = [place / f"{name}{kind}.onnx" for kind in KINDS for place in places]
        return next((file for file in files if file.is_file()), files[0])

    def files(self) -> list[Path]:
        """Both networks, with weights that lie beside them, and the JSON files."""
        towers = [self._tower("vision_model"), self._tower("text_model")]
        beside = [f for tower in towers for f in sorted(tower.parent.glob(f"{tower.name}?data*"))]
        named = [self.folder / name for name in ("tokenizer.json", "preprocessor_config.json")]
        return [*towers, *named, *beside, *self._others()]

    def _others(self) -> list[Path]:
        return [file for name in OTHER_FILES if (file := self.folder / name).is_file()]

    def _missing(self, file: Path) -> str:
        return (
            f"There is no {file.relative_to(self.folder)} in {self.folder}; clip: takes a folder "
            "with onnx/vision_model.onnx, onnx/text_model.onnx, tokenizer.json and "
            "preprocessor_config.json, as an ONNX export has them."
        )

    @cached_property
    def settings(self) -> Preprocessing:
        """What ``preprocessor_config.json`` asks for."""
        told = read_json(self.folder / "preprocessor_config.json")
        size, crop = told.get("size", 224), told.get("crop_size") or told.get("size", 224)
        has_crop = bool(told.get("do_center_crop", False))
        edge = size.get("shortest_edge", 0) if isinstance(size, dict) else size * has_crop
        full = 255 * told.get("rescale_factor", 1 / 255) if told.get("do_rescale", True) else 255
        normal = told.get("do_normalize", True)
        filters = {int(number): name for name, number in FILTERS.items()}  # as Pillow counts
        mean, std = (
            [value / full for value in (told.get(key, [0.5] * 3) if normal else [other] * 3)]
            for key, other in (("image_mean", 0), ("image_std", 1))
        )
        plain = Preprocessing.of(
            {
                "size": _sides(crop if has_crop else size),
                "resize": "shortest" if edge else "squash",
                "crop": bool(edge),
                "mean": mean,
                "std": std,
                "layout": "NCHW",
                "output": self.outputs[0],
                "normalise": True,
                "interpolation": filters.get(told.get("resample", 3), "bicubic"),
            },
            "preprocessor_config.json",
        )
        return plain if not edge else Preprocessing(**{**plain.__dict__, "edge": int(edge)})

    def _output(self, session: Any) -> str:
        return _pooled(session, self.outputs, self.path)

    def read(self, text: str) -> NDArray[np.float32]:
        """The unit vector of a text: the mean over :data:`PROMPTS`."""
        if self._texts is None:
            self.check()
            self._texts = _Texts(self)
        rows = [self._texts(prompt.format(text.lower())) for prompt in PROMPTS]
        whole = np.sum([row / max(float(np.linalg.norm(row)), 1e-12) for row in rows], axis=0)
        if self._dim not in (None, len(whole)):
            raise BadInput(
                f"In {self.folder}, pictures have {self._dim} numbers and texts {len(whole)}: take "
                "both networks from one export."
            )
        out: NDArray[np.float32] = (whole / max(float(np.linalg.norm(whole)), 1e-12)).astype("f4")
        return out


class _Texts:
    """The tower that reads, with its tokenizer."""

    def __init__(self, clip: Clip) -> None:
        from tokenizers import Tokenizer

        self.path = clip._tower("text_model")
        try:
            self.tokenizer = Tokenizer.from_file(str(clip.folder / "tokenizer.json"))
        except Exception as error:  # the package has no class of its own
            raise DataProblem(
                f"The file tokenizer.json cannot be read ({first_line(error)}); take it from the "
                "same export as the networks."
            ) from error
        self.session = open_network(self.path, clip.threads)
        self.output = _pooled(self.session, ("text_embeds", "pooler_output"), self.path)
        self.inputs = {entry.name: entry for entry in self.session.get_inputs()}
        unknown = sorted(set(self.inputs) - {"input_ids", "attention_mask"})
        if unknown or "input_ids" not in self.inputs:
            raise BadInput(
                f"The network {self.path.name} asks for {', '.join(self.inputs)}; one that reads "
                "texts takes input_ids, and attention_mask perhaps."
            )
        told: dict[str, Any] = {}
        for file in (clip.folder / "preprocessor_config.json", *clip._others()):
            told |= read_json(file)
        self._lengths(told)
        self._run([self.tokenizer.get_vocab_size() - 1])  # refuses a tokenizer of another network

    def _lengths(self, told: dict[str, Any]) -> None:
        """How many tokens a text has at most, and what a short one is filled up with."""
        inner = told.get("text_config") or {}
        kinds = ("model_type", "processor_class", "image_processor_type")
        is_siglip = any("siglip" in str(told.get(key, "")).lower() for key in kinds)
        fixed = self.inputs["input_ids"].shape[-1]
        most = SIGLIP_TOKENS if is_siglip else TOKENS
        most = inner.get("max_position_embeddings") or told.get("model_max_length") or most
        most = most if most <= MOST_TOKENS else SIGLIP_TOKENS if is_siglip else TOKENS
        self.most = fixed if isinstance(fixed, int) else int(most)
        self.filled = is_siglip or isinstance(fixed, int)  # these were trained on full rows
        padding, token = self.tokenizer.padding, told.get("pad_token")
        token = token.get("content") if isinstance(token, dict) else token
        known = self.tokenizer.token_to_id(token) if token else None
        self.pad = padding["pad_id"] if padding else known
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(self.most)

    def __call__(self, text: str) -> NDArray[np.float64]:
        return self._run(self.tokenizer.encode(text).ids)

    def _run(self, tokens: list[int]) -> NDArray[np.float64]:
        real = max(1, len(tokens))
        pad = self.pad if self.pad is not None else (tokens or [0])[-1]  # the end, once more
        row = [*tokens, *[pad] * ((self.most if self.filled else real) - len(tokens))]
        mask = [1] * real + [0] * (len(row) - real)
        kinds = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}
        given = {"input_ids": row, "attention_mask": mask}
        try:
            feed = {n: np.array([given[n]], kinds[e.type]) for n, e in self.inputs.items()}
            (out,) = self.session.run([self.output], feed)
        except Exception as error:  # onnxruntime has no common error class
            raise BadInput(
                f"The tokenizer does not fit the network {self.path.name} ({first_line(error)}); "
                "take tokenizer.json from the same export."
            ) from error
        if not np.isfinite(out).all():
            raise DataProblem(f"The network {self.path.name} gave NaN or infinity.")
        return np.asarray(out, np.float64).reshape(-1)


def _pooled(session: Any, wanted: Sequence[str], path: Path) -> str:
    """The output that holds one vector: by its name, or because there is no other."""
    outputs = {o.name: len(o.shape) for o in session.get_outputs()}
    found = [*(n for n in wanted if n in outputs), *(n for n, axes in outputs.items() if axes == 2)]
    if not found:
        raise BadInput(
            f"The network {path.name} has no output {' or '.join(wanted)}; it has "
            f"{', '.join(outputs)}. Export it with its projection."
        )
    return str(found[0])


def _sides(size: Any) -> Any:
    """A size as one number, or height and width."""
    if not isinstance(size, dict):
        return size
    edge = size.get("shortest_edge")
    return edge if edge else [size.get("height"), size.get("width")]
