"""Libraries that few calls need, imported when something of them is first used.

``from likewise.later import sparse`` stands for ``from scipy import sparse``: half of the time that
a first search takes from a cold start went into importing scipy and numba, and so did half of the
time until a server answers.  ``njit`` is numba's, which comes with the first call.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pyarrow
    import snowballstemmer as snowballstemmer
    from numba import njit as njit
    from PIL import Image as Image
    from pyarrow import parquet as parquet
    from scipy import linalg as linalg
    from scipy import optimize as optimize
    from scipy import sparse as sparse
    from scipy import special as special
    from scipy.spatial import distance as distance
else:

    class _Later:
        def __init__(self, module: str) -> None:
            self._module = module

        def __getattr__(self, name: str) -> Any:
            found = getattr(import_module(self._module), name)
            setattr(self, name, found)
            return found

    class _Sparse(_Later):
        def issparse(self, x: Any) -> bool:
            """Whether a matrix is sparse: none is, before the library was needed."""
            # While another thread is importing it, no matrix of its kinds is here yet.
            asked = getattr(sys.modules.get(self._module), "issparse", None)
            return asked is not None and bool(asked(x))

    class _Compiled:
        """A function that is compiled, with those it calls, when it is first called."""

        def __init__(self, function: Any, options: dict[str, Any]) -> None:
            self._function, self._options = function, options

        def _compile(self) -> Any:
            around, name = self._function.__globals__, self._function.__name__
            for used in self._function.__code__.co_names:
                if used != name and isinstance(around.get(used), _Compiled):
                    around[used] = around[used]._compile()
            if isinstance(around.get(name), _Compiled):
                around[name] = import_module("numba").njit(**self._options)(self._function)
            return around[name]

        def __call__(self, *given: Any) -> Any:
            return self._compile()(*given)

        def __getattr__(self, name: str) -> Any:
            return getattr(self._compile(), name)

    def njit(**options: Any) -> Any:
        """Numba's decorator, for functions that are compiled when they are first called."""
        return lambda function: _Compiled(function, options)

    linalg, sparse = _Later("scipy.linalg"), _Sparse("scipy.sparse")
    optimize, special = _Later("scipy.optimize"), _Later("scipy.special")
    distance = _Later("scipy.spatial.distance")
    snowballstemmer, Image = _Later("snowballstemmer"), _Later("PIL.Image")
    pyarrow, parquet = _Later("pyarrow"), _Later("pyarrow.parquet")
