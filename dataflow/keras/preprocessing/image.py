"""Images as arrays, from files and folders, changed at random while a model is trained."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import numpy as np

from dataflow.keras import backend as K
from dataflow.keras.utils import Sequence

Array = np.ndarray[Any, Any]
_ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".ppm", ".tif", ".tiff")
_MODES = {"rgb": "RGB", "rgba": "RGBA", "grayscale": "L"}


def _pillow() -> Any:
    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError(
            "tf.keras.preprocessing.image needs Pillow: pip install 'dataflow-learn[train]'"
        ) from error
    return Image


def load_img(
    path: Any,
    grayscale: bool = False,
    color_mode: str = "rgb",
    target_size: Any = None,
    interpolation: str = "nearest",
) -> Any:
    """A Pillow image of a file; ``target_size`` is (height, width)."""
    image_module = _pillow()
    if grayscale:
        color_mode = "grayscale"
    if color_mode not in _MODES:
        raise ValueError(f'color_mode must be "grayscale", "rgb", or "rgba", got {color_mode!r}.')
    with image_module.open(path) as opened:
        image = opened.convert(_MODES[color_mode])
    if target_size is not None:
        methods = ("nearest", "bilinear", "bicubic", "lanczos", "hamming", "box")
        if interpolation not in methods:
            raise ValueError(
                f"Invalid interpolation method {interpolation}; there are {', '.join(methods)}."
            )
        size = (target_size[1], target_size[0])
        if image.size != size:
            image = image.resize(size, getattr(image_module.Resampling, interpolation.upper()))
    return image


def img_to_array(img: Any, data_format: str | None = None, dtype: Any = None) -> Array:
    """A Pillow image as an array [height, width, channels] (or channels first) of floats."""
    array = np.asarray(img, dtype or K.floatx())
    if array.ndim == 2:
        array = array[..., None]
    if array.ndim != 3:
        raise ValueError(f"Unsupported image shape: {array.shape}")
    return array.transpose(2, 0, 1) if _is_first(data_format) else array


def array_to_img(x: Any, data_format: str | None = None, scale: bool = True, dtype: Any = None) -> Any:  # fmt: skip
    """An array as a Pillow image; ``scale`` brings its values to 0 .. 255."""
    x = np.asarray(x, dtype or K.floatx())
    if x.ndim != 3:
        raise ValueError(
            f"Expected image array to have rank 3 (single image). Got array with shape: {x.shape}"
        )
    if _is_first(data_format):
        x = x.transpose(1, 2, 0)
    if scale:
        x = x - x.min()
        x = x / (x.max() or 1.0) * 255
    if x.shape[2] not in (1, 3, 4):
        raise ValueError(f"Unsupported channel number: {x.shape[2]}")
    image_module = _pillow()
    bytes_ = x.astype("uint8")
    return image_module.fromarray(bytes_[..., 0] if x.shape[2] == 1 else bytes_)


def save_img(path: Any, x: Any, data_format: str | None = None, file_format: Any = None, scale: bool = True) -> None:  # fmt: skip
    """Writes an array as an image file."""
    array_to_img(x, data_format, scale).save(path, format=file_format)


def _is_first(data_format: str | None) -> bool:
    return (data_format or K.image_data_format()) == "channels_first"


def _inside(coordinates: Array, size: int, fill_mode: str) -> Array:
    """Coordinates outside 0 .. size - 1, as ``fill_mode`` continues the image."""
    if fill_mode in ("nearest", "constant") or size == 1:
        return coordinates.clip(0, size - 1)
    if fill_mode == "wrap":
        return coordinates % size
    period = 2 * size  # reflect: d c b a | a b c d | d c b a
    folded = (coordinates + 0.5) % period
    return (np.where(folded > size, period - folded, folded) - 0.5).clip(0, size - 1)


def _resampled(x: Array, matrix: Array, fill_mode: str, cval: float) -> Array:
    """x [rows, columns, channels] at ``matrix`` times each pixel's place, between its neighbours."""
    rows, columns = x.shape[:2]
    center = np.array([rows / 2 - 0.5, columns / 2 - 0.5])
    grid = np.stack(np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij"), -1)
    places = (grid - center) @ matrix[:2, :2].T + matrix[:2, 2] + center
    outside = (
        (places[..., 0] < 0)
        | (places[..., 0] > rows - 1)
        | (places[..., 1] < 0)
        | (places[..., 1] > columns - 1)
    )
    r, c = (_inside(places[..., i], n, fill_mode) for i, n in ((0, rows), (1, columns)))
    r0, c0 = np.floor(r).astype(int), np.floor(c).astype(int)
    r1, c1 = (r0 + 1) % rows, (c0 + 1) % columns
    if fill_mode != "wrap":
        r1, c1 = np.minimum(r0 + 1, rows - 1), np.minimum(c0 + 1, columns - 1)
    fr, fc = (r - r0)[..., None], (c - c0)[..., None]
    result = (x[r0, c0] * (1 - fc) + x[r0, c1] * fc) * (1 - fr)
    result = result + (x[r1, c0] * (1 - fc) + x[r1, c1] * fc) * fr
    if fill_mode == "constant":
        result[outside] = cval
    resampled: Array = result.astype(x.dtype)
    return resampled


class ImageDataGenerator:
    """Batches of images, each turned, moved, enlarged, mirrored or tinted at random.

    Ranges: ``rotation_range`` and ``shear_range`` in degrees, shifts as parts of the size (or
    pixels, from 1 on), ``zoom_range`` a number or (smallest, largest), ``brightness_range`` factors.
    ``fill_mode`` ("nearest", "constant" with ``cval``, "reflect", "wrap") says what is outside.
    Images are [height, width, channels]. ``fit`` first, for the featurewise settings.
    """

    def __init__(
        self,
        featurewise_center: bool = False,
        samplewise_center: bool = False,
        featurewise_std_normalization: bool = False,
        samplewise_std_normalization: bool = False,
        zca_whitening: bool = False,
        zca_epsilon: float = 1e-6,
        rotation_range: float = 0,
        width_shift_range: float = 0.0,
        height_shift_range: float = 0.0,
        brightness_range: Any = None,
        shear_range: float = 0.0,
        zoom_range: Any = 0.0,
        channel_shift_range: float = 0.0,
        fill_mode: str = "nearest",
        cval: float = 0.0,
        horizontal_flip: bool = False,
        vertical_flip: bool = False,
        rescale: Any = None,
        preprocessing_function: Any = None,
        data_format: str | None = None,
        validation_split: float = 0.0,
        dtype: Any = None,
    ) -> None:
        if zca_whitening:
            raise NotImplementedError("ImageDataGenerator(zca_whitening=True) is not supported.")
        if _is_first(data_format):
            raise NotImplementedError("ImageDataGenerator: images must be channels_last.")
        if fill_mode not in ("nearest", "constant", "reflect", "wrap"):
            raise ValueError(
                f"fill_mode is 'nearest', 'constant', 'reflect' or 'wrap', got {fill_mode!r}."
            )
        if validation_split and not 0 < validation_split < 1:
            raise ValueError(
                f"`validation_split` must be strictly between 0 and 1. Received: {validation_split}"
            )
        self.featurewise_center = featurewise_center or featurewise_std_normalization
        self.featurewise_std_normalization = featurewise_std_normalization
        self.samplewise_center = samplewise_center or samplewise_std_normalization
        self.samplewise_std_normalization = samplewise_std_normalization
        self.rotation_range = rotation_range
        self.width_shift_range = width_shift_range
        self.height_shift_range = height_shift_range
        self.brightness_range = brightness_range
        self.shear_range = shear_range
        single = np.ndim(zoom_range) == 0
        self.zoom_range = [1 - zoom_range, 1 + zoom_range] if single else list(zoom_range)
        self.channel_shift_range = channel_shift_range
        self.fill_mode = fill_mode
        self.cval = cval
        self.horizontal_flip = horizontal_flip
        self.vertical_flip = vertical_flip
        self.rescale = rescale
        self.preprocessing_function = preprocessing_function
        self.validation_split = validation_split
        self.dtype = dtype or K.floatx()
        self.mean: Any = None
        self.std: Any = None

    def fit(self, x: Any, augment: bool = False, rounds: int = 1, seed: int | None = None) -> None:
        """Takes the mean and the deviation of each channel from ``x`` [n, height, width, channels]."""
        x = np.asarray(x, self.dtype)
        if x.ndim != 4:
            raise ValueError(
                f"Input to `.fit()` should have rank 4. Got array with shape: {x.shape}"
            )
        if seed is not None:
            np.random.seed(seed)
        if augment:
            x = np.stack([self.random_transform(one) for _ in range(rounds) for one in x])
        self.mean = x.mean(axis=(0, 1, 2))
        self.std = x.std(axis=(0, 1, 2))

    def standardize(self, x: Array) -> Array:
        """An image with the function, the scale, the mean and the deviation applied."""
        if self.preprocessing_function:
            x = self.preprocessing_function(x)
        if self.rescale:
            x = x * self.rescale
        if self.samplewise_center:
            x = x - x.mean(keepdims=True)
        if self.samplewise_std_normalization:
            x = x / (x.std(keepdims=True) + 1e-6)
        if self.featurewise_center and self.mean is None:
            raise ValueError(
                "This ImageDataGenerator normalizes by the mean of a data set, which it does not "
                "know yet: call .fit(images) first."
            )
        if self.featurewise_center:
            x = x - self.mean
        if self.featurewise_std_normalization:
            x = x / (self.std + 1e-6)
        return x

    def random_transform(self, x: Array, seed: int | None = None) -> Array:
        """An image changed at random, as NumPy's generator decides."""
        if seed is not None:
            np.random.seed(seed)
        draw: Any = np.random.uniform
        theta = np.deg2rad(draw(-self.rotation_range, self.rotation_range)) if self.rotation_range else 0.0  # fmt: skip
        shifts = [
            draw(-size, size) * (length if size < 1 else 1) if size else 0.0
            for size, length in zip(
                (self.height_shift_range, self.width_shift_range), x.shape[:2], strict=True
            )
        ]
        shear = np.deg2rad(draw(-self.shear_range, self.shear_range)) if self.shear_range else 0.0
        zoom = np.ones(2) if self.zoom_range == [1, 1] else draw(*self.zoom_range, 2)
        if theta or any(shifts) or shear or (zoom != 1).any():
            turned = np.array([[np.cos(theta), -np.sin(theta)], [np.sin(theta), np.cos(theta)]])
            sheared = np.array([[1, -np.sin(shear)], [0, np.cos(shear)]])
            matrix = np.eye(3)
            matrix[:2, :2] = turned @ sheared @ np.diag(zoom)
            matrix[:2, 2] = turned @ shifts
            x = _resampled(x, matrix, self.fill_mode, self.cval)
        if self.channel_shift_range:
            moved = x + draw(-self.channel_shift_range, self.channel_shift_range)
            x = moved.clip(x.min(), x.max())
        if self.horizontal_flip and np.random.random() < 0.5:
            x = x[:, ::-1]
        if self.vertical_flip and np.random.random() < 0.5:
            x = x[::-1]
        if self.brightness_range is not None:
            top = max(255.0, float(x.max())) if x.max() > 1 else 1.0
            x = (x * draw(*self.brightness_range)).clip(0, top)
        return x.astype(self.dtype)

    def _part(self, count: int, subset: str | None) -> Any:
        held = int(count * self.validation_split)
        if subset not in (None, "training", "validation"):
            raise ValueError(f"Invalid subset name: {subset}; expected 'training' or 'validation'.")
        if subset is not None and not self.validation_split:
            raise ValueError(f"subset={subset!r} needs ImageDataGenerator(validation_split=...).")
        if subset is None:
            return np.arange(count)
        return np.arange(held) if subset == "validation" else np.arange(held, count)

    def flow(
        self,
        x: Any,
        y: Any = None,
        batch_size: int = 32,
        shuffle: bool = True,
        sample_weight: Any = None,
        seed: int | None = None,
        subset: str | None = None,
    ) -> Iterator:
        """Batches of changed images (with labels and weights) of arrays, without an end."""
        x = np.asarray(x)
        if x.ndim != 4:
            raise ValueError(f"Input data in `flow` should have rank 4. Got shape {x.shape}.")
        others = [np.asarray(v) for v in (y, sample_weight) if v is not None]
        if any(len(v) != len(x) for v in others):
            raise ValueError(
                "`x` (images tensor) and `y` (labels) should have the same length. Found: "
                f"x.shape = {x.shape}, " + ", ".join(str(v.shape) for v in others)
            )
        rows = self._part(len(x), subset)
        return Iterator(
            self,
            lambda i: x[rows[i]],
            [v[rows] for v in others],
            len(rows),
            batch_size,
            shuffle,
            seed,
        )

    def flow_from_directory(
        self,
        directory: Any,
        target_size: Any = (256, 256),
        color_mode: str = "rgb",
        classes: Any = None,
        class_mode: str | None = "categorical",
        batch_size: int = 32,
        shuffle: bool = True,
        seed: int | None = None,
        follow_links: bool = False,
        subset: str | None = None,
        interpolation: str = "nearest",
    ) -> Iterator:
        """Batches of the image files below ``directory``, a folder for each class.

        ``class_mode``: "categorical" (rows with one 1), "binary", "sparse", "input" (the images
        themselves) or ``None``. The iterator has ``classes``, ``class_indices``, ``filenames``.

        Raises `ValueError` where a class has no folder, or there is no image.
        """
        folder = Path(directory)
        names = list(classes) if classes else sorted(p.name for p in folder.iterdir() if p.is_dir())
        if class_mode not in ("categorical", "binary", "sparse", "input", None):
            raise ValueError(f"Invalid class_mode: {class_mode}")
        files: list[Path] = []
        numbers: list[int] = []
        for number, name in enumerate(names):
            if not (folder / name).is_dir():
                raise ValueError(f"flow_from_directory: there is no folder {folder / name}.")
            found = sorted(
                Path(where) / file
                for where, _, inside in os.walk(folder / name, followlinks=follow_links)
                for file in inside
                if file.lower().endswith(_ENDINGS)
            )
            found = [found[i] for i in self._part(len(found), subset)]
            files += found
            numbers += [number] * len(found)
        if not files:
            raise ValueError(f"flow_from_directory: no images in the class folders of {folder}.")
        labels = np.array(numbers, "int32")
        given: list[Array] = []
        if class_mode == "categorical":
            given = [np.eye(len(names), dtype=self.dtype)[labels]]
        elif class_mode in ("binary", "sparse"):
            given = [labels.astype(self.dtype)]

        def read(i: int) -> Array:
            image = load_img(
                files[i],
                color_mode=color_mode,
                target_size=target_size,
                interpolation=interpolation,
            )
            return img_to_array(image, "channels_last")

        iterator = Iterator(self, read, given, len(files), batch_size, shuffle, seed)
        iterator.gives_itself = class_mode == "input"
        iterator.classes = labels
        iterator.class_indices = {name: i for i, name in enumerate(names)}
        iterator.filenames = [str(file.relative_to(folder)) for file in files]
        iterator.num_classes = len(names)
        print(f"Found {len(files)} images belonging to {len(names)} classes.")
        return iterator


class Iterator(Sequence):
    """Batches without an end for ``next``, or by number for ``fit``."""

    gives_itself = False
    classes: Array
    class_indices: dict[str, int]
    filenames: list[str]
    num_classes: int

    def __init__(
        self,
        generator: ImageDataGenerator,
        read: Any,
        others: list[Array],
        count: int,
        batch_size: int,
        shuffle: bool,
        seed: int | None,
    ) -> None:
        self.n = self.samples = count
        self.batch_size = batch_size
        self.shuffle = shuffle
        self.seed = seed
        self.batch_index = 0
        self.total_batches_seen = 0
        self._generator = generator
        self._read = read
        self._others = others
        self._order: Any = None
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return -(-self.n // self.batch_size)

    def __iter__(self) -> Iterator:
        return self

    def reset(self) -> None:
        """Starts the next batch at the beginning."""
        self.batch_index = 0

    def on_epoch_end(self) -> None:
        """Shuffles anew."""
        self._order = np.random.permutation(self.n) if self.shuffle else np.arange(self.n)

    def __next__(self) -> Any:
        with self._lock:
            if self.batch_index == 0:
                self._seed()
                self.on_epoch_end()
            index = self.batch_index
            self.batch_index = (index + 1) % len(self)
        return self[index]

    def _seed(self) -> None:
        if self.seed is not None:
            np.random.seed(self.seed + self.total_batches_seen)

    def __getitem__(self, index: int) -> Any:
        if not 0 <= index < len(self):
            raise ValueError(
                f"Asked to retrieve element {index}, but the Sequence has length {len(self)}"
            )
        self._seed()
        self.total_batches_seen += 1
        if self._order is None:
            self.on_epoch_end()
        rows = self._order[index * self.batch_size : (index + 1) * self.batch_size]
        make = self._generator
        images = np.stack(
            [
                make.standardize(make.random_transform(self._read(i).astype(make.dtype)))
                for i in rows
            ]
        )
        if self.gives_itself:
            return images, images.copy()
        return (images, *(v[rows] for v in self._others)) if self._others else images
