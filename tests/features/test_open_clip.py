"""The command that turns a network of open_clip into a folder that is read here."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image

from likewise.features.clip import Clip
from tests.features.towers import COLOURS, MEAN, SIDE, STD, colour_pictures, towers

made: Any = importlib.import_module("scripts.export_open_clip")
SMALL = {
    "embed_dim": 32,
    "vision_cfg": {"image_size": 64, "layers": 2, "width": 64, "patch_size": 16, "head_width": 16},
    "text_cfg": {"context_length": 24, "vocab_size": 49408, "width": 32, "heads": 2, "layers": 2},
}


def pairs() -> Any:
    """A tokenizer by pairs of bytes as open_clip has it, with four merges."""
    letters = [chr(c) for c in range(ord("!"), ord("~") + 1)]
    merges = [("r", "e"), ("re", "d</w>"), ("t", "e"), ("te", "a")]
    every = [*letters, *(f"{c}</w>" for c in letters), *map("".join, merges), "<start>", "<end>"]
    return SimpleNamespace(
        encoder={token: at for at, token in enumerate(every)},
        decoder=dict(enumerate(every)),
        bpe_ranks={pair: at for at, pair in enumerate(merges)},
        sot_token_id=len(every) - 2, eot_token_id=len(every) - 1, context_length=12,
        clean_fn=SimpleNamespace(__name__="_clean_lower"),
    )  # fmt: skip


def test_pairs_of_bytes_are_cut_as_open_clip_cuts_them() -> None:
    told = pairs()
    tokenizer = made.tokenizer_json(told)
    tokenizer.enable_truncation(told.context_length)

    def read(text: str) -> list[str]:
        ids = tokenizer.encode(text).ids
        assert len(ids) == told.context_length
        return [told.decoder[at] for at in ids if at]

    assert read("RED  tea") == ["<start>", "red</w>", "te", "a</w>", "<end>"]
    assert read("teapot") == ["<start>", "tea", "p", "o", "t</w>", "<end>"]
    assert read("red, 42") == ["<start>", "red</w>", ",</w>", "4</w>", "2</w>", "<end>"]
    assert read("it's") == ["<start>", "i", "t</w>", "'", "s</w>", "<end>"]
    assert read("") == ["<start>", "<end>"]
    assert read("red " * 40)[-1] == "<end>"  # what is too long is cut, and still ends


def test_a_tokenizer_that_cannot_be_said_is_refused() -> None:
    strange = SimpleNamespace(tokenizer=object(), context_length=9)
    with pytest.raises(SystemExit, match=r"no tokenizer\.json can say"):
        made.tokenizer_json(strange)


@pytest.mark.parametrize("how", ["shortest", "squash"])
def test_what_is_done_to_a_picture_is_read_as_meant(tmp_path: Path, how: str) -> None:
    folder = towers(tmp_path)
    told = {"size": SIDE, "mean": MEAN, "std": STD, "interpolation": "bilinear", "resize_mode": how}
    config = made.preprocessor_config(told)
    (folder / "preprocessor_config.json").write_text(json.dumps(config))
    feature = Clip(folder)
    settings = feature.settings
    assert (settings.height, settings.width, settings.resize) == (SIDE, SIDE, how)
    assert (settings.interpolation, settings.edge) == ("bilinear", SIDE if how == "shortest" else 0)
    np.testing.assert_allclose([settings.mean, settings.std], [MEAN, STD])
    pictures, names = colour_pictures(40, seed=3)
    read = np.array([feature.read(name) for name in COLOURS])
    said = [COLOURS[at] for at in (feature(pictures) @ read.T).argmax(axis=1)]
    assert np.mean([a == b for a, b in zip(said, names)]) > 0.8


def test_a_way_that_is_not_known_here_is_refused() -> None:
    told = {"size": 8, "mean": MEAN, "std": STD, "interpolation": "bicubic"}
    with pytest.raises(SystemExit, match="longest"):
        made.preprocessor_config({**told, "resize_mode": "longest"})


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # those of the exporter are not ours
def test_a_network_of_open_clip_goes_the_whole_way(tmp_path: Path) -> None:
    """Where open_clip is installed: random weights, but its real towers and real tokenizer."""
    open_clip: Any = pytest.importorskip("open_clip")
    torch: Any = pytest.importorskip("torch")
    (tmp_path / "small.json").write_text(json.dumps(SMALL))
    open_clip.add_model_config(tmp_path)
    torch.manual_seed(0)
    model = open_clip.create_model("small").eval()
    tokenizer, folder = open_clip.get_tokenizer("small"), tmp_path / "folder"
    made.export(model, tokenizer, folder)
    assert made.differences(model, tokenizer, folder) == []

    feature = Clip(folder)
    wanted = [model.encode_text(tokenizer([p.format("red car")])) for p in ("{}", "a photo of {}.")]
    rows = [w.detach().numpy()[0] / np.linalg.norm(w.detach().numpy()) for w in wanted]
    mean = np.sum(rows, axis=0)
    np.testing.assert_allclose(feature.read("red car"), mean / np.linalg.norm(mean), atol=1e-4)
    picture = np.random.default_rng(0).integers(0, 256, (64, 64, 3)).astype(np.uint8)
    transforms: Any = importlib.import_module("open_clip.transform")
    config = transforms.PreprocessCfg(**model.visual.preprocess_cfg)
    transform = transforms.image_transform_v2(config, is_train=False)
    seen = model.encode_image(transform(Image.fromarray(picture))[None]).detach().numpy()[0]
    assert feature([picture])[0] @ (seen / np.linalg.norm(seen)) > 0.9999
    other = open_clip.create_model("small").eval()
    assert len(made.differences(other, tokenizer, folder)) == 2  # both towers are of another
