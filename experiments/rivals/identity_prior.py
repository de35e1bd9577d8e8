"""The regulariser |w - 1|^2 of the paper's reference [11]: stay close to plain weights in length
as well as in direction.

The weights of a ranking SVM are small where labels are few and cheap, so a pull to a vector
of fixed length outweighs them or is outweighed: the angle is what the paper makes of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from likewise.learners.references import Learned, learn_references
from likewise.types import Preferences


def identity_prior(
    X: ArrayLike, references: ArrayLike, preferences: Preferences, **settings: Any
) -> Learned:
    """As :func:`~likewise.learners.references.learn_references`, with the ones (w0) as prior."""
    w0 = settings.get("w0")
    prior = np.ones(np.shape(X)[1]) if w0 is None else np.asarray(w0, dtype=np.float64)
    return learn_references(X, references, preferences, sigma=0.0, prior=prior, **settings)
