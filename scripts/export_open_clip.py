"""An open_clip network as a folder that ``likewise index --features clip:FOLDER`` takes.

    pip install open_clip_torch onnx onnxscript transformers
    python scripts/export_open_clip.py ViT-B-32 laion2b_s34b_b79k FOLDER

Give ``-`` for the weights to get random ones (for a test).  Needs nothing of likewise.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

SAMPLE = 2


def main() -> None:
    """Export what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, says in (("model", "for instance ViT-B-32"), ("weights", "their name, or -"),
                       ("folder", "made where it is not there")):  # fmt: skip
        parser.add_argument(name, help=says)
    given = parser.parse_args()
    export(given.model, None if given.weights == "-" else given.weights, Path(given.folder))


def export(name: str, weights: str | None, folder: Path) -> Any:
    """Write both towers, the tokenizer and what is done to a picture first."""
    import open_clip
    import torch

    model, _, after = open_clip.create_model_and_transforms(name, pretrained=weights)
    model = model.eval()
    (folder / "onnx").mkdir(parents=True, exist_ok=True)
    config = open_clip.get_model_config(name)
    length = config["text_cfg"].get("context_length", 77)
    side = model.visual.image_size
    side = side if isinstance(side, int) else side[0]

    class Tower(torch.nn.Module):
        def __init__(self, encode: Any) -> None:
            super().__init__()
            self.model, self.encode = model, encode

        def forward(self, x: Any) -> Any:
            return self.encode(x)

    towers = [
        ("vision_model", model.encode_image, torch.zeros(SAMPLE, 3, side, side), "pixel_values",
         "image_embeds"),
        ("text_model", model.encode_text, torch.ones(SAMPLE, length, dtype=torch.long), "input_ids",
         "text_embeds"),
    ]  # fmt: skip
    for file, encode, sample, given, gives in towers:
        torch.onnx.export(
            Tower(encode), (sample,), str(folder / "onnx" / f"{file}.onnx"), input_names=[given],
            output_names=[gives], dynamic_axes={given: {0: "batch"}, gives: {0: "batch"}},
            opset_version=17, dynamo=False,
        )  # fmt: skip
    normalise = next(step for step in after.transforms if hasattr(step, "mean"))
    squash = getattr(model.visual, "preprocess_cfg", {}).get("resize_mode") == "squash"
    told: dict[str, Any] = {
        "image_mean": list(map(float, normalise.mean)),
        "image_std": list(map(float, normalise.std)),
        "resample": 3,
        "do_center_crop": not squash,
        "size": {"height": side, "width": side} if squash else {"shortest_edge": side},
        "crop_size": {"height": side, "width": side},
    }
    (folder / "preprocessor_config.json").write_text(json.dumps(told, indent=1))
    write_tokenizer(config["text_cfg"], length, folder)
    return model


def write_tokenizer(config: dict[str, Any], length: int, folder: Path) -> None:
    """CLIP's own words with their merges, or the tokenizer that the text tower names."""
    named = config.get("hf_tokenizer_name")
    if named:
        from transformers import AutoTokenizer

        AutoTokenizer.from_pretrained(named).save_pretrained(folder)
        return
    from open_clip.tokenizer import SimpleTokenizer
    from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers
    from tokenizers.processors import RobertaProcessing

    own = SimpleTokenizer()
    made = Tokenizer(
        models.BPE(
            dict(own.encoder),
            [*own.bpe_ranks],
            end_of_word_suffix="</w>",
            unk_token="<end_of_text>",
        )
    )
    made.normalizer = normalizers.Sequence(
        [normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()]
    )
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(
                Regex(r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"), "removed", True
            ),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    made.decoder = decoders.ByteLevel()
    start, end = own.sot_token_id, own.eot_token_id
    made.post_processor = RobertaProcessing(
        ("<end_of_text>", end),
        ("<start_of_text>", start),
        trim_offsets=False,
        add_prefix_space=False,
    )
    made.enable_padding(pad_id=0, pad_token="!")
    made.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({"model_max_length": length}))


if __name__ == "__main__":
    main()
