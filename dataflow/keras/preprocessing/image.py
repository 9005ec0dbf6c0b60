"""Images as arrays, from files and folders, changed at random while a model is trained."""

from dataflow.keras.preprocessing.image_arrays import (
    array_to_img,
    img_to_array,
    load_img,
    save_img,
)
from dataflow.keras.preprocessing.image_generator import ImageDataGenerator
from dataflow.keras.preprocessing.image_iterator import Iterator

__all__ = [
    "ImageDataGenerator",
    "Iterator",
    "array_to_img",
    "img_to_array",
    "load_img",
    "save_img",
]
