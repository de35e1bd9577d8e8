"""The default space: which blocks, how each is reduced, and the plain weight of each.

Chosen on photo sets by ``python -m experiments.features``; docs/features.md has the table.
"""

from __future__ import annotations

from collections.abc import Mapping

from likewise.features import block_of
from likewise.spaces import BlockSpec

FEATURES = ("deep", "logits", "colour", "texture", "shape")
"""Blocks that are computed for every picture."""

NETWORK = ("lite2", "int8")
"""Network and arithmetic of a new collection, by the rule of that experiment."""

SPECS: Mapping[str, BlockSpec] = {
    "deep": BlockSpec(128, power=0.5, unit_first=True),
    "logits": BlockSpec(96, unit_first=True, whiten=0.25),
    "colour": BlockSpec(64, power=0.5),
    "texture": BlockSpec(18, power=0.5, unit_first=True, whiten=0.5),
    "shape": BlockSpec(64, power=0.5, whiten=0.5),
    "clip": BlockSpec(512, unit_first=True),
}

WEIGHTS: Mapping[str, float] = {
    "deep": 1.0,
    "logits": 1.0,
    "colour": 0.3,
    "texture": 0.1,
    "shape": 0.2,
}
"""w0, the plain weight of each block."""

OTHER = BlockSpec(128)
"""How a block that is not listed (an ONNX network, own vectors) is reduced; its weight is 1."""


def spec_of(block: str) -> BlockSpec:
    """How a block is reduced."""
    return SPECS.get(block_of(block), OTHER)


def weights_of(blocks: tuple[str, ...]) -> dict[str, float]:
    """Plain weight of each block; where none would count, all count alike."""
    weights = {block: WEIGHTS.get(block_of(block), 1.0) for block in blocks}
    return weights if any(weights.values()) else dict.fromkeys(blocks, 1.0)
