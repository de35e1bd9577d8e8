"""The ranking problem by the book: Algorithm 1 of the paper, with every matrix written out.

Slow on purpose.  ``Q = X' A^-1 X`` is formed, one variable is optimised at a time, and the
one that breaks rule (11) most is next.  Nothing here is shared with the fast solver.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from likewise.solvers.checks import Floats, Ints


class Reference(NamedTuple):
    """``residual`` is the largest violation of rule (11); ``gap`` is primal minus dual."""

    w: Floats
    alpha: Floats
    objective: float
    residual: float
    gap: float


def metric(dim: int, sigma: float, w0: Floats | None = None) -> Floats:
    """``A = I - (sigma / |w0|^2) w0 w0'``."""
    direction = np.ones(dim) if w0 is None else w0
    return np.eye(dim) - sigma / float(direction @ direction) * np.outer(direction, direction)


def differences(Z: Floats, better: Ints, worse: Ints) -> Floats:
    """One row a preference, ``z_better - z_worse`` (the transpose of the paper's X)."""
    return Z[better] - Z[worse]


def primal(X: Floats, w: Floats, cap: Floats, margin: Floats, A: Floats, prior: Floats) -> float:
    """Equation (8), with a prior, margins and a price for each preference."""
    away = w - prior
    return float(0.5 * away @ A @ away + cap @ np.maximum(0, margin - X @ w))


def violation(gradient: Floats, alpha: Floats, cap: Floats) -> Floats:
    """How much each variable breaks rule (11), for the gradient of the minimised dual (10)."""
    rise = np.where(alpha < cap, np.maximum(-gradient, 0), 0)
    fall = np.where(alpha > 0, np.maximum(gradient, 0), 0)
    return np.maximum(rise, fall)


def smo(
    X: Floats,
    cap: Floats,
    *,
    A: Floats | None = None,
    margin: Floats | None = None,
    prior: Floats | None = None,
    tol: float = 1e-9,
    most: int = 1_000_000,
) -> Reference:
    """Algorithm 1: one variable a step, the largest violator first; rule (11) up to ``tol``."""
    n, dim = X.shape
    A = np.eye(dim) if A is None else A
    prior = np.zeros(dim) if prior is None else prior
    margin = np.ones(n) if margin is None else margin
    target = margin - X @ prior  # in w - prior the problem has prior zero
    inverse = np.linalg.inv(A)
    Q = X @ inverse @ X.T
    alpha = np.zeros(n)
    gradient = -target.copy()
    for _ in range(most):
        broken = violation(gradient, alpha, cap)
        i = int(broken.argmax()) if n else 0
        if n == 0 or broken[i] <= tol:
            break
        # (13); where Q_ii is zero the paper's epsilon sends the variable to its bound
        best = alpha[i] - gradient[i] / max(Q[i, i], 1e-300)
        step = min(max(best, 0.0), cap[i]) - alpha[i]
        alpha[i] += step
        gradient += step * Q[:, i]
    w = prior + inverse @ (X.T @ alpha)
    objective = primal(X, w, cap, margin, A, prior)
    gradient = Q @ alpha - target
    dual = float(target @ alpha - 0.5 * alpha @ Q @ alpha)
    residual = float(violation(gradient, alpha, cap).max(initial=0))
    return Reference(w, alpha, objective, residual, objective - dual)


def nonnegative_ascent(
    X: Floats,
    cap: Floats,
    *,
    margin: Floats | None = None,
    prior: Floats | None = None,
    sweeps: int = 20_000,
    tol: float = 1e-9,
) -> Reference:
    """The problem with ``w >= 0`` and A = I: ``w = max(prior + X' alpha, 0)``, a step at a time.

    The step divides by ``|x|^2``, an upper bound of the curvature, so the dual never falls.
    """
    n, dim = X.shape
    prior = np.zeros(dim) if prior is None else prior
    margin = np.ones(n) if margin is None else margin
    length = (X**2).sum(axis=1)
    alpha = np.where((length == 0) & (margin > 0), cap, 0.0)
    w = np.maximum(prior, 0)
    for _ in range(sweeps):
        for t in np.flatnonzero(length):
            best = alpha[t] + (margin[t] - X[t] @ w) / length[t]
            alpha[t] = min(max(best, 0.0), cap[t])
            w = np.maximum(prior + X.T @ alpha, 0)
        if violation(X @ w - margin, alpha, cap).max(initial=0) <= tol:
            break
    objective = primal(X, w, cap, margin, np.eye(dim), prior)
    dual = float(margin @ alpha - 0.5 * w @ w + 0.5 * prior @ prior)
    residual = float(violation(X @ w - margin, alpha, cap).max(initial=0))
    return Reference(w, alpha, objective, residual, objective - dual)
