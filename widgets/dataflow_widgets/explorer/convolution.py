"""`ConvolutionExplorer`: a kernel slides over an image; what a deep unit can see."""

from __future__ import annotations

from typing import Any

import ipywidgets
import numpy as np

import dataflow as tf
from dataflow_widgets.explorer.base import Explorer
from dataflow_widgets.explorer.challenges import Challenge
from dataflow_widgets.explorer.panels import Images, Matrix, Numbers, Panel

_K = 3
KERNELS = {
    "vertical edges": [[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]],  # Sobel
    "horizontal edges": [[-1, -2, -1], [0, 0, 0], [1, 2, 1]],
    "blur": [[1 / 9] * 3] * 3,
    "sharpen": [[0, -1, 0], [-1, 5, -1], [0, -1, 0]],
    "outline": [[-1, -1, -1], [-1, 8, -1], [-1, -1, -1]],
    "nothing": [[0, 0, 0], [0, 1, 0], [0, 0, 0]],
}
IMAGES = ("seven", "ring", "stripes", "bars", "checkers")
_OWN = "your own"


def make_image(name: str, size: int) -> np.ndarray:
    """A picture of light on dark, [size, size] from 0 to 1."""
    y, x = np.mgrid[:size, :size] / (size - 1)
    if name == "seven":
        bar = (abs(y - 0.22) < 0.06) & (x > 0.22) & (x < 0.78)
        leg = (abs(x - (0.75 - 0.45 * (y - 0.2))) < 0.06) & (y > 0.2) & (y < 0.85)
        picture = bar | leg
    elif name == "ring":
        picture = abs(np.hypot(x - 0.5, y - 0.5) - 0.3) < 0.09
    elif name == "stripes":
        picture = np.sin(24 * x + 10 * y) > 0
    elif name == "bars":
        picture = (y * 7.99).astype(int) % 2 == 0
    else:
        picture = (np.floor(x * 7.99) + np.floor(y * 7.99)) % 2 == 0
    return np.asarray(picture, np.float32)


