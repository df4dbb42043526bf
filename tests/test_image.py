"""Pictures of digits, made as MNIST's were."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import palladion
import pytest
from palladion import ImageError
from palladion.image import load_digit
from PIL import Image, ImageDraw


def save(path: Path, image: Image.Image) -> Path:
    image.save(path)
    return path


def predicted(image: npt.NDArray[np.uint8]) -> int:
    return int(palladion.mnist_plain().predict(image[None])[0])


def enlarged(index: int) -> Image.Image:
    """A sample image, eight times as large and off the centre of a larger sheet."""
    image = Image.fromarray(palladion.mnist_sample().images[index]).resize((224, 224))
    sheet = Image.new("L", (500, 400), 0)
    sheet.paste(image, (250, 30))
    return sheet


def test_mnist_images_are_left_as_they_are(tmp_path: Path) -> None:
    for image in palladion.mnist_sample().images[:5]:
        path = save(tmp_path / "digit.png", Image.fromarray(image))
        assert (load_digit(path) == image).all()


@pytest.mark.parametrize("name", ["digit.png", "digit.jpg", "digit.bmp"])
@pytest.mark.parametrize("light", [False, True])
def test_ground_size_place_and_format_do_not_matter(tmp_path: Path, name: str, light: bool) -> None:
    sample = palladion.mnist_sample()
    for index in range(5):
        sheet = enlarged(index)
        if light:
            sheet = sheet.point([250 - value * 220 // 255 for value in range(256)])
        found = load_digit(save(tmp_path / name, sheet))
        assert found.shape == (28, 28)
        assert found.dtype == np.uint8
        assert predicted(found) == sample.labels[index]


def test_the_digit_fills_20_pixels_around_its_centre_of_mass(tmp_path: Path) -> None:
    image = Image.new("RGB", (300, 200), "white")
    ImageDraw.Draw(image).rectangle((20, 30, 59, 129), fill=(20, 20, 90))
    found = load_digit(save(tmp_path / "bar.png", image)).astype(float)
    rows, columns = np.nonzero(found)
    assert (rows.min(), rows.max()) == (4, 23)
    assert columns.max() - columns.min() + 1 == 8
    assert abs((found.sum(axis=1) * np.arange(28)).sum() / found.sum() - 13.5) <= 0.5
    assert found.max() == 255


def test_transparency_is_paper(tmp_path: Path) -> None:
    image = Image.new("RGBA", (100, 100), (0, 0, 0, 0))
    ImageDraw.Draw(image).line((50, 10, 50, 90), fill=(0, 0, 0, 255), width=9)
    found = load_digit(save(tmp_path / "one.png", image))
    assert predicted(found) == 1


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "no image"),
        (b"no image at all", "no image"),
        (b"\x89PNG\r\n\x1a\n" + bytes(40), "image"),
    ],
)
def test_what_is_no_image_is_refused(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "file.png"
    path.write_bytes(content)
    with pytest.raises(ImageError, match=words):
        load_digit(path)


def test_cut_images_are_refused(tmp_path: Path, picture: Path) -> None:
    data = picture.read_bytes()
    path = tmp_path / "cut.png"
    for length in range(0, len(data) - 24, 7):  # the last bytes, checksum and IEND, may go
        path.write_bytes(data[:length])
        with pytest.raises(ImageError):
            load_digit(path)


def test_missing_and_empty_pictures_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ImageError, match="does not exist"):
        load_digit(tmp_path / "missing.png")
    with pytest.raises(ImageError, match="cannot read"):
        load_digit(tmp_path)
    with pytest.raises(ImageError, match="shows no digit"):
        load_digit(save(tmp_path / "blank.png", Image.new("L", (60, 60), 240)))
