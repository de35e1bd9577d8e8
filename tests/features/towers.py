"""Small real networks that see colours and read their names, in the layouts of real exports.

The tower for pictures is solved on swatches: random filters of one pixel, averaged, and a linear
map to the vectors of the colours' names.  The tower for texts adds up the vectors of its tokens.
"""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from PIL import Image
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from likewise.datasets import swatches
from likewise.features.pictures import Picture

SIDE, FILTERS, DIM = 32, 96, 24
COLOURS = (
    "red", "orange", "olive", "green", "teal", "blue", "purple", "pink", "brown", "yellow", "grey",
    "black",
)  # fmt: skip
MEAN, STD = (0.48, 0.46, 0.41), (0.27, 0.26, 0.28)
LAYOUTS = ("clip", "siglip", "mobileclip")
SPECIAL = ["<pad>", "<start>", "<end>", "<unknown>"]
WORDS = [*SPECIAL, *COLOURS, "a", "photo", "of", ".", "pattern"]


def colour_pictures(count: int, seed: int) -> tuple[list[Picture], list[str]]:
    """Swatches whose colour has a name that the towers know, and that name."""
    drawn = swatches(count, size=64, seed=seed)
    kept = [at for at, name in enumerate(drawn.truth["colour"]) if str(name) in COLOURS]
    pictures = drawn.render_all(jobs=1)
    return [pictures[at] for at in kept], [str(drawn.truth["colour"][at]) for at in kept]


@lru_cache(maxsize=1)
def weights() -> dict[str, Any]:
    """All numbers of both towers."""
    rng = np.random.default_rng(0)
    table = np.zeros((len(WORDS), DIM), np.float32)
    table[len(SPECIAL) : len(SPECIAL) + len(COLOURS)] = np.linalg.qr(rng.normal(size=(DIM, DIM)))[
        0
    ][: len(COLOURS)]
    table[-5:] = rng.normal(size=(5, DIM)) * 0.02
    filters = rng.normal(size=(FILTERS, 3)).astype(np.float32) * 2
    bias = rng.normal(size=FILTERS).astype(np.float32)
    pictures, names = colour_pictures(500, seed=7)
    x = np.array([np.asarray(Image.fromarray(p).resize((SIDE, SIDE))) for p in pictures]) / 255
    x = (x - MEAN) / STD
    seen = np.maximum(x @ filters.T + bias, 0).mean(axis=(1, 2))
    seen = np.c_[seen, np.ones(len(seen))]
    wanted = table[[WORDS.index(name) for name in names]]
    solved = np.linalg.solve(seen.T @ seen + 1e-3 * np.eye(FILTERS + 1), seen.T @ wanted)
    return {"table": table, "filters": filters, "bias": bias, "map": solved.astype(np.float32)}


def _saved(path: Path, nodes: list[Any], entries: list[Any], exits: list[Any], **held: Any) -> None:
    given = [numpy_helper.from_array(np.asarray(v), k) for k, v in held.items()]
    graph = helper.make_graph(nodes, "tower", entries, exits, given)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(model, str(path))


def _vision(path: Path, output: str, normal: bool) -> None:
    w = weights()
    filters, bias = w["filters"], w["bias"]
    if not normal:  # the pixels come in [0, 1]
        filters = filters / np.array(STD)
        bias = bias - filters @ np.array(MEAN)
    node = helper.make_node
    _saved(
        path,
        [
            node("Conv", ["pixel_values", "filters", "bias"], ["c"]),
            node("Relu", ["c"], ["r"]),
            node("GlobalAveragePool", ["r"], ["g"]),
            node("Flatten", ["g"], ["f"]),
            node("Gemm", ["f", "map", "rest"], [output]),
            node("Identity", ["r"], ["last_hidden_state"]),
        ],
        [helper.make_tensor_value_info("pixel_values", TensorProto.FLOAT, ["n", 3, SIDE, SIDE])],
        [
            helper.make_tensor_value_info(
                "last_hidden_state", TensorProto.FLOAT, ["n", FILTERS, SIDE, SIDE]
            ),
            helper.make_tensor_value_info(output, TensorProto.FLOAT, ["n", DIM]),
        ],
        filters=filters[:, :, None, None].astype(np.float32), bias=bias.astype(np.float32),
        map=w["map"][:-1], rest=w["map"][-1],
    )  # fmt: skip


