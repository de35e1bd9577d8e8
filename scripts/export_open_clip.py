"""Turn a network of open_clip into the folder that ``likewise index --features clip:FOLDER`` reads.

    pip install open_clip_torch onnx onnxscript tokenizers
    python scripts/export_open_clip.py ViT-B-32 laion2b_s34b_b79k FOLDER

The first two are what ``open_clip.create_model`` takes: a model, and the name of weights or a
file of them.  FOLDER receives both towers as ONNX (float32), tokenizer.json and
preprocessor_config.json.  Before it ends, the command reads the folder back: tokens and vectors
must be those of open_clip, or it says what differs and fails.  likewise itself needs none of
these packages but tokenizers.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

PUNCTUATION = r"[!-/:-@\[-`{-~]"
SENTENCES = [
    "a", "a photo of a dog.", "it's 2 o'clock, isn't it?", "Two  MEN\tin snow-covered hills",
    "ein Elefant, éléphant, 象", "a_b & c", "", "word " * 200,
]  # fmt: skip
"""What both tokenizers must cut alike: marks, digits, case, spaces, other scripts, too long."""
FILTERS = {"bicubic": 3, "bilinear": 2}
CLOSE = 1e-3
"""The largest difference of two numbers of unit vectors."""


def tokenizer_json(tokenizer: Any) -> Any:
    """A tokenizer of open_clip as one of the package tokenizers."""
    import tokenizers
    from tokenizers import models, normalizers, pre_tokenizers, processors

    clean = getattr(getattr(tokenizer, "clean_fn", None), "__name__", "_clean_lower")
    spaces = normalizers.Replace(tokenizers.Regex(r"\s+"), " ")
    first: list[Any] = [spaces, normalizers.Strip()]
    if clean != "_clean_whitespace":
        first.append(normalizers.Lowercase())
    if clean == "_clean_canonicalize":
        first = [
            normalizers.Replace("_", " "),
            normalizers.Replace(tokenizers.Regex(PUNCTUATION), ""),
            *first,
        ]
    if hasattr(tokenizer, "bpe_ranks"):
        ends = [tokenizer.sot_token_id, tokenizer.eot_token_id]
        start, end = ((tokenizer.decoder[at], at) for at in ends)
        merges = sorted(tokenizer.bpe_ranks, key=tokenizer.bpe_ranks.get)
        made = tokenizers.Tokenizer(
            models.BPE(tokenizer.encoder, merges, end_of_word_suffix="</w>", unk_token=end[0])
        )
        made.normalizer = normalizers.Sequence(first)
        pattern = r"'s|'t|'re|'ve|'m|'ll|'d|\p{L}+|\p{N}|[^\s\p{L}\p{N}]+"
        made.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Split(tokenizers.Regex(pattern), "removed", invert=True),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
            ]
        )
        made.post_processor = processors.TemplateProcessing(
            single=f"{start[0]} $A {end[0]}", special_tokens=[start, end]
        )
        pad = 0
    else:
        held = getattr(tokenizer, "tokenizer", None)
        strange = getattr(tokenizer, "strip_sep_token", False) or getattr(
            tokenizer, "tokenizer_mode", ""
        )
        if strange or not hasattr(held, "backend_tokenizer"):
            raise SystemExit("This model cuts texts in a way that no tokenizer.json can say.")
        made = tokenizers.Tokenizer.from_str(held.backend_tokenizer.to_str())
        own = [made.normalizer] if made.normalizer is not None else []
        made.normalizer = normalizers.Sequence([*first, *own])
        pad = held.pad_token_id or 0
    made.no_truncation()
    made.enable_padding(
        pad_id=pad, pad_token=made.id_to_token(pad) or "", length=tokenizer.context_length
    )
    return made


def preprocessor_config(told: dict[str, Any]) -> dict[str, Any]:
    """What open_clip does to a picture, in the words of preprocessor_config.json."""
    size, how = told["size"], told.get("resize_mode", "shortest")
    height, width = (size, size) if isinstance(size, int) else size
    if how not in ("shortest", "squash") or told["interpolation"] not in FILTERS:
        raise SystemExit(f"Pictures made {how!r} by {told['interpolation']!r} cannot be said here.")
    crop = how == "shortest"
    sides = {"height": height, "width": width}
    return {
        "do_resize": True, "do_rescale": True, "rescale_factor": 1 / 255, "do_normalize": True,
        "image_mean": list(told["mean"]), "image_std": list(told["std"]),
        "resample": FILTERS[told["interpolation"]], "do_center_crop": crop, "crop_size": sides,
        "size": {"shortest_edge": min(height, width)} if crop else sides,
    }  # fmt: skip


def export(model: Any, tokenizer: Any, folder: Path) -> None:
    """Write the folder."""
    import torch

    class Tower(torch.nn.Module):
        def __init__(self, encode: str) -> None:
            super().__init__()
            self.model, self.encode = model, encode

        def forward(self, given: Any) -> Any:
            return getattr(self.model, self.encode)(given)

    told = preprocessor_config(model.visual.preprocess_cfg)
    made, sides = tokenizer_json(tokenizer), told["crop_size"]
    (folder / "onnx").mkdir(parents=True, exist_ok=True)
    (folder / "preprocessor_config.json").write_text(json.dumps(told, indent=1))
    made.save(str(folder / "tokenizer.json"))
    pixels = torch.rand(2, 3, sides["height"], sides["width"])
    for name, encode, given, exits in (
        ("vision_model", "encode_image", ("pixel_values", pixels), "image_embeds"),
        ("text_model", "encode_text", ("input_ids", tokenizer(["a", "b c"])), "text_embeds"),
    ):
        file = folder / "onnx" / f"{name}.onnx"
        torch.onnx.export(
            Tower(encode).eval(), (given[1],), str(file), input_names=[given[0]],
            output_names=[exits], dynamic_shapes=({0: torch.export.Dim("n")},), dynamo=True,
            external_data=False, verbose=False,
        )  # fmt: skip


def differences(model: Any, tokenizer: Any, folder: Path) -> list[str]:
    """What the folder says otherwise than open_clip, a sentence each."""
    import onnxruntime
    import tokenizers
    import torch

    made = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    made.enable_truncation(tokenizer.context_length)
    tokens = tokenizer(SENTENCES)
    told = [
        f"The text {text[:40]!r} is cut otherwise."
        for text, row in zip(SENTENCES, tokens)
        if made.encode(text).ids != row.tolist()
    ]
    sides = json.loads((folder / "preprocessor_config.json").read_text())["crop_size"]
    pixels = torch.rand(3, 3, sides["height"], sides["width"])
    with torch.no_grad():
        wanted = model.encode_image(pixels), model.encode_text(tokens)
    for name, given, vectors in zip(("vision_model", "text_model"), (pixels, tokens), wanted):
        session = onnxruntime.InferenceSession(
            folder / "onnx" / f"{name}.onnx", providers=["CPUExecutionProvider"]
        )
        (found,) = session.run(None, {session.get_inputs()[0].name: given.numpy()})
        one, other = (
            rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (found, vectors.numpy())
        )
        apart = float(np.abs(one - other).max())
        print(f"{name}: vectors differ by at most {apart:.1e}")
        if not apart <= CLOSE:
            told.append(f"The vectors of {name}.onnx are not those of open_clip.")
    return told


def main(name: str, weights: str, folder: Path) -> None:
    """Load, export, compare."""
    import open_clip

    model = open_clip.create_model(name, pretrained=weights or None).float().eval()
    tokenizer = open_clip.get_tokenizer(name)
    export(model, tokenizer, folder)
    told = differences(model, tokenizer, folder)
    print("\n".join(told) or f"{folder} is ready: likewise index --features clip:{folder}")
    sys.exit(bool(told))


if __name__ == "__main__":
    if len(sys.argv) != 4:
        raise SystemExit("usage: python scripts/export_open_clip.py MODEL WEIGHTS FOLDER")
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
