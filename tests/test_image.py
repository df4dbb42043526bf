"""Pictures of digits, made as MNIST's were."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import palladion
import pytest
from palladion import ImageError
from palladion.data.digits import takes_digits
from palladion.support.image import load_digit, load_picture
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


@pytest.mark.parametrize("name", ["digit.png", "digit.jpg"])
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


def even(mode: str, value: int | tuple[int, ...]) -> Image.Image:
    return Image.new(mode, (12, 12), value)


DEEP = Image.fromarray(np.full((12, 12), 30_000, np.uint16))


@pytest.mark.parametrize(
    ("image", "options", "wanted"),
    [
        (DEEP, {}, 117), (even("1", 1), {}, 255), (even("LA", (90, 255)), {}, 90),
        (even("RGBA", (90, 90, 90, 255)), {}, 90), (even("P", 5), {"transparency": 7}, 5),
        (even("L", 90), {"transparency": 7}, 90), (DEEP, {"transparency": 7}, 117),
    ],
)  # fmt: skip
def test_modes_of_png_keep_their_brightness(
    tmp_path: Path, image: Image.Image, options: dict[str, Any], wanted: int
) -> None:
    """Unless pixels are transparent, transparency has no effect."""
    if image.mode == "P":
        image.putpalette([level for level in range(256) for _ in range(3)])
    path = tmp_path / "even.png"
    image.save(path, **options)
    for shape in ((1, 12, 12), (3, 6, 6)):
        assert np.all(load_picture(path, shape) == wanted)


def test_modes_of_jpeg_and_its_turns(tmp_path: Path) -> None:
    path = tmp_path / "even.jpg"
    even("CMYK", (0, 0, 0, 155)).save(path)
    assert np.all(np.abs(load_picture(path, (3, 12, 12)).astype(int) - 100) <= 2)
    half = Image.fromarray(np.repeat(np.array([0, 200], np.uint8), 8 * 16).reshape(16, 16))
    turned = half.getexif()
    turned[274] = 6  # the top is at the right
    half.save(path, exif=turned)
    found = load_picture(path, (1, 16, 16))[0]
    assert np.all(found[:, :6] > 190)
    assert np.all(found[:, 10:] < 10)


@pytest.mark.parametrize(
    ("name", "image", "options", "words"),
    [
        ("a.png", even("RGBA", (9, 9, 9, 128)), {}, "144 transparent pixels"),
        ("a.png", even("LA", (9, 0)), {}, "144 transparent pixels"),
        ("a.png", even("L", 9), {"transparency": 9}, "144 transparent pixels"),
        ("a.png", DEEP, {"transparency": 30_000}, "144 transparent pixels"),
        ("a.png", even("L", 9), {"save_all": True, "append_images": [even("L", 8)]},
         "animation of 2 pictures"),
        ("a.gif", even("L", 9), {}, "format GIF, expected PNG or JPEG"),
        ("a.bmp", even("L", 9), {}, "format BMP, expected PNG or JPEG"),
        ("a.tiff", Image.fromarray(np.full((12, 12), 0.5, np.float32)), {}, "format TIFF"),
    ],
)  # fmt: skip
def test_pictures_without_one_meaning_are_refused(
    tmp_path: Path, name: str, image: Image.Image, options: dict[str, Any], words: str
) -> None:
    image.save(tmp_path / name, **options)
    with pytest.raises(ImageError, match=words):
        load_picture(tmp_path / name, (1, 12, 12))
    if "transparent" not in words:  # behind a digit lies paper
        with pytest.raises(ImageError, match=words):
            load_digit(tmp_path / name)


def test_pictures_are_digits_for_networks_with_the_packaged_inputs() -> None:
    models = Path(__file__).parent.parent / "models"
    names = ("mnist", "mnist_w7a7", "mnist_w6a7", "mnist_softmax", "lenet5_w7a7")
    found = [takes_digits(palladion.IntNetwork.load(models / f"{n}.json").boundary) for n in names]
    assert found == [True, True, True, False, False]
