"""Padding, cropping and enlarging of steps, images and volumes."""

from __future__ import annotations

from typing import Any

from dataflow.keras import backend as K
from dataflow.keras.base_layer import InputSpec, Layer
from dataflow.layers.layer_arguments import pair
from dataflow.ops import array
from dataflow.ops.image_resize import resize_bilinear, resize_nearest_neighbor


def _sides(value: Any, rank: int, name: str) -> list[tuple[int, int]]:
    if isinstance(value, int):
        return [(value, value)] * rank
    if not hasattr(value, "__len__"):
        raise ValueError(
            f"{name}: expected an int, {rank} ints or {rank} pairs of ints; got {value!r}."
        )
    sides = [(v, v) if isinstance(v, int) else tuple(v) for v in value]
    if rank == 1 and len(sides) == 2 and all(isinstance(v, int) for v in value):
        sides = [tuple(value)]
    if len(sides) != rank or any(len(s) != 2 for s in sides):
        raise ValueError(
            f"{name}: expected an int, {rank} ints or {rank} pairs of ints; got {value!r}."
        )
    return sides


class _Spatial(Layer):
    rank = 2

    def _take_format(self, data_format: str) -> None:
        self.data_format = data_format or K.image_data_format()
        self.input_spec = InputSpec(ndim=self.rank + 2)

    def _per_axis(self, values: Any, outside: Any) -> list[Any]:
        """One value for each axis, ``outside`` for the batch and the channels."""
        if self.rank > 1 and self.data_format == "channels_first":
            return [outside, outside, *values]
        return [outside, *values, outside]


class _ZeroPadding(_Spatial):
    def __init__(self, padding: Any = 1, data_format: Any = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.padding = _sides(padding, self.rank, type(self).__name__)
        self._take_format(data_format)

    def call(self, inputs: Any) -> Any:
        return array.pad(inputs, self._per_axis(self.padding, (0, 0)))


class ZeroPadding1D(_ZeroPadding):
    """Zeros before and after the steps."""

    rank = 1


class ZeroPadding2D(_ZeroPadding):
    """Zeros around an image: an int, (rows, columns), or ((top, bottom), (left, right))."""

    def __init__(self, padding: Any = (1, 1), data_format: Any = None, **kwargs: Any) -> None:
        super().__init__(padding, data_format, **kwargs)


class ZeroPadding3D(_ZeroPadding):
    """Zeros around a volume: an int, three ints, or three pairs."""

    rank = 3

    def __init__(self, padding: Any = (1, 1, 1), data_format: Any = None, **kwargs: Any) -> None:
        super().__init__(padding, data_format, **kwargs)


class _Cropping(_Spatial):
    def __init__(self, cropping: Any, data_format: Any = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.cropping = _sides(cropping, self.rank, type(self).__name__)
        self._take_format(data_format)

    def call(self, inputs: Any) -> Any:
        slices = [slice(a, -b if b else None) for a, b in self.cropping]
        return inputs[tuple(self._per_axis(slices, slice(None)))]


class Cropping1D(_Cropping):
    """Cuts steps off both ends."""

    rank = 1

    def __init__(self, cropping: Any = (1, 1), **kwargs: Any) -> None:
        super().__init__(cropping, **kwargs)


class Cropping2D(_Cropping):
    """Cuts the borders of an image off."""

    def __init__(self, cropping: Any = ((0, 0), (0, 0)), data_format: str | None = None, **kwargs: Any) -> None:  # fmt: skip
        super().__init__(cropping, data_format, **kwargs)


class Cropping3D(_Cropping):
    """Cuts the borders of a volume off."""

    rank = 3

    def __init__(self, cropping: Any = ((1, 1), (1, 1), (1, 1)), data_format: str | None = None, **kwargs: Any) -> None:  # fmt: skip
        super().__init__(cropping, data_format, **kwargs)


def _repeated(inputs: Any, times: int, axis: int) -> Any:
    sizes = inputs.shape.as_list()
    outputs = array.repeat(inputs, times, axis=axis)
    if sizes[axis] is not None:
        sizes[axis] *= times
    outputs.set_shape(sizes)
    return outputs


class UpSampling1D(_Spatial):
    """Repeats each step ``size`` times."""

    rank = 1

    def __init__(self, size: int = 2, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.size = int(size)
        self.input_spec = InputSpec(ndim=3)

    def call(self, inputs: Any) -> Any:
        return _repeated(inputs, self.size, 1)


class UpSampling2D(_Spatial):
    """Repeats rows and columns, or interpolates ("bilinear")."""

    def __init__(
        self,
        size: Any = (2, 2),
        data_format: Any = None,
        interpolation: str = "nearest",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.size = pair(size, 2, "size")
        self._take_format(data_format)
        if interpolation not in ("nearest", "bilinear"):
            raise ValueError(
                f"UpSampling2D: interpolation is 'nearest' or 'bilinear', got {interpolation!r}."
            )
        self.resize = resize_nearest_neighbor if interpolation == "nearest" else resize_bilinear

    def call(self, inputs: Any) -> Any:
        first = self.data_format == "channels_first"
        if first:
            inputs = array.transpose(inputs, [0, 2, 3, 1])
        sizes = array.shape(inputs)[1:3] * list(self.size)
        outputs = self.resize(inputs, sizes)
        static = [
            None if n is None else n * k
            for n, k in zip(inputs.shape.as_list()[1:3], self.size, strict=True)
        ]
        outputs.set_shape([inputs.shape[0], *static, inputs.shape[3]])
        return array.transpose(outputs, [0, 3, 1, 2]) if first else outputs


class UpSampling3D(_Spatial):
    """Repeats the values of a volume along its three axes."""

    rank = 3

    def __init__(self, size: Any = (2, 2, 2), data_format: Any = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.size = pair(size, 3, "size")
        self._take_format(data_format)

    def call(self, inputs: Any) -> Any:
        start = 2 if self.data_format == "channels_first" else 1
        for axis, times in enumerate(self.size, start=start):
            inputs = _repeated(inputs, times, axis)
        return inputs
