"""`ImageDataGenerator`: images of arrays, folders and tables, changed at random for each batch."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from dataflow.graph.type_aliases import TensorLike
from dataflow.keras import backend as K
from dataflow.keras.preprocessing.image_arrays import ENDINGS, img_to_array, load_img
from dataflow.keras.preprocessing.image_changes import brightened, moved, shifted
from dataflow.keras.preprocessing.image_iterator import (
    DataFrameIterator,
    DirectoryIterator,
    Iterator,
    NumpyArrayIterator,
    SaveTo,
)
from dataflow.keras.preprocessing.image_tables import chosen_rows, existing_files

Array = np.ndarray[Any, Any]


class ImageDataGenerator:
    """Batches of images, each turned, moved, enlarged, mirrored or tinted at random.

    Ranges: ``rotation_range`` and ``shear_range`` in degrees, shifts as parts of the size (or
    pixels, from 1 on), ``zoom_range`` a number or (smallest, largest), ``brightness_range`` factors.
    ``fill_mode`` ("nearest", "constant" with ``cval``, "reflect", "wrap") says what is outside.
    Images are [height, width, channels], or channels first by ``data_format``. ``fit`` first, for
    the featurewise settings and for ``zca_whitening``, which makes the numbers of an image
    uncorrelated.
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
        self.data_format = data_format or K.image_data_format()
        if self.data_format not in ("channels_first", "channels_last"):
            raise ValueError(
                f"data_format is 'channels_last' or 'channels_first', got {data_format!r}."
            )
        if fill_mode not in ("nearest", "constant", "reflect", "wrap"):
            raise ValueError(
                f"fill_mode is 'nearest', 'constant', 'reflect' or 'wrap', got {fill_mode!r}."
            )
        if validation_split and not 0 < validation_split < 1:
            raise ValueError(
                f"`validation_split` must be strictly between 0 and 1. Received: {validation_split}"
            )
        self.featurewise_center = (
            featurewise_center or featurewise_std_normalization or zca_whitening
        )
        self.zca_whitening = zca_whitening
        self.zca_epsilon = zca_epsilon
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
        self.principal_components: Any = None

    def fit(self, x: Any, augment: bool = False, rounds: int = 1, seed: int | None = None) -> None:
        """Takes the mean and the deviation of each channel from the images ``x``, of rank 4.

        With ``zca_whitening`` also the components in which they vary: [numbers, numbers] for images
        of so many numbers.
        """
        x = np.asarray(x, self.dtype)
        if x.ndim != 4:
            raise ValueError(
                f"Input to `.fit()` should have rank 4. Got array with shape: {x.shape}"
            )
        if seed is not None:
            np.random.seed(seed)
        if augment:
            x = np.stack([self.random_transform(one) for _ in range(rounds) for one in x])
        others = (0, 2, 3) if self._is_first else (0, 1, 2)
        broadcast = (-1, 1, 1) if self._is_first else (1, 1, -1)
        self.mean = x.mean(axis=others).reshape(broadcast)
        self.std = x.std(axis=others).reshape(broadcast)
        if self.zca_whitening:
            x = x - self.mean
            if self.featurewise_std_normalization:
                x = x / (self.std + 1e-6)
            flat = x.reshape(len(x), -1)
            vectors, values, _ = np.linalg.svd(flat.T @ flat / len(x))
            self.principal_components = (vectors / np.sqrt(values + self.zca_epsilon)) @ vectors.T

    @property
    def _is_first(self) -> bool:
        return bool(self.data_format == "channels_first")

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
        if self.zca_whitening:
            flat = x.reshape(-1, int(np.prod(x.shape[-3:])))  # of an image, or of a batch
            x = (flat @ self.principal_components).reshape(x.shape)
        return x

    def get_random_transform(self, img_shape: Any, seed: int | None = None) -> dict[str, Any]:
        """What `apply_transform` needs, drawn at random for an image of that shape.

        ``theta`` and ``shear`` in degrees, ``tx`` (down) and ``ty`` in pixels, ``zx`` and ``zy``
        factors, ``flip_horizontal``, ``flip_vertical``, ``channel_shift_intensity``,
        ``brightness``.
        """
        if seed is not None:
            np.random.seed(seed)
        draw: Any = np.random.uniform
        rows, columns = img_shape[1:3] if self._is_first else img_shape[:2]
        theta = draw(-self.rotation_range, self.rotation_range) if self.rotation_range else 0
        tx, ty = (
            draw(-size, size) * (length if size < 1 else 1) if size else 0
            for size, length in ((self.height_shift_range, rows), (self.width_shift_range, columns))
        )
        shear = draw(-self.shear_range, self.shear_range) if self.shear_range else 0
        zx, zy = (1, 1) if self.zoom_range == [1, 1] else draw(*self.zoom_range, 2)
        shift = self.channel_shift_range
        intensity = draw(-shift, shift) if shift else None
        flip_horizontal = bool(self.horizontal_flip and np.random.random() < 0.5)
        flip_vertical = bool(self.vertical_flip and np.random.random() < 0.5)
        brightness = None if self.brightness_range is None else draw(*self.brightness_range)
        return {
            "theta": theta,
            "tx": tx,
            "ty": ty,
            "shear": shear,
            "zx": zx,
            "zy": zy,
            "flip_horizontal": flip_horizontal,
            "flip_vertical": flip_vertical,
            "channel_shift_intensity": intensity,
            "brightness": brightness,
        }

    def apply_transform(self, x: Array, transform_parameters: dict[str, Any]) -> Array:
        """The image changed as `get_random_transform` says; what is not named stays."""
        if self._is_first:
            last = self._changed(x.transpose(1, 2, 0), transform_parameters)
            return last.transpose(2, 0, 1)
        return self._changed(x, transform_parameters)

    def random_transform(self, x: Array, seed: int | None = None) -> Array:
        """An image changed at random, as NumPy's generator decides."""
        return self.apply_transform(x, self.get_random_transform(x.shape, seed))

    def _changed(self, x: Array, how: dict[str, Any]) -> Array:
        x = moved(x, how, self.fill_mode, self.cval)
        if how.get("channel_shift_intensity") is not None:
            x = shifted(x, how["channel_shift_intensity"])
        if how.get("flip_horizontal"):
            x = x[:, ::-1]
        if how.get("flip_vertical"):
            x = x[::-1]
        if how.get("brightness") is not None:
            x = brightened(x, how["brightness"])
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
        sample_weight: TensorLike | None = None,
        seed: int | None = None,
        save_to_dir: Any = None,
        save_prefix: str = "",
        save_format: str = "png",
        subset: str | None = None,
    ) -> Iterator:
        """Batches of changed images (with labels and weights) of arrays, without an end.

        With ``save_to_dir`` each image is also written there, as a ``save_format`` file.
        """
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
        return NumpyArrayIterator(
            self,
            lambda i: x[rows[i]],
            [v[rows] for v in others],
            len(rows),
            batch_size,
            shuffle,
            seed,
            _save_to(save_to_dir, save_prefix, save_format),
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
        save_to_dir: Any = None,
        save_prefix: str = "",
        save_format: str = "png",
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
        if color_mode not in ("grayscale", "rgb", "rgba"):
            raise ValueError(f"Invalid color mode: {color_mode}; expected rgb, rgba or grayscale.")
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
                if file.lower().endswith(ENDINGS)
            )
            found = [found[i] for i in self._part(len(found), subset)]
            files += found
            numbers += [number] * len(found)
        if not files:
            raise ValueError(f"flow_from_directory: no images in the class folders of {folder}.")
        iterator = self._of_files(
            files,
            np.array(numbers, "int32"),
            names,
            class_mode,
            (target_size, color_mode, interpolation),
            (batch_size, shuffle, seed, _save_to(save_to_dir, save_prefix, save_format)),
            DirectoryIterator,
        )
        iterator.filenames = [str(file.relative_to(folder)) for file in files]
        print(f"Found {len(files)} images belonging to {len(names)} classes.")
        return iterator

    def flow_from_dataframe(
        self,
        dataframe: Any,
        directory: Any = None,
        x_col: str = "filename",
        y_col: Any = "class",
        weight_col: str | None = None,
        target_size: Any = (256, 256),
        color_mode: str = "rgb",
        classes: Any = None,
        class_mode: str | None = "categorical",
        batch_size: int = 32,
        shuffle: bool = True,
        seed: int | None = None,
        save_to_dir: Any = None,
        save_prefix: str = "",
        save_format: str = "png",
        subset: str | None = None,
        interpolation: str = "nearest",
        validate_filenames: bool = True,
    ) -> Iterator:
        """Batches of the image files that a table names, below ``directory`` or by their full paths.

        ``class_mode`` as in `flow_from_directory`, with ``y_col`` a column of class names; or
        "raw" (the numbers of one column or several) or "multi_output" (a column for each output).
        Rows whose file is not there are left out with a warning, unless ``validate_filenames`` is
        false.

        Raises `ValueError` for columns that the table has not, and where no image is left.
        """
        columns = [y_col] if isinstance(y_col, str) else list(y_col or [])
        folder = Path(directory or "")
        table, names = chosen_rows(dataframe, x_col, columns, weight_col, classes, class_mode)
        if validate_filenames:
            table = existing_files(table, x_col, folder)
        table = table.iloc[self._part(len(table), subset)]
        if not len(table):
            raise ValueError(f"flow_from_dataframe: none of the images of {x_col!r} is there.")
        numbers = np.zeros(len(table), "int32")
        if names:
            number_of = {name: i for i, name in enumerate(names)}
            numbers = np.array([number_of[name] for name in table[columns[0]]], "int32")
        files = [folder / name for name in table[x_col]]
        iterator = self._of_files(
            files,
            numbers,
            names,
            class_mode,
            (target_size, color_mode, interpolation),
            (batch_size, shuffle, seed, _save_to(save_to_dir, save_prefix, save_format)),
            DataFrameIterator,
        )
        if class_mode == "raw":
            values = np.asarray(table[y_col] if isinstance(y_col, str) else table[columns])
            iterator.labels = values
            iterator._others = [values]
        elif class_mode == "multi_output":
            iterator.labels = [np.asarray(table[c].tolist()) for c in columns]
            iterator._outputs = iterator.labels
        if weight_col:
            iterator._others = [*iterator._others, np.asarray(table[weight_col], self.dtype)]
        iterator.filenames = [str(name) for name in table[x_col]]
        print(
            f"Found {len(files)} validated image filenames"
            + (f" belonging to {len(names)} classes." if names else ".")
        )
        return iterator

    def _of_files(
        self,
        files: list[Path],
        labels: Array,
        names: list[Any],
        class_mode: str | None,
        reading: tuple[Any, str, str],
        batches: tuple[int, bool, int | None, SaveTo | None],
        kind: type[Iterator],
    ) -> Iterator:
        target_size, color_mode, interpolation = reading
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
            return img_to_array(image, self.data_format)

        iterator = kind(self, read, given, len(files), *batches)
        iterator.gives_itself = class_mode == "input"
        iterator.classes = labels
        iterator.class_indices = {name: i for i, name in enumerate(names)}
        iterator.num_classes = len(names)
        return iterator


def _save_to(folder: Any, prefix: str, file_format: str) -> SaveTo | None:
    return None if folder is None else SaveTo(folder, prefix, file_format)
