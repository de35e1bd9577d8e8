"""Picture to vector: colour, texture, shape, Gist, deep, or any ONNX network.

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
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from likewise.types import BadInput, Features, Registry

if TYPE_CHECKING:
    from likewise.features.deep import Network
    from likewise.features.pictures import Picture

__all__ = ["DEFAULT", "REGISTRY", "FeatureSet", "feature_set"]

DEFAULT = ("deep", "logits", "colour", "texture", "shape")
"""Blocks of the default space."""

ONNX = "onnx:"
BOTH = ("deep", "logits")
"""Blocks that one pass of the network gives."""


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

    def __init__(self, features: Sequence[Features], network: Network) -> None:
        self._features = tuple(features)
        self._network = network

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
        for feature in self._features:
            if feature.name not in BOTH:
                out[feature.name] = feature(batch)
            elif feature.name not in out:
                out.update(zip(BOTH, self._network.both(batch)))
        return {name: out[name] for name in self.names}


def feature_set(
    names: Sequence[str] = DEFAULT, *, precision: str = "float32", threads: int = 1
) -> FeatureSet:
    """The named blocks as one set.

    Parameters
    ----------
    names
        Keys of :data:`REGISTRY`, or ``onnx:FILE`` for a network with its JSON file beside it.
    precision
        ``float32`` or ``int8`` for the deep blocks.
    threads
        Threads of one pass of a network; 1 where several processes share the cores.
    """
    if isinstance(names, str) or not names:
        raise BadInput("Name at least one block of features, as a list of names.")
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
        raise BadInput(f"threads must be a whole number of at least 1, not {threads!r}.")
    from likewise.features.deep import Network
    from likewise.features.onnx_file import OnnxFile

    network = Network(precision, threads=threads)
    features: list[Features] = []
    for name in names:
        if name.startswith(ONNX):
            features.append(OnnxFile(name.removeprefix(ONNX), threads=threads))
        elif name in REGISTRY:
            features.append(REGISTRY[name](*[network] * (name in BOTH)))
        else:
            raise BadInput(
                f"There are no features called {name!r}; choose among {', '.join(REGISTRY)} "
                "or onnx:FILE."
            )
    made = [feature.name for feature in features]
    twice = [name for name in made if made.count(name) > 1]
    if twice:
        raise BadInput(f"The block {twice[0]!r} is named twice; name each block once.")
    return FeatureSet(features, network)
