"""EfficientNet-Lite as an ONNX graph, in float32 or static int8, built once and cached.

The network (Tan and Le, "EfficientNet", 2019, in its "Lite" form without squeeze-and-excite
and with ReLU6) is a stem, inverted bottlenecks (16 in lite0, 21 in lite1 and lite2) and a head.
:func:`layers` writes it down as a plain list; :func:`build` turns that list and the weights into a
graph with

* input ``pictures``: uint8, n x side x side x 3, and
* outputs ``pooled`` (n x 1,280) and ``logits`` (n x 1,000).

docs/features.md tells the details that decide whether the numbers are right.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.features.deep_ranges import RANGES
from likewise.features.deep_weights import Weights, load_weights
from likewise.files import write_file

POOLED, CLASSES = 1280, 1000
EPSILON = 1e-3
GRAPH_VERSION = 1


class Scale(NamedTuple):
    """How a network of the family differs from lite0, and the side of the pictures it takes."""

    width: float
    depth: float
    side: int


SCALES = {
    "lite0": Scale(1.0, 1.0, 224),
    "lite1": Scale(1.0, 1.1, 240),
    "lite2": Scale(1.1, 1.2, 260),
}

# repeats, kernel, stride of the first, expansion, channels out
STAGES = (
    (1, 3, 1, 1, 16),
    (2, 3, 2, 6, 24),
    (2, 5, 2, 6, 40),
    (3, 3, 2, 6, 80),
    (3, 5, 1, 6, 112),
    (4, 5, 2, 6, 192),
    (1, 3, 1, 6, 320),
)


class Layer(NamedTuple):
    """A convolution with its batch norm; ``skip`` names the activation that is added after."""

    name: str
    source: str
    conv: str
    norm: str
    kernel: int
    stride: int
    depthwise: bool
    relu6: bool
    skip: str | None


def layers(network: str = "lite0") -> Iterator[Layer]:
    """All convolutions, in the order in which they run."""
    scale = SCALES[network]
    yield Layer("stem", "input", "_conv_stem", "_bn0", 3, 2, False, True, None)
    here, channels, number = "stem", 32, 0
    for repeats, kernel, first_stride, expansion, thin in STAGES:
        wide = max(8, int(thin * scale.width + 4) // 8 * 8)
        for repeat in range(repeats if repeats == 1 else math.ceil(repeats * scale.depth)):
            stride = first_stride if repeat == 0 else 1
            stem, block, source = f"_blocks.{number}.", f"b{number}.", here
            if expansion > 1:
                conv, norm = stem + "_expand_conv", stem + "_bn0"
                yield Layer(block + "expand", here, conv, norm, 1, 1, False, True, None)
                here = block + "expand"
            conv, norm = stem + "_depthwise_conv", stem + "_bn1"
            yield Layer(block + "depth", here, conv, norm, kernel, stride, True, True, None)
            skip = source if stride == 1 and channels == wide else None
            conv, norm = stem + "_project_conv", stem + "_bn2"
            name = block + "project"
            yield Layer(name, block + "depth", conv, norm, 1, 1, False, False, skip)
            here, channels, number = block + "sum" if skip else name, wide, number + 1
    yield Layer("head", here, "_conv_head", "_bn1", 1, 1, False, True, None)


def folded(weights: Weights, layer: Layer) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Kernel and bias of a convolution with its batch norm folded in."""
    gamma, beta, mean, variance = (
        weights[f"{layer.norm}.{part}"].astype(np.float64)
        for part in ("weight", "bias", "running_mean", "running_var")
    )
    gain = gamma / np.sqrt(variance + EPSILON)
    kernel = weights[f"{layer.conv}.weight"].astype(np.float64)
    return kernel * gain[:, None, None, None], beta - mean * gain


def build(weights: Weights, network: str = "lite0", arithmetic: str = "float32") -> bytes:
    """The serialised graph of one of :data:`SCALES`, in ``float32`` or ``int8``."""
    import onnx
    from onnx import TensorProto, helper

    graph = _Graph(RANGES[network] if arithmetic == "int8" else None)
    graph.node("Transpose", ["pictures"], "input.u8", perm=[0, 3, 1, 2])
    # (x - 127) / 128 is what dequantising uint8 with this scale and zero point means
    graph.dequantise("input.u8", "input", np.float32(1 / 128), np.uint8(127))
    graph.scale["input"] = 1 / 128
    side = size = SCALES[network].side
    for layer in layers(network):
        size = graph.convolution(layer, *folded(weights, layer), size)
        if layer.skip:
            graph.add(layer)
    graph.node("GlobalAveragePool", ["head"], "pooled.map")
    graph.node("Flatten", ["pooled.map"], "pooled")
    graph.constant("fc.weight", weights["_fc.weight"])
    graph.constant("fc.bias", weights["_fc.bias"])
    graph.node("Gemm", ["pooled", "fc.weight", "fc.bias"], "logits", transB=1)

    names = {"pooled": [POOLED], "logits": [CLASSES]}
    outputs = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", *shape])
        for name, shape in names.items()
    ]
    pictures = helper.make_tensor_value_info("pictures", TensorProto.UINT8, ["n", side, side, 3])
    model = helper.make_model(
        helper.make_graph(
            graph.nodes, f"efficientnet-{network}", [pictures], outputs, graph.constants
        ),
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=8,
        producer_name="likewise",
    )
    onnx.checker.check_model(model)
    data: bytes = model.SerializeToString(deterministic=True)
    return data


