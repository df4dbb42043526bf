"""Digits in a terminal."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

BLOCKS = " ▄▀█"  # by lower half + 2 * upper half
SHADES = " .:-=+*#%@"


def draw(image: npt.NDArray[np.uint8], *, unicode: bool) -> str:
    """An image of 0 to 255 as text, two rows of pixels per line."""
    upper, lower = image[0::2].astype(int), image[1::2].astype(int)
    if unicode:
        which = (lower > 100) + 2 * (upper > 100)
        return "\n".join("".join(BLOCKS[i] for i in row).rstrip() for row in which)
    shade = (upper + lower) * (len(SHADES) - 1) // 510
    return "\n".join("".join(SHADES[i] for i in row).rstrip() for row in shade)