def _text(path: Path, layout: str, output: str, dim: int = DIM, rows: int = len(WORDS)) -> None:
    """Adds up its tokens; siglip's says nothing unless the row is filled up to 64 places."""
    node, table = helper.make_node, weights()["table"][:rows, :dim]
    length: Any = 77 if layout == "mobileclip" else "length"
    ids = helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["n", length])
    mask = helper.make_tensor_value_info("attention_mask", TensorProto.INT64, ["n", length])
    nodes, held, entries = [node("Gather", ["table", "input_ids"], ["t"])], {}, [ids]
    if layout == "clip":
        entries.append(mask)
        nodes += [
            node("Cast", ["attention_mask"], ["m"], to=TensorProto.FLOAT),
            node("Unsqueeze", ["m", "two"], ["mm"]),
            node("Mul", ["t", "mm"], ["heard"]),
        ]
        held["two"] = np.array([2])
    elif layout == "siglip":
        nodes += [
            node("Slice", ["input_ids", "last", "end", "one"], ["l"]),
            node("Cast", ["l"], ["lf"], to=TensorProto.FLOAT),
            node("Mul", ["lf", "zero"], ["lz"]),
            node("Add", ["lz", "unit"], ["ones"]),
            node("ReduceSum", ["ones", "one"], ["is_full"], keepdims=1),
            node("Unsqueeze", ["is_full", "one"], ["whole"]),
            node("Mul", ["t", "whole"], ["heard"]),
        ]
        held |= {"last": np.array([63]), "end": np.array([64]), "zero": np.float32(0)}
        held["unit"] = np.float32(1)
    else:
        nodes.append(node("Identity", ["t"], ["heard"]))
    nodes.append(node("ReduceSum", ["heard", "one"], [output], keepdims=0))
    out = helper.make_tensor_value_info(output, TensorProto.FLOAT, ["n", dim])
    _saved(path, nodes, entries, [out], table=table, one=np.array([1]), **held)


def tokenizer(words: list[str] = WORDS) -> Tokenizer:
    made = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="<unknown>"))
    made.normalizer = normalizers.Lowercase()
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.TemplateProcessing(
        single="<start> $A <end>", special_tokens=[("<start>", 1), ("<end>", 2)]
    )
    return made


def towers(folder: Path, layout: str = "clip", **text: int) -> Path:
    """A folder as it would be downloaded."""
    folder.mkdir(parents=True, exist_ok=True)
    pooled = layout == "siglip"
    normal = layout != "mobileclip"
    _vision(
        folder / "onnx/vision_model.onnx", "pooler_output" if pooled else "image_embeds", normal
    )
    _text(
        folder / "onnx/text_model.onnx",
        layout,
        "pooler_output" if pooled else "text_embeds",
        **text,
    )
    tokenizer().save(str(folder / "tokenizer.json"))
    told: dict[str, Any] = {
        "do_normalize": normal, "do_rescale": True, "do_resize": True, "rescale_factor": 1 / 255,
        "image_mean": list(MEAN), "image_std": list(STD), "resample": 3 if normal else 2,
    }  # fmt: skip
    if pooled:
        told |= {"size": {"height": SIDE, "width": SIDE}, "processor_class": "SiglipProcessor"}
    else:
        told |= {"size": {"shortest_edge": SIDE}, "do_center_crop": True,
                 "crop_size": {"height": SIDE, "width": SIDE}}  # fmt: skip
    (folder / "preprocessor_config.json").write_text(json.dumps(told))
    config = {"pad_token": {"content": "<pad>"}, "model_max_length": 64 if pooled else 77}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return folder
