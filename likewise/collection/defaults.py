"""The default space: which blocks, how each is reduced, and the plain weight of each.

Chosen on photo sets by ``python -m experiments.features``; docs/features.md has the table.
"""

from __future__ import annotations

from collections.abc import Mapping

from likewise.spaces import BlockSpec

FEATURES = ("deep", "logits", "colour", "texture", "shape")
"""Blocks that are computed for every picture."""

SPECS: Mapping[str, BlockSpec] = {
    "deep": BlockSpec(128),
    "logits": BlockSpec(128),
    "colour": BlockSpec(64, power=0.5),
    "texture": BlockSpec(16),
    "shape": BlockSpec(32, power=0.5),
}

WEIGHTS: Mapping[str, float] = {
    "deep": 1.0,
    "logits": 1.0,
    "colour": 0.7,
    "texture": 0.0,
    "shape": 0.0,
}
"""w0, the plain weight of each block.

A block of weight 0 has no say in plain similarity, but is there to be learned.
"""

OTHER = BlockSpec(128)
"""How a block that is not listed (an ONNX network, own vectors) is reduced; its weight is 1."""


def spec_of(block: str) -> BlockSpec:
    """How a block is reduced."""
    return SPECS.get(block, OTHER)


def weights_of(blocks: tuple[str, ...]) -> dict[str, float]:
    """Plain weight of each block; where none would count, all count alike."""
    weights = {block: WEIGHTS.get(block, 1.0) for block in blocks}
    return weights if any(weights.values()) else dict.fromkeys(blocks, 1.0)
