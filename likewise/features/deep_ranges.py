"""Ranges of the linear activations of EfficientNet-Lite0, for its int8 form.

Fixed here so that int8 needs no calibration pictures on the user's machine.  Measured on 403
photographs from two sets with :func:`likewise.features.deep_graph.build` and ``show=True``: 95 %
of the pictures stay within, the few values outside saturate.  (Activations behind a ReLU6 lie
in [0, 6] and need no entry.)
"""

from __future__ import annotations

RANGES: dict[str, tuple[float, float]] = {
    "b0.project": (-38.0, 42.0),
    "b1.project": (-50.0, 55.0),
    "b2.project": (-43.0, 47.0),
    "b2.sum": (-58.0, 53.0),
    "b3.project": (-39.0, 42.0),
    "b4.project": (-30.0, 24.0),
    "b4.sum": (-45.0, 46.0),
    "b5.project": (-32.0, 33.0),
    "b6.project": (-21.0, 18.0),
    "b6.sum": (-32.0, 33.0),
    "b7.project": (-17.0, 17.0),
    "b7.sum": (-34.0, 35.0),
    "b8.project": (-35.0, 33.0),
    "b9.project": (-23.0, 17.0),
    "b9.sum": (-38.0, 34.0),
    "b10.project": (-22.0, 15.0),
    "b10.sum": (-48.0, 37.0),
    "b11.project": (-30.0, 28.0),
    "b12.project": (-15.0, 17.0),
    "b12.sum": (-32.0, 30.0),
    "b13.project": (-14.0, 16.0),
    "b13.sum": (-36.0, 35.0),
    "b14.project": (-15.0, 17.0),
    "b14.sum": (-39.0, 40.0),
    "b15.project": (-16.0, 16.0),
}
