"""Pictures in the form that networks take, and pictures of digits prepared like MNIST's.

MNIST's digits are white on black, scaled to 20x20 pixels with their proportions kept, and placed in
28x28 pixels so that their centre of mass is the centre."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageOps, UnidentifiedImageError

from palladion.errors import ImageError

SIDE = 28
INK_SIDE = 20
MIN_CONTRAST = 30  # of 255; an empty sheet of paper varies by less
INK = 0.25  # of the full contrast; shadows and JPEG artefacts are below

MODES = {1: "L", 3: "RGB"}  # by number of channels

Grey = npt.NDArray[np.float64]


def load_digit(path: Path) -> npt.NDArray[np.uint8]:
    """Read a picture and make it 28x28, white on black.

    A picture of 28x28 on a dark ground is assumed to be prepared already, and stays as it is.

    Raises
    ------
    ImageError
        If the file cannot be read, is not an image, or shows nothing.
    """
    grey = _read(path, "L").astype(np.float64)
    border = np.concatenate([grey[0], grey[-1], grey[:, 0], grey[:, -1]])
    ground = float(np.median(border))
    light = ground > 127
    if grey.shape == (SIDE, SIDE) and not light:
        return grey.astype(np.uint8)
    ink = np.clip(ground - grey if light else grey - ground, 0, None)
    contrast = float(ink.max())
    if contrast < MIN_CONTRAST:
        found = f"its contrast is {contrast:.0f} of 255, expected at least {MIN_CONTRAST}"
        raise ImageError(f"{path} shows no digit: {found}")
    ink = np.where(ink < INK * contrast, 0, ink / contrast)
    return _centre(_fit(ink))


def load_picture(path: Path, shape: tuple[int, int, int]) -> npt.NDArray[np.uint8]:
    """Read a picture and resize it to ``shape``: grey for 1 channel, red, green, blue for 3.

    Raises
    ------
    ImageError
        If the file cannot be read or is not an image, or if pictures cannot have this shape.
    """
    channels, height, width = shape
    if channels not in MODES:
        raise ImageError(
            f"{path}: the network takes {channels} channels of {height} x {width}, a picture has "
            "1 or 3: give an .npy file of inputs as the model takes them, or an .npz file of x"
        )
    pixels = _read(path, MODES[channels], (width, height))
    return np.moveaxis(pixels.reshape(height, width, channels), 2, 0)


def _read(path: Path, mode: str, size: tuple[int, int] | None = None) -> npt.NDArray[np.uint8]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(path) as file:
                image: Image.Image = ImageOps.exif_transpose(file)
                if image.has_transparency_data:
                    paper = Image.new("RGBA", image.size, "white")
                    image = Image.alpha_composite(paper, image.convert("RGBA"))
                image = image.convert(mode)
                if size is not None and size != image.size:
                    image = image.resize(size, Image.Resampling.BICUBIC)
                return np.asarray(image)
    except FileNotFoundError as error:
        raise ImageError(f"{path} does not exist") from error
    except UnidentifiedImageError as error:
        raise ImageError(f"{path} is no image of a known format, such as PNG or JPEG") from error
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise ImageError(f"{path} is too large an image: {error}") from error
    except (OSError, ValueError, SyntaxError, EOFError) as error:  # raised for damaged files
        raise ImageError(f"cannot read the image {path}: {error}") from error


def _fit(ink: Grey) -> Grey:
    """The inked part, resized to at most 20x20."""
    rows, columns = np.flatnonzero(ink.any(axis=1)), np.flatnonzero(ink.any(axis=0))
    part = ink[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    factor = INK_SIDE / max(part.shape)
    height, width = (max(1, round(side * factor)) for side in part.shape)
    image = Image.fromarray((part * 255).astype(np.uint8), mode="L")
    filtered = Image.Resampling.BOX if factor < 1 else Image.Resampling.BILINEAR
    fitted = np.asarray(image.resize((width, height), filtered), dtype=np.float64)
    return fitted * (255 / max(float(fitted.max()), 1.0))  # thin strokes fade when reduced


def _centre(ink: Grey) -> npt.NDArray[np.uint8]:
    """Place ``ink`` on 28x28, with its centre of mass at the centre if it stays inside."""
    canvas = np.zeros((SIDE, SIDE))
    height, width = ink.shape
    mass = ink.sum()
    centre_y = float((ink.sum(axis=1) * np.arange(height)).sum() / mass)
    centre_x = float((ink.sum(axis=0) * np.arange(width)).sum() / mass)
    top = int(np.clip(round(SIDE / 2 - centre_y), 0, SIDE - height))
    left = int(np.clip(round(SIDE / 2 - centre_x), 0, SIDE - width))
    canvas[top : top + height, left : left + width] = ink
    return np.rint(canvas).astype(np.uint8)
