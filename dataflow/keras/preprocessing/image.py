"""Images as arrays, from files and folders, changed at random while a model is trained."""

from dataflow.keras.preprocessing.image_arrays import (
    array_to_img,
    img_to_array,
    load_img,
    save_img,
)
from dataflow.keras.preprocessing.image_changes import (
    apply_affine_transform,
    apply_brightness_shift,
    apply_channel_shift,
    random_brightness,
    random_channel_shift,
    random_rotation,
    random_shear,
    random_shift,
    random_zoom,
)
from dataflow.keras.preprocessing.image_generator import ImageDataGenerator
from dataflow.keras.preprocessing.image_iterator import (
    DataFrameIterator,
    DirectoryIterator,
    Iterator,
    NumpyArrayIterator,
)

__all__ = [
    "DataFrameIterator",
    "DirectoryIterator",
    "ImageDataGenerator",
    "Iterator",
    "NumpyArrayIterator",
    "apply_affine_transform",
    "apply_brightness_shift",
    "apply_channel_shift",
    "array_to_img",
    "img_to_array",
    "load_img",
    "random_brightness",
    "random_channel_shift",
    "random_rotation",
    "random_shear",
    "random_shift",
    "random_zoom",
    "save_img",
]
