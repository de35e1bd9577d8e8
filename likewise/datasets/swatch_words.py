"""Captions of the swatches, from a small grammar, and the way back from words to the truth.

    caption := scale colour motif "on" ground "," texture
             | "a" texture "swatch with" scale colour motif "on" ground
             | colour motif "," scale "," "on" texture ground

A share of the words are replaced by others that mean the same, so that text search has
something to learn; every word still says the truth.
"""

from __future__ import annotations

import numpy as np

from likewise.datasets.swatch_art import Design

SYNONYMS: dict[str, dict[str, tuple[str, ...]]] = {
    "motif": {
        "stripes": ("bands", "lines"), "waves": ("ripples",), "chevrons": ("zigzags",),
        "checks": ("gingham", "squares"), "plaid": ("tartan",), "dots": ("spots", "polka dots"),
        "rings": ("circles",), "flowers": ("blossoms", "daisies"), "leaves": ("foliage",),
        "stars": (), "hexagons": ("honeycomb",), "triangles": (), "scales": ("fans",),
        "bricks": ("brickwork",), "diamonds": ("argyle",), "terrazzo": ("stone chips",)
    },
    "colour": {
        "red": ("scarlet", "crimson"), "orange": ("tangerine",), "yellow": ("golden", "mustard"),
        "olive": ("moss",), "green": ("emerald",), "teal": ("turquoise",), "blue": ("azure",),
        "navy": ("indigo",), "purple": ("violet",), "pink": ("rose",), "brown": ("chestnut",),
        "grey": ("silver",)
    },
    "scale": {
        "small": ("tiny", "fine"), "medium": ("middling",), "large": ("big", "bold")
    },
    "ground": {
        "white": (), "cream": ("ivory",), "sand": ("beige",), "blush": (), "mist": (), "sage": (),
        "charcoal": (), "midnight": ()
    },
    "texture": {
        "smooth": ("flat",), "paper": ("papery",), "woven": ("linen",), "speckled": ("flecked",),
        "brushed": ("brushy",), "washed": ("watercolour",)
    },
}  # fmt: skip
"""By what they speak of: each name of the truth, and other words for it."""

_FORMS = (
    "{scale} {colour} {motif} on {ground}, {texture}",
    "a {texture} swatch with {scale} {colour} {motif} on {ground}",
    "{colour} {motif}, {scale}, on {texture} {ground}",
)


def caption(design: Design, rng: np.random.Generator, synonyms: float = 0.15) -> str:
    """A sentence about a design; a share ``synonyms`` of its words is replaced by others."""
    words = {}
    for aspect, names in SYNONYMS.items():
        name = getattr(design, aspect)
        others = names[name]
        use_other, which = rng.random() < synonyms, rng.integers(max(1, len(others)))
        words[aspect] = others[int(which)] if others and use_other else name
    return _FORMS[int(rng.choice(3, p=[0.6, 0.2, 0.2]))].format(**words)


def tags(design: Design) -> tuple[str, ...]:
    """Three plain keywords of a design: motif, colour, texture."""
    return design.motif, design.colour, design.texture
