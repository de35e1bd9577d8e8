"""Deep features: an EfficientNet-Lite by onnxruntime, two blocks from one pass.

* ``deep``: the 1,280 pooled activations, each in [0, 6] (ReLU6), no normalisation.
* ``logits``: the 1,000 ImageNet logits before the softmax, roughly in [-10, 20]; they serve
  as the stand-in for the fc8 layer of Yao et al. and give automatic tags.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from likewise.features import named
from likewise.features.deep_graph import CLASSES, GRAPH_VERSION, POOLED, SCALES, graph_bytes
from likewise.features.pictures import Batch, Picture

CHUNK = 16
"""Pictures a run of the network: more gain nothing on a CPU and cost memory."""


class Network:
    """``lite0``, ``lite1`` or ``lite2`` (fast to exact), opened when first used.

    ``int8`` is about twice as fast as ``float32`` on a CPU with VNNI instructions, a little less
    exact.  The graph is cached in ``folder``, the user's cache folder unless told otherwise.
    """

    def __init__(
        self,
        network: str = "lite0",
        arithmetic: str = "float32",
        *,
        threads: int = 1,
        folder: Path | None = None,
    ) -> None:
        named("", network, arithmetic)  # refuses what there is not
        self.network, self.arithmetic = network, arithmetic
        self.threads, self.folder = threads, folder
        self._session: Any = None

    @property
    def version(self) -> str:
        """Changes whenever the numbers would."""
        return f"efficientnet-{self.network}-{GRAPH_VERSION}-{self.arithmetic}"

    def __getstate__(self) -> dict[str, Any]:
        # a session cannot cross to another process; the other side makes its own
        return {**self.__dict__, "_session": None}

    def both(self, pictures: Sequence[Picture]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """(pooled, logits) of the pictures."""
        tensor = Batch.of(pictures).bicubic(SCALES[self.network].side)
        pooled = np.empty((len(tensor), POOLED), dtype=np.float32)
        logits = np.empty((len(tensor), CLASSES), dtype=np.float32)
        session = self._opened()
        for at in range(0, len(tensor), CHUNK):
            part = slice(at, at + CHUNK)
            pooled[part], logits[part] = session.run(
                ["pooled", "logits"], {"pictures": tensor[part]}
            )
        return pooled, logits

    def _opened(self) -> Any:
        if self._session is None:
            self._session = open_session(
                graph_bytes(self.network, self.arithmetic, folder=self.folder), self.threads
            )
        return self._session


def open_session(model: bytes | str, threads: int) -> Any:
    """An onnxruntime session on the CPU that keeps to its threads and its memory."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # idle threads must sleep: other processes want the cores
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # without VNNI, sums of two int8 products saturate unless this is asked for
    options.add_session_config_entry("session.x64quantprecision", "1")
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


class _Head:
    """One of the two outputs of the network."""

    block: ClassVar[str]
    output: ClassVar[int]

    def __init__(self, network: Network | None = None) -> None:
        self.network = network or Network()
        self.name = named(self.block, self.network.network, self.network.arithmetic)

    @property
    def version(self) -> str:
        """Changes whenever the numbers would."""
        return self.network.version

    def __call__(self, pictures: Sequence[Picture]) -> NDArray[np.float32]:
        """One row a picture."""
        return self.network.both(pictures)[self.output]


class Deep(_Head):
    """The 1,280 pooled activations of the network, each in [0, 6]."""

    block: ClassVar[str] = "deep"
    dim, output = POOLED, 0


class Logits(_Head):
    """The 1,000 ImageNet logits of the network."""

    block: ClassVar[str] = "logits"
    dim, output = CLASSES, 1
