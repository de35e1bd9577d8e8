"""Ranges of the linear activations of the networks, for their int8 form.

Fixed here so that int8 needs no calibration pictures on the user's machine.  Measured on
photographs (lite0: 403 from two sets; lite1 and lite2: 100 each of Corel5k's training part and
Flickr8k's development part), with every such activation as an output of the float32 graph: 95 %
of the pictures stay within, the few values outside saturate.  (Activations behind a ReLU6 lie in
[0, 6] and need no entry.)

Each line has the least and the most of a bottleneck's output and, where there is one, of the sum
with what it skips, in the order in which they run.
"""

from __future__ import annotations

_MEASURED = {
    "lite0": """-38 42, -50 55, -43 47 -58 53, -39 42, -30 24 -45 46, -32 33, -21 18 -32 33,
        -17 17 -34 35, -35 33, -23 17 -38 34, -22 15 -48 37, -30 28, -15 17 -32 30, -14 16 -36 35,
        -15 17 -39 40, -16 16""",
    "lite1": """-50 54, -61 57, -44 50 -60 58, -32 35 -62 69, -45 47, -39 37 -51 50, -21 26 -51 53,
        -33 35, -19 18 -34 36, -15 13 -36 37, -13 14 -36 37, -39 36, -23 20 -41 36, -20 21 -43 40,
        -19 19 -46 50, -28 31, -19 14 -29 32, -17 15 -33 35, -20 16 -40 40, -20 17 -49 45,
        -19 16""",
    "lite2": """-48 47, -54 54, -37 57 -53 52, -30 33 -64 66, -40 43, -30 38 -45 46, -26 23 -48 51,
        -36 33, -21 16 -35 34, -18 16 -35 35, -17 14 -36 36, -34 37, -21 20 -35 39, -19 23 -38 43,
        -17 21 -43 50, -31 33, -14 18 -33 34, -14 19 -35 38, -15 18 -40 44, -19 18 -46 50,
        -18 17""",
}


def _ranges(measured: str) -> dict[str, tuple[float, float]]:
    out = {}
    for number, block in enumerate(measured.split(",")):
        least, most, *of_sum = map(float, block.split())
        out[f"b{number}.project"] = (least, most)
        if of_sum:
            out[f"b{number}.sum"] = (of_sum[0], of_sum[1])
    return out


RANGES = {network: _ranges(measured) for network, measured in _MEASURED.items()}
