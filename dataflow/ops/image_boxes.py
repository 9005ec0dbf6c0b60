"""Boxes in images: cut out, drawn, drawn at random; and glimpses."""

from __future__ import annotations

from typing import Any

from dataflow import dtypes
from dataflow.dtypes import DType
from dataflow.graph.name_scopes import op_scope
from dataflow.graph.op_signature import FLOAT
from dataflow.graph.operation import Operation
from dataflow.graph.registry import define_op, not_differentiable, refuse_gradient
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops.seeds import seed_attrs
from dataflow.ops.shape import need_rank, shape
from dataflow.ops.static_value import static_dims
from dataflow.shapes import Dims, merge


@define_op(
    "CropAndResize",
    "image: T, boxes: float32, box_ind: int32, crop_size: int32 -> crops: float32",
    T=dtypes.REAL_NUMBERS,
)
def crop_and_resize_op(
    image: Tensor,
    boxes: Tensor,
    box_ind: Tensor,
    crop_size: Tensor,
    *,
    method: str = "bilinear",
    extrapolation_value: float = 0.0,
) -> Dims:
    """Boxes [y1, x1, y2, x2] (0 to 1) cut out of images and resized.

    Shape: [boxes, *crop_size, channels]; what lies outside is ``extrapolation_value``. Gradient: for
    images of floats, and with ``bilinear`` for boxes.
    """
    need_rank(image, 4, "image")
    need_rank(boxes, 2, "boxes")
    need_rank(box_ind, 1, "box_ind")
    if method not in ("bilinear", "nearest"):
        raise ValueError(f"method must be bilinear or nearest, got {method!r}")
    height, width = static_dims(crop_size) or (None, None)
    (count,) = merge((None if boxes.dims is None else boxes.dims[0],), box_ind.dims) or (None,)
    return (count, height, width, None if image.dims is None else image.dims[3])


@define_op(
    "CropAndResizeGradImage",
    "grads: float32, boxes: float32, box_ind: int32, image_size: int32 -> output: T",
    T=FLOAT,
)
def crop_and_resize_grad_image_op(
    grads: Tensor,
    boxes: Tensor,
    box_ind: Tensor,
    image_size: Tensor,
    *,
    T: DType,
    method: str = "bilinear",
) -> Dims:
    """The gradient of `CropAndResize` for images. Shape: ``image_size``. Not differentiable."""
    return static_dims(image_size) or (None, None, None, None)


@define_op(
    "CropAndResizeGradBoxes",
    "grads: float32, image: T, boxes: float32, box_ind: int32 -> output: float32",
    T=dtypes.REAL_NUMBERS,
)
def crop_and_resize_grad_boxes_op(
    grads: Tensor, image: Tensor, boxes: Tensor, box_ind: Tensor, *, method: str = "bilinear"
) -> Dims:
    """The gradient of `CropAndResize` for boxes. Shape: that of ``boxes``. Not differentiable."""
    return boxes.dims


@crop_and_resize_op.gradient
def crop_and_resize_gradient(op: Operation, grad: Tensor) -> list[Any]:
    image, boxes, box_ind, _ = op.inputs
    method = op.attrs["method"]
    by_image = None
    if image.dtype.base_dtype.is_floating:
        by_image = crop_and_resize_grad_image_op(
            grad, boxes, box_ind, shape(image), T=image.dtype.base_dtype, method=method
        )
        by_image.set_shape(image.get_shape())
    by_boxes = None
    if method == "bilinear":
        by_boxes = crop_and_resize_grad_boxes_op(grad, image, boxes, box_ind)
    return [by_image, by_boxes, None, None]


@define_op(
    "DrawBoundingBoxesV2", "images: T, boxes: float32, colors: float32 -> output: T", T=FLOAT
)
def draw_bounding_boxes_op(images: Tensor, boxes: Tensor, colors: Tensor) -> Dims:
    """Frames of boxes [y1, x1, y2, x2] (0 to 1) drawn into images. Not differentiable."""
    need_rank(images, 4, "images")
    need_rank(boxes, 3, "boxes")
    return images.dims


@define_op("DrawBoundingBoxes", "images: T, boxes: float32 -> output: T", T=FLOAT)
def draw_bounding_boxes_v1_op(images: Tensor, boxes: Tensor) -> Dims:
    """As DrawBoundingBoxesV2, in a fixed cycle of ten colors. Not differentiable."""
    need_rank(images, 4, "images")
    need_rank(boxes, 3, "boxes")
    return images.dims


