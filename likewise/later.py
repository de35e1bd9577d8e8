"""Libraries that few calls need, imported when something of them is first used.

``from likewise.later import sparse`` stands for ``from scipy import sparse``: half of the time that
a first search takes from a cold start went into importing scipy and numba.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import snowballstemmer as snowballstemmer
    from PIL import Image as Image
    from scipy import linalg as linalg
    from scipy import sparse as sparse
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

    linalg, sparse = _Later("scipy.linalg"), _Sparse("scipy.sparse")
    snowballstemmer, Image = _Later("snowballstemmer"), _Later("PIL.Image")
