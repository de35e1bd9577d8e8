"""Picture to vector: colour, texture, shape, Gist, deep, or any ONNX network, also one that reads.

A block of features is a small class with a ``name``, a ``dim``, a ``version`` and a call that
takes pictures (height x width x 3, uint8, sRGB) and gives one float32 row each.  A
:class:`FeatureSet` runs several blocks on the same pictures and shares their work: one resize
a size, one pass of the network for both of its blocks.

    >>> from likewise.features import DEFAULT, feature_set
    >>> blocks = feature_set(DEFAULT).blocks
    >>> blocks["deep"], blocks["texture"]
    (1280, 18)
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from likewise.types import BadInput, Features, Registry

if TYPE_CHECKING:
    from likewise.features.deep import Network
    from likewise.features.pictures import Picture

__all__ = [
    "ARITHMETICS", "DEFAULT", "NETWORKS", "REGISTRY", "FeatureSet", "block_of", "feature_set",
    "is_elsewhere", "named", "network_of",
]  # fmt: skip

DEFAULT = ("deep", "logits", "colour", "texture", "shape")
"""Blocks of the default space."""

ELSEWHERE = ("onnx", "clip")
"""Networks that a person brings: ``onnx:FILE``, ``clip:FOLDER``."""
BOTH = ("deep", "logits")
"""Blocks that one pass of the network gives."""
NETWORKS, ARITHMETICS = ("lite0", "lite1", "lite2"), ("float32", "int8")
"""Networks and ways to compute them; the first of both is what a block's plain name means."""


def named(block: str, network: str = "lite0", arithmetic: str = "float32") -> str:
    """The name of a block that a network gives: ``deep``, ``deep-lite2``, ``deep-lite0-int8``."""
    if network not in NETWORKS:
        raise BadInput(f"The network is one of {', '.join(NETWORKS)}, not {network!r}.")
    if arithmetic not in ARITHMETICS:
        raise BadInput(f"The arithmetic is one of {', '.join(ARITHMETICS)}, not {arithmetic!r}.")
    if arithmetic != ARITHMETICS[0]:
        return f"{block}-{network}-{arithmetic}"
    return block if network == NETWORKS[0] else f"{block}-{network}"


def block_of(name: str) -> str:
    """The kind of a block, whichever network gives it: ``deep`` of ``deep-lite2``."""
    block = name.partition(":")[0].partition("-")[0]
    return block if block in (*BOTH, *ELSEWHERE) else name


def is_elsewhere(name: str) -> bool:
    """Whether a network that a person brought gives a block."""
    return block_of(name) in ELSEWHERE


def network_of(names: Sequence[str]) -> tuple[str, str] | None:
    """Network and arithmetic of these blocks; None where no network gives one of them."""
    for name in names:
        if block_of(name) in BOTH:
            _, network, arithmetic = [*name.split("-"), "", ""][:3]
            return network or NETWORKS[0], arithmetic or ARITHMETICS[0]
    return None


REGISTRY = Registry(
    {
        "deep": "likewise.features.deep:Deep",
        "logits": "likewise.features.deep:Logits",
        "colour": "likewise.features.colour:Colour",
        "hsv_histogram": "likewise.features.colour:HsvHistogram",
        "spatial_colour": "likewise.features.colour:SpatialColour",
        "correlogram": "likewise.features.colour:Correlogram",
        "texture": "likewise.features.texture:Texture",
        "shape": "likewise.features.shape:Shape",
        "gist": "likewise.features.gist:Gist",
        "local": "likewise.features.local:Local",
    }
)
"""Every block by name; those of :data:`BOTH` are made with the network that they share."""


class FeatureSet:
    """Several blocks of features, computed together.

    Made by :func:`feature_set`.  It can be sent to another process; each process opens its
    own network.
    """

    def __init__(self, features: Sequence[Features]) -> None:
        self._features = tuple(features)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the blocks, in order."""
        return tuple(feature.name for feature in self._features)

    @property
    def blocks(self) -> dict[str, int]:
        """Dimension by name of the block."""
        return {feature.name: feature.dim for feature in self._features}

    @property
    def versions(self) -> dict[str, str]:
        """Version by name of the block."""
        return {feature.name: feature.version for feature in self._features}

    @property
    def version(self) -> str:
        """Hash of all names and versions: the same means that vectors can be compared."""
        text = "\n".join(f"{name}={version}" for name, version in self.versions.items())
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def __call__(self, pictures: Sequence[Picture]) -> dict[str, NDArray[np.float32]]:
        """One float32 matrix a block, one row a picture."""
        from likewise.features.pictures import Batch

        batch = Batch.of(pictures)
        out: dict[str, NDArray[np.float32]] = {}
        passes: dict[Network, Any] = {}
        for feature in self._features:
            network, output = getattr(feature, "network", None), getattr(feature, "output", 0)
            if network is None:
                out[feature.name] = feature(batch)
                continue
            if network not in passes:
                passes[network] = network.both(batch)
            out[feature.name] = passes[network][output]
        return out

    def read(self, text: str) -> dict[str, NDArray[np.float32]]:
        """A text as the blocks that read see it."""
        return {f.name: f.read(text) for f in self._features if hasattr(f, "read")}


def feature_set(names: Sequence[str] = DEFAULT, *, threads: int = 1) -> FeatureSet:
    """The named blocks as one set; a pass of a network runs in so many threads.

    Names are keys of :data:`REGISTRY`, what :func:`named` makes of the deep ones, ``onnx:FILE`` for
    a network with its JSON file beside it, or ``clip:FOLDER`` for one that reads words too; with
    the block's own name before the colon, other files than those it had are refused.
    """
    if isinstance(names, str) or not names:
        raise BadInput("Name at least one block of features, as a list of names.")
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
        raise BadInput(f"threads must be a whole number of at least 1, not {threads!r}.")
    from likewise.features.clip import Clip
    from likewise.features.deep import Network
    from likewise.features.onnx_file import OnnxFile

    networks: dict[tuple[str, str], Network] = {}
    features: list[Features] = []
    for name in names:
        block, _, place = name.partition(":")
        if is_elsewhere(name) and place:
            made_of: Any = Clip if block_of(name) == "clip" else OnnxFile
            features.append(made_of(place, block if "-" in block else "", threads=threads))
        elif (choice := network_of([name])) is not None:
            network = networks.setdefault(choice, Network(*choice, threads=threads))
            features.append(REGISTRY[block_of(name)](network))
        elif name in REGISTRY:
            features.append(REGISTRY[name]())
        else:
            raise BadInput(
                f"There are no features called {name!r}; choose among {', '.join(REGISTRY)} "
                "or onnx:FILE or clip:FOLDER."
            )
    made = [feature.name for feature in features]
    twice = [name for name in made if made.count(name) > 1]
    if twice:
        raise BadInput(f"The block {twice[0]!r} is named twice; name each block once.")
    return FeatureSet(features)
