"""Pictures in the form that networks take, and pictures of digits prepared like MNIST's.

PNG and JPEG are read, in all their modes. Grey of 16 bits keeps its brightness in 8 bits, and
pictures are turned as their EXIF data say. Files without one meaning are refused: other formats,
animations, and pictures with transparent pixels, whose colour depends on the picture behind them.
Behind a digit lies white paper.

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
    grey = _read(path, "L", paper=True).astype(np.float64)
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


FORMATS = ("PNG", "JPEG")
DEEP = ("I", "I;16", "I;16B", "I;16L", "I;16N")
"""Pillow's modes of grey with 16 bits."""


def _read(
    path: Path, mode: str, size: tuple[int, int] | None = None, *, paper: bool = False
) -> npt.NDArray[np.uint8]:
    """The pixels in a mode and size. With ``paper``, white lies behind transparent pixels."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(path, formats=FORMATS) as file:
                frames = getattr(file, "n_frames", 1)
                if frames > 1 and file.format == "PNG":
                    raise ImageError(f"{path} is an animation of {frames} pictures, expected one")
                image = _opaque(path, ImageOps.exif_transpose(file), paper=paper).convert(mode)
                if size is not None and size != image.size:
                    image = image.resize(size, Image.Resampling.BICUBIC)
                return np.asarray(image)
    except FileNotFoundError as error:
        raise ImageError(f"{path} does not exist") from error
    except UnidentifiedImageError as error:
        raise ImageError(_unknown(path)) from error
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise ImageError(f"{path} is too large an image: {error}") from error
    except (OSError, ValueError, SyntaxError, EOFError) as error:  # raised for damaged files
        raise ImageError(f"cannot read the image {path}: {error}") from error


def _unknown(path: Path) -> str:
    """Why a file is no picture that can be read."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Image.open(path) as file:
                other = file.format
    except Exception:  # a damaged file of another format
        other = None
    if other is None:
        return f"{path} is no image of a known format, expected PNG or JPEG"
    return (
        f"{path} is a picture of format {other}, expected PNG or JPEG: convert it, or give arrays"
    )


def _opaque(path: Path, image: Image.Image, *, paper: bool) -> Image.Image:
    """The picture without transparency, with 8 bits in each channel.

    Raises
    ------
    ImageError
        If some pixels are transparent, and not on ``paper``.
    """
    if image.mode in DEEP:
        clear = image.info.get("transparency")
        values = np.asarray(image).astype(np.int64)
        grey = Image.fromarray(np.rint(values / 257).clip(0, 255).astype(np.uint8))
        opaque = np.ones(values.shape, bool) if clear is None else values != clear
        image = Image.merge("LA", [grey, Image.fromarray((opaque * 255).astype(np.uint8))])
    if not image.has_transparency_data:
        return image
    image = image.convert("RGBA")
    count = int(np.count_nonzero(np.asarray(image)[:, :, 3] < 255))
    if count and not paper:
        raise ImageError(f"{path} has {count} transparent pixels, whose colour depends on what "
                         "lies behind them: put the picture on a background, and save it without "
                         "transparency")  # fmt: skip
    return Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)


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