class ConvolutionExplorer(Explorer):
    """A 3 x 3 kernel over an image: drag the window, edit the numbers, click a deep unit.

        ConvolutionExplorer(image="ring", kernel=[[0, 1, 0], [1, -4, 1], [0, 1, 0]])

    The feature map is `tf.nn.conv2d`; the deep one is the same convolution ``depth`` times over. What
    a deep unit can see is where its gradient by the image, through kernels of ones, is not zero.

    Values: ``image`` ("seven", "ring", "stripes", "bars", "checkers"), ``size`` (16 to 128), ``preset`` (a
    kernel by name), ``stride`` (1 to 3), ``dilation`` (1 to 3), ``padding`` ("VALID", "SAME"),
    ``depth`` (1 to 5), ``kernel`` [3][3], ``window`` [row, column] of its upper left corner in the
    image, ``unit`` [0, row, column] in the deep map.
    """

    heading = "Convolution"
    lead = "Drag the pink window over the image, and watch which cell of the feature map it makes."
    state = {"kernel": KERNELS["vertical edges"], "window": [3, 3], "unit": [0, 2, 2]}
    rebuilds = frozenset({"size", "stride", "dilation", "padding", "depth"})

    def make_controls(self) -> dict[str, Any]:
        return {
            "image": ipywidgets.Dropdown(options=list(IMAGES), description="image"),
            "size": ipywidgets.Dropdown(
                options=["16", "28", "64", "128"], description="pixels a side"
            ),
            "preset": ipywidgets.Dropdown(options=[*KERNELS, _OWN], description="kernel"),
            "stride": ipywidgets.IntSlider(1, min=1, max=3, description="stride"),
            "dilation": ipywidgets.IntSlider(1, min=1, max=3, description="dilation"),
            "padding": ipywidgets.ToggleButtons(options=["VALID", "SAME"], description="padding"),
            "depth": ipywidgets.IntSlider(3, min=1, max=5, description="layers, for the deep map"),
        }

    def build(self) -> None:
        if self.session is not None:
            self.session.close()
        values, size = self.values, int(self.values["size"])
        how = {
            "strides": [1, values["stride"], values["stride"], 1],
            "padding": values["padding"],
            "dilations": [1, values["dilation"], values["dilation"], 1],
        }
        with tf.Graph().as_default() as self.graph:
            self._image = tf.placeholder(tf.float32, [1, size, size, 1], name="image")
            self._kernel = tf.placeholder(tf.float32, [_K, _K, 1, 1], name="kernel")
            self._map = tf.nn.conv2d(self._image, self._kernel, name="feature_map", **how)
            deep, self.depth = self._map, 1
            while self.depth < values["depth"] and min(deep.shape[1:3].as_list()) > self._reach():
                deep = tf.nn.conv2d(deep, self._kernel, name=f"layer{self.depth + 1}", **how)
                self.depth += 1
            self._deep = deep
            self._chosen = tf.placeholder(tf.float32, deep.shape, name="chosen")
            (self._seen,) = tf.gradients(tf.reduce_sum(deep * self._chosen), self._image)
        self.session = tf.Session(graph=self.graph)

    def _reach(self) -> int:
        """Pixels from the first to the last that the dilated kernel touches, less one."""
        return int(self.values["dilation"]) * (_K - 1)

    def begin(self) -> None:
        self._now = self.measured()

    def changed(self, names: set[str]) -> None:
        if "kernel" in names:
            known = [name for name, kernel in KERNELS.items() if kernel == self.values["kernel"]]
            self.adjust(preset=known[0] if known else _OWN)
        elif "preset" in names and self.values["preset"] in KERNELS:
            self.adjust(kernel=KERNELS[self.values["preset"]])
        self._now = self.measured()

    def _padding(self) -> int:
        """Rows of zeros above the image."""
        if self.values["padding"] == "VALID":
            return 0
        size, stride = int(self.values["size"]), self.values["stride"]
        return int(max(0, (-(-size // stride) - 1) * stride + self._reach() + 1 - size) // 2)

    def cell(self) -> tuple[int, int]:
        """Row and column of the feature map that the window makes."""
        most = self._map.shape[1].value - 1
        padding, stride = self._padding(), self.values["stride"]
        row, column = (round((at + padding) / stride) for at in self.values["window"])
        return min(max(row, 0), most), min(max(column, 0), most)

    def measured(self) -> dict[str, np.ndarray]:
        """``image``, ``map``, ``deep`` and ``seen`` (1 where the unit's gradient is not 0), 2-D."""
        size = int(self.values["size"])
        image = make_image(self.values["image"], size).reshape(1, size, size, 1)
        kernel = np.reshape(self.values["kernel"], [_K, _K, 1, 1])
        chosen = np.zeros([1, *self._deep_size(), 1], np.float32)
        _, row, column = self.unit()
        chosen[0, row, column, 0] = 1
        run = self.session.run
        feature, deep = run([self._map, self._deep], {self._image: image, self._kernel: kernel})
        ones = {self._image: image, self._kernel: np.ones_like(kernel), self._chosen: chosen}
        seen = run(self._seen, ones) != 0
        names = {"image": image, "map": feature, "deep": deep, "seen": seen}
        return {name: value[0, :, :, 0] for name, value in names.items()}

    def _deep_size(self) -> tuple[int, int]:
        _, rows, columns, _ = (d or 0 for d in self._deep.shape.as_list())
        return rows, columns

    def unit(self) -> tuple[int, int, int]:
        """The deep unit that is looked at, within the deep map."""
        rows, columns = self._deep_size()
        _, row, column = self.values["unit"]
        return 0, min(max(row, 0), rows - 1), min(max(column, 0), columns - 1)

    def frame(self) -> list[Panel]:
        now = self._now
        row, column = self.cell()
        padding, stride, span = self._padding(), self.values["stride"], self._reach() + 1
        top, left = row * stride - padding, column * stride - padding
        image = now["image"]
        padded = np.pad(image, span)
        patch = padded[
            top + span : top + 2 * span : self.values["dilation"],
            left + span : left + 2 * span : self.values["dilation"],
        ]
        products = patch * np.asarray(self.values["kernel"])
        self._sum = float(products.sum())
        return [
            Images(
                title=f"Image, {image.shape[0]} x {image.shape[1]}",
                values=image[None],
                value_range=(0.0, 1.0),
                window=("window", top, left, span, span),
                marked=now["seen"][None] if self.depth > 1 else None,
                note="red: what the chosen deep unit can see" if self.depth > 1 else "",
            ),
            Images(
                title=f"Feature map, {now['map'].shape[0]} x {now['map'].shape[1]}",
                values=now["map"][None],
                diverging=True,
                cell=("window", 0, row, column),
                note="blue is negative, orange positive",
            ),
            Matrix(title="Kernel", values=np.asarray(self.values["kernel"]), edits="kernel"),
            Matrix(title=f"Window x kernel: the sum is {self._sum:.3g}", values=products),
            Images(
                title=f"After {self.depth} layers, {now['deep'].shape[0]} x {now['deep'].shape[1]}",
                values=now["deep"][None],
                diverging=True,
                cell=("unit", *self.unit()),
                note="click a unit to see its receptive field in the image",
            ),
            Numbers(
                title="Receptive field",
                values={"pixels": int(now["seen"].sum()), "a side": self.field()},
            ),
        ]

    def field(self) -> int:
        """The side of the receptive field by the formula: 1 + sum of reach times strides before."""
        stride = self.values["stride"]
        return int(1 + sum(self._reach() * stride**layer for layer in range(self.depth)))

    def _accept_state(self, name: str, value: Any) -> Any:
        # A cell of the feature map, clicked, says where the window goes.
        if name == "window" and isinstance(value, list | tuple) and len(value) == 3:
            padding, stride = self._padding(), self.values["stride"]
            value = [at * stride - padding for at in value[1:]]
        return super()._accept_state(name, value)

    def sentence(self) -> str:
        row, column = self.cell()
        value, seen = self._now["map"][row, column], int(self._now["seen"].sum())
        return (
            f"Row {row + 1}, column {column + 1} of the feature map is {value:.3g}; "
            f"the chosen unit of layer {self.depth} sees {seen} pixels."
        )

    def one_step(self) -> tuple[Any, Any]:
        size = int(self.values["size"])
        image = make_image(self.values["image"], size).reshape(1, size, size, 1)
        kernel = np.reshape(self.values["kernel"], [_K, _K, 1, 1]).astype(np.float32)
        return self._map, {self._image: image, self._kernel: kernel}

    def code(self) -> str:
        v = self.values
        return f"""import dataflow as tf

image = tf.placeholder(tf.float32, [1, {v["size"]}, {v["size"]}, 1])
kernel = tf.reshape(tf.constant({v["kernel"]!r}, tf.float32), [3, 3, 1, 1])
layer = image
for _ in range({self.depth}):
    layer = tf.nn.conv2d(layer, kernel, strides=[1, {v["stride"]}, {v["stride"]}, 1],
                         dilations=[1, {v["dilation"]}, {v["dilation"]}, 1], padding="{v["padding"]}")
unit = layer[0, {self.unit()[1]}, {self.unit()[2]}, 0]
(gradient,) = tf.gradients(unit, image)  # not zero where the unit can see
"""


def _dark_map(explorer: Any) -> tuple[bool, str]:
    most = float(np.abs(explorer.measured()["map"]).max())
    is_nothing = not np.any(explorer.values["kernel"])
    words = f"The largest size in the feature map is {most:.3g}."
    if is_nothing:
        return False, words + " A kernel of zeros sees nothing at all: that is too easy."
    return most < 1e-5, words


def _wide_field(explorer: Any) -> tuple[bool, str]:
    if explorer.depth > 2:
        return False, f"With at most two layers, please; there are {explorer.depth}."
    seen = int(explorer.measured()["seen"].sum())
    side = explorer.field()
    return side >= 13, f"The receptive field is {side} pixels a side, of which it sees {seen}."


def _same_size(explorer: Any) -> tuple[bool, str]:
    size, deep = int(explorer.values["size"]), explorer._deep.shape[1].value
    words = f"The image has {size} pixels a side, the map after {explorer.depth} layers {deep}."
    return explorer.depth >= 3 and deep == size, words


ConvolutionExplorer.challenges = (
    Challenge("an image and a kernel, not of zeros, whose feature map is empty?", _dark_map),
    Challenge(
        "two layers that see 13 pixels a side or more, though a kernel has three?", _wide_field
    ),
    Challenge("three layers after which the map is as large as the image?", _same_size),
)