@define_op(
    "SampleDistortedBoundingBoxV2",
    "image_size: T, bounding_boxes: float32, min_object_covered: float32 "
    "-> begin: T, size: T, bboxes: float32",
    stateful=True,
    T=dtypes.INTEGERS,
)
def sample_distorted_bounding_box_op(
    image_size: Tensor,
    bounding_boxes: Tensor,
    min_object_covered: Tensor,
    *,
    seed: int = 0,
    seed2: int = 0,
    aspect_ratio_range: list[float] = (0.75, 1.33),  # type: ignore[assignment]
    area_range: list[float] = (0.05, 1.0),  # type: ignore[assignment]
    max_attempts: int = 100,
    use_image_if_no_bounding_boxes: bool = False,
) -> list[Dims]:
    """A random window that covers enough of some box. Not differentiable."""
    need_rank(image_size, 1, "image_size")
    need_rank(bounding_boxes, 3, "bounding_boxes")
    return [(3,), (3,), (1, 1, 4)]


@define_op(
    "ExtractGlimpse",
    "input: float32, size: int32, offsets: float32 -> glimpse: float32",
    stateful=True,
)
def extract_glimpse_op(
    input: Tensor,
    size: Tensor,
    offsets: Tensor,
    *,
    centered: bool = True,
    normalized: bool = True,
    uniform_noise: bool = True,
    noise: str = "uniform",
) -> Dims:
    """A window of ``size`` of each image; what lies outside is noise. Not differentiable."""
    need_rank(input, 4, "input")
    need_rank(offsets, 2, "offsets")
    height, width = static_dims(size) or (None, None)
    batch, _, _, channels = input.dims or (None,) * 4
    if offsets.dims is not None:
        batch, _ = merge((batch, 2), offsets.dims) or (None, 2)
    return (batch, height, width, channels)


refuse_gradient(crop_and_resize_grad_image_op, crop_and_resize_grad_boxes_op)

not_differentiable(
    draw_bounding_boxes_op,
    draw_bounding_boxes_v1_op,
    sample_distorted_bounding_box_op,
    extract_glimpse_op,
)


def draw_bounding_boxes(
    images: TensorLike, boxes: TensorLike, name: str | None = None, colors: Any = None
) -> Tensor:
    """Frames of ``boxes`` [batch, boxes, (y1, x1, y2, x2)] drawn into images."""
    if colors is None:
        return draw_bounding_boxes_v1_op(images, boxes, name=name)  # type: ignore[no-any-return]
    return draw_bounding_boxes_op(images, boxes, colors, name=name)  # type: ignore[no-any-return]


def sample_distorted_bounding_box(
    image_size: Any,
    bounding_boxes: Any,
    seed: int | None = None,
    seed2: int | None = None,
    min_object_covered: Any = 0.1,
    aspect_ratio_range: Any = None,
    area_range: Any = None,
    max_attempts: int | None = None,
    use_image_if_no_bounding_boxes: bool | None = None,
    name: str | None = None,
) -> Any:
    """``(begin, size, bboxes)`` of a random window that covers enough of some box.

    ``tf.slice(image, begin, size)`` cuts it out. When no try succeeds it is the whole image.
    """
    with op_scope(name, "sample_distorted_bounding_box"):
        seeds = {"seed": seed or 0, "seed2": seed2} if seed2 else seed_attrs(seed)
        return sample_distorted_bounding_box_op(
            image_size,
            bounding_boxes,
            min_object_covered,
            aspect_ratio_range=list(aspect_ratio_range or (0.75, 1.33)),
            area_range=list(area_range or (0.05, 1.0)),
            max_attempts=max_attempts or 100,
            use_image_if_no_bounding_boxes=bool(use_image_if_no_bounding_boxes),
            **seeds,
        )


def extract_glimpse(
    input: TensorLike,
    size: TensorLike,
    offsets: Any,
    centered: bool = True,
    normalized: bool = True,
    uniform_noise: bool = True,
    name: str | None = None,
) -> Tensor:
    """A window of ``size`` around ``offsets`` of each image; noise where it reaches outside."""
    return extract_glimpse_op(  # type: ignore[no-any-return]
        input,
        size,
        offsets,
        centered=centered,
        normalized=normalized,
        uniform_noise=uniform_noise,
        name=name,
    )


def crop_and_resize(
    image: TensorLike,
    boxes: TensorLike,
    box_ind: Any = None,
    crop_size: Any = None,
    method: str = "bilinear",
    extrapolation_value: float = 0,
    name: str | None = None,
    box_indices: Any = None,
) -> Tensor:
    """Boxes [y1, x1, y2, x2] cut out of images and resized to ``crop_size``."""
    return crop_and_resize_op(  # type: ignore[no-any-return]
        image,
        boxes,
        box_ind if box_ind is not None else box_indices,
        crop_size,
        method=method,
        extrapolation_value=extrapolation_value,
        name=name,
    )