class _Graph:
    """Nodes and constants as they are added; in int8 every activation is rounded at once."""

    def __init__(self, ranges: Mapping[str, tuple[float, float]] | None) -> None:
        self.ranges, self.int8 = ranges or {}, ranges is not None
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.scale: dict[str, float] = {}

    def node(self, kind: str, inputs: list[str], output: str, **attributes: Any) -> None:
        from onnx import helper

        self.nodes.append(helper.make_node(kind, inputs, [output], name=output, **attributes))

    def constant(self, name: str, value: Any) -> str:
        from onnx import numpy_helper

        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def dequantise(self, source: str, output: str, scale: Any, zero: Any, **axis: int) -> None:
        inputs = [
            source,
            self.constant(output + ".scale", scale),
            self.constant(output + ".zero", zero),
        ]
        self.node("DequantizeLinear", inputs, output, **axis)

    def activation(self, name: str, relu6: bool) -> str:
        """Name under which the raw result is to be made so that ``name`` is its activation."""
        return name + ".raw" if self.int8 or relu6 else name

    def close(self, name: str, relu6: bool) -> None:
        """Turn ``name.raw`` into the activation ``name``."""
        if not self.int8:
            if relu6:
                low = self.constant(name + ".low", np.float32(0))
                high = self.constant(name + ".high", np.float32(6))
                self.node("Clip", [name + ".raw", low, high], name)
            return
        least, most = (0.0, 6.0) if relu6 else self.ranges[name]
        self.scale[name] = (most - least) / 255
        zero = np.uint8(round(-least / self.scale[name]))
        step = self.constant(name + ".step", np.float32(self.scale[name]))
        self.node(
            "QuantizeLinear",
            [name + ".raw", step, self.constant(name + ".at", zero)],
            name + ".u8",
        )
        self.dequantise(name + ".u8", name, np.float32(self.scale[name]), zero)

    def convolution(
        self, layer: Layer, kernel: NDArray[np.float64], bias: NDArray[np.float64], size: int
    ) -> int:
        """Add one convolution with its activation; return the side of its output."""
        name = layer.name
        if self.int8:
            self._int8_weights(layer, kernel, bias)
        else:
            self.constant(name + ".w", kernel.astype(np.float32))
            self.constant(name + ".b", bias.astype(np.float32))
        out = -(-size // layer.stride)
        odd = max((out - 1) * layer.stride + layer.kernel - size, 0)
        self.node(
            "Conv",
            [layer.source, name + ".w", name + ".b"],
            self.activation(name, layer.relu6),
            kernel_shape=[layer.kernel] * 2,
            strides=[layer.stride] * 2,
            pads=[odd // 2, odd // 2, odd - odd // 2, odd - odd // 2],
            group=len(kernel) if layer.depthwise else 1,
        )
        self.close(name, layer.relu6)
        return out

    def _int8_weights(
        self, layer: Layer, kernel: NDArray[np.float64], bias: NDArray[np.float64]
    ) -> None:
        """Weights with one scale a channel, and the bias in units of input times weight."""
        name = layer.name
        source = self.scale[layer.source]
        scale = np.abs(kernel).max(axis=(1, 2, 3)) / 127
        # a channel with hardly any weights still needs a unit in which its bias fits int32
        scale = np.maximum(scale, np.abs(bias) / source / 2**30 + 1e-12).astype(np.float32)
        rounded = np.rint(kernel / scale[:, None, None, None]).clip(-127, 127).astype(np.int8)
        self.constant(name + ".w8", rounded)
        self.dequantise(name + ".w8", name + ".w", scale, np.zeros(len(scale), np.int8), axis=0)
        unit = np.float32(source) * scale
        self.constant(name + ".b32", np.rint(bias / unit).astype(np.int32))
        zero = np.zeros(len(scale), np.int32)
        self.dequantise(name + ".b32", name + ".b", unit, zero, axis=0)

    def add(self, layer: Layer) -> None:
        """Add the skipped activation to a bottleneck's output."""
        name = layer.name.replace("project", "sum")
        assert layer.skip is not None
        self.node("Add", [layer.name, layer.skip], self.activation(name, False))
        self.close(name, False)


# -- The cache: one file whose name carries the checksum of its content --------


def cache_folder() -> Path:
    """The folder for files that can be made again: ``likewise`` in the user's cache folder."""
    root = os.environ.get("XDG_CACHE_HOME") or ""
    base = Path(root) if Path(root).is_absolute() else Path.home() / ".cache"
    return base / "likewise"


def graph_bytes(
    network: str = "lite0", arithmetic: str = "float32", *, folder: Path | None = None
) -> bytes:
    """The graph from the cache; built and put there where it is missing or damaged.

    A folder that cannot be written costs only the time to build (about a second).
    """
    folder = folder or cache_folder()
    stem = f"efficientnet-{network}-{GRAPH_VERSION}-{arithmetic}-"
    for file in sorted(folder.glob(stem + "*.onnx")):
        try:
            data = file.read_bytes()
        except OSError:
            continue
        if file.name == stem + _checksum(data) + ".onnx":
            return data
        file.unlink(missing_ok=True)  # cut short or altered: never load it
    data = build(load_weights(network), network, arithmetic)
    with contextlib.suppress(OSError):
        write_file(folder / f"{stem}{_checksum(data)}.onnx", [data], durable=False)
    return data


def _checksum(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]
