"""Image ops with kernels of their own: resizing, colors, boxes, and files.

Images are [height, width, channels] or batches [batch, height, width, channels]. The functions of
`tf.image` built from them are in `image_functions`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow import dtypes, shapes
from dataflow.dtypes import DType
from dataflow.graph.op_signature import Defaulted
from dataflow.graph.operation import Operation
from dataflow.graph.registry import define_op, not_differentiable, refuse_gradient
from dataflow.graph.tensor import Tensor
from dataflow.ops.array_basics import need_rank, shape
from dataflow.ops.static_value import static_dims, static_value
from dataflow.shapes import Dims

_PIXELS = dtypes.REAL_NUMBERS
_FLOAT = Defaulted(dtypes.float32, dtypes.FLOATING)

# ---- resizing -----------------------------------------------------------------------------


def _resized(images: Tensor, size: Tensor) -> Dims:
    need_rank(images, 4, "images")
    need_rank(size, 1, "size")
    if size.dims is not None and size.dims[0] not in (None, 2):
        raise ValueError(f"size must hold height and width, got {size.dims[0]} numbers")
    known = static_value(size)
    if known is not None and (np.asarray(known) <= 0).any():
        raise ValueError(f"output dimensions must be positive, got {np.asarray(known).tolist()}")
    height, width = static_dims(size) or (None, None)
    batch, _, _, channels = images.dims or (None,) * 4
    return (batch, height, width, channels)


@define_op(
    "ResizeBilinear", "images: T, size: int32 -> resized_images: float32", T=_PIXELS, cost=0.02
)
def resize_bilinear_op(
    images: Tensor, size: Tensor, *, align_corners: bool = False, half_pixel_centers: bool = False
) -> Dims:
    """Images resized by bilinear interpolation of the four nearest pixels.

    Shape: [batch, *size, channels]; dtype float32. Gradient: spread over the same four pixels.
    """
    return _resized(images, size)


@define_op(
    "ResizeBicubic", "images: T, size: int32 -> resized_images: float32", T=_PIXELS, cost=0.05
)
def resize_bicubic_op(
    images: Tensor, size: Tensor, *, align_corners: bool = False, half_pixel_centers: bool = False
) -> Dims:
    """Images resized by cubic convolution (Keys, 1981) of 16 pixels. Gradient: spread over them.

    Shape: [batch, *size, channels]; dtype float32.
    """
    return _resized(images, size)


@define_op("ResizeArea", "images: T, size: int32 -> resized_images: float32", T=_PIXELS)
def resize_area_op(images: Tensor, size: Tensor, *, align_corners: bool = False) -> Dims:
    """Images resized, as float32, by the mean of the area under each new pixel. Not differentiable."""
    return _resized(images, size)


@define_op("ResizeNearestNeighbor", "images: T, size: int32 -> resized_images: T", T=_PIXELS)
def resize_nearest_neighbor_op(
    images: Tensor, size: Tensor, *, align_corners: bool = False, half_pixel_centers: bool = False
) -> Dims:
    """Images resized by taking the nearest pixel. Gradient: summed at the pixel taken."""
    return _resized(images, size)


def _same_image(grads: Tensor, original_image: Tensor) -> Dims:
    need_rank(grads, 4, "grads")
    return original_image.dims


@define_op(
    "ResizeBilinearGrad",
    "grads: float32, original_image: T -> output: T",
    T=dtypes.FLOATING,
)
def resize_bilinear_grad_op(
    grads: Tensor,
    original_image: Tensor,
    *,
    align_corners: bool = False,
    half_pixel_centers: bool = False,
) -> Dims:
    """The gradient of ResizeBilinear. Gradient: ResizeBilinear."""
    return _same_image(grads, original_image)


@define_op(
    "ResizeBicubicGrad",
    "grads: float32, original_image: T -> output: T",
    T=dtypes.FLOATING,
)
def resize_bicubic_grad_op(
    grads: Tensor,
    original_image: Tensor,
    *,
    align_corners: bool = False,
    half_pixel_centers: bool = False,
) -> Dims:
    """The gradient of ResizeBicubic. Gradient: ResizeBicubic."""
    return _same_image(grads, original_image)


@define_op("ResizeNearestNeighborGrad", "grads: T, size: int32 -> output: T", T=_PIXELS)
def resize_nearest_neighbor_grad_op(
    grads: Tensor, size: Tensor, *, align_corners: bool = False, half_pixel_centers: bool = False
) -> Dims:
    """The gradient of ResizeNearestNeighbor, for images of ``size``. Gradient: the same resizing."""
    return _resized(grads, size)


def _resize_attrs(op: Operation) -> dict[str, bool]:
    return {k: op.attrs[k] for k in ("align_corners", "half_pixel_centers")}


def _size_of(image: Tensor) -> Tensor:
    return shape(image)[1:3]  # type: ignore[no-any-return]


@resize_bilinear_op.gradient
def resize_bilinear_gradient(op: Operation, grad: Tensor) -> list[Any]:
    image = op.inputs[0]
    if not image.dtype.base_dtype.is_floating:
        return [None, None]
    return [resize_bilinear_grad_op(grad, image, **_resize_attrs(op)), None]


@resize_bilinear_grad_op.gradient
def resize_bilinear_grad_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [resize_bilinear_op(grad, _size_of(op.inputs[0]), **_resize_attrs(op)), None]


@resize_bicubic_op.gradient
def resize_bicubic_gradient(op: Operation, grad: Tensor) -> list[Any]:
    image = op.inputs[0]
    if not image.dtype.base_dtype.is_floating:
        return [None, None]
    return [resize_bicubic_grad_op(grad, image, **_resize_attrs(op)), None]


@resize_bicubic_grad_op.gradient
def resize_bicubic_grad_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [resize_bicubic_op(grad, _size_of(op.inputs[0]), **_resize_attrs(op)), None]


@resize_nearest_neighbor_op.gradient
def resize_nearest_neighbor_gradient(op: Operation, grad: Tensor) -> list[Any]:
    size = _size_of(op.inputs[0])
    return [resize_nearest_neighbor_grad_op(grad, size, **_resize_attrs(op)), None]


@resize_nearest_neighbor_grad_op.gradient
def resize_nearest_neighbor_grad_gradient(op: Operation, grad: Tensor) -> list[Any]:
    size = _size_of(op.inputs[0])
    return [resize_nearest_neighbor_op(grad, size, **_resize_attrs(op)), None]


@define_op(
    "CropAndResize",
    "image: T, boxes: float32, box_ind: int32, crop_size: int32 -> crops: float32",
    T=_PIXELS,
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
    count = None if boxes.dims is None else boxes.dims[0]
    return (count, height, width, None if image.dims is None else image.dims[3])


@define_op(
    "CropAndResizeGradImage",
    "grads: float32, boxes: float32, box_ind: int32, image_size: int32 -> output: T",
    T=_FLOAT,
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
    T=_PIXELS,
)
def crop_and_resize_grad_boxes_op(
    grads: Tensor, image: Tensor, boxes: Tensor, box_ind: Tensor, *, method: str = "bilinear"
) -> Dims:
    """The gradient of `CropAndResize` for boxes. Shape: that of ``boxes``. Not differentiable."""
    return boxes.dims


@crop_and_resize_op.gradient
def crop_and_resize_gradient(op: Operation, grad: Tensor) -> list[Any]:
    from dataflow.ops.array import shape

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


refuse_gradient(resize_area_op, crop_and_resize_grad_image_op, crop_and_resize_grad_boxes_op)


# ---- colors ------------------------------------------------------------------------------


def _three_channels(images: Tensor) -> Dims:
    if images.dims is not None and (not images.dims or images.dims[-1] not in (3, None)):
        raise ValueError(
            f"the last axis must have 3 channels, got shape {shapes.list_dims(images.dims)}"
        )
    return images.dims


@define_op("RGBToHSV", "images: T -> output: T", T=_FLOAT)
def rgb_to_hsv_op(images: Tensor) -> Dims:
    """Red, green, blue in [0, 1] as hue, saturation, value in [0, 1].

    Gradient: that of the six formulas, one for each order of the channels; 0 for the hue and
    saturation of grays.
    """
    return _three_channels(images)


@rgb_to_hsv_op.gradient
def rgb_to_hsv_gradient(op: Operation, grad: Tensor) -> list[Any]:
    from dataflow.gradients import gradients
    from dataflow.ops.arithmetic import maximum, minimum
    from dataflow.ops.array import stack, unstack, where, zeros_like
    from dataflow.ops.comparison import equal, greater

    (images,) = op.inputs
    red, green, blue = unstack(images, axis=-1)
    largest = maximum(maximum(red, green), blue)
    span = largest - minimum(minimum(red, green), blue)
    colored = greater(span, 0.0)
    ones, none = where(colored, span, span + 1.0), zeros_like(span)
    of_green, of_blue = 2.0 + (blue - red) / ones, 4.0 + (red - green) / ones
    hue = where(equal(largest, green), of_green, of_blue)
    hue = where(equal(largest, red), (green - blue) / ones, hue) / 6.0
    bright = greater(largest, 0.0)
    share = span / where(bright, largest, largest + 1.0)
    formulas = [where(colored, hue, none), where(colored, share, none), largest]
    return gradients(stack(formulas, axis=-1), [images], [grad])


@define_op("HSVToRGB", "images: T -> output: T", T=_FLOAT)
def hsv_to_rgb_op(images: Tensor) -> Dims:
    """Hue, saturation, value in [0, 1] as red, green, blue in [0, 1]. Not differentiable."""
    return _three_channels(images)


@define_op("AdjustHue", "images: T, delta: float32 -> output: T", T=_FLOAT)
def adjust_hue_op(images: Tensor, delta: Tensor) -> Dims:
    """Hues turned by ``delta`` (1 is a full turn). Not differentiable."""
    return _three_channels(images)


@define_op("AdjustSaturation", "images: T, scale: float32 -> output: T", T=_FLOAT)
def adjust_saturation_op(images: Tensor, scale: Tensor) -> Dims:
    """Saturations times ``scale``. Not differentiable."""
    return _three_channels(images)


@define_op("AdjustContrastv2", "images: T, contrast_factor: float32 -> output: T", T=_FLOAT)
def adjust_contrast_op(images: Tensor, contrast_factor: Tensor) -> Dims:
    """Distances from each channel's mean times the factor. Not differentiable."""
    need_rank(contrast_factor, 0, "contrast_factor")
    if images.dims is not None and len(images.dims) < 3:
        raise ValueError(f"images must have rank 3 at least, got {shapes.list_dims(images.dims)}")
    return images.dims


not_differentiable(hsv_to_rgb_op)
refuse_gradient(adjust_hue_op, adjust_saturation_op, adjust_contrast_op)


# ---- boxes --------------------------------------------------------------------------------


@define_op(
    "DrawBoundingBoxesV2", "images: T, boxes: float32, colors: float32 -> output: T", T=_FLOAT
)
def draw_bounding_boxes_op(images: Tensor, boxes: Tensor, colors: Tensor) -> Dims:
    """Frames of boxes [y1, x1, y2, x2] (0 to 1) drawn into images. Not differentiable."""
    need_rank(images, 4, "images")
    need_rank(boxes, 3, "boxes")
    return images.dims


@define_op("DrawBoundingBoxes", "images: T, boxes: float32 -> output: T", T=_FLOAT)
def draw_bounding_boxes_v1_op(images: Tensor, boxes: Tensor) -> Dims:
    """As DrawBoundingBoxesV2, in a fixed cycle of ten colors. Not differentiable."""
    need_rank(images, 4, "images")
    need_rank(boxes, 3, "boxes")
    return images.dims


@define_op(
    "NonMaxSuppressionV3",
    "boxes: T, scores: T, max_output_size: int32, iou_threshold: T_threshold, "
    "score_threshold: T_threshold -> selected_indices: int32",
    T=_FLOAT,
    T_threshold=_FLOAT,
)
def non_max_suppression_op(
    boxes: Tensor,
    scores: Tensor,
    max_output_size: Tensor,
    iou_threshold: Tensor,
    score_threshold: Tensor,
) -> Dims:
    """Boxes of highest score that overlap no chosen one by more than the threshold.

    Not differentiable.
    """
    need_rank(boxes, 2, "boxes")
    need_rank(scores, 1, "scores")
    return (None,)


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
    return (batch, height, width, channels)


not_differentiable(
    draw_bounding_boxes_op,
    draw_bounding_boxes_v1_op,
    non_max_suppression_op,
    sample_distorted_bounding_box_op,
    extract_glimpse_op,
)


# ---- files --------------------------------------------------------------------------------


def _channels(channels: int, allowed: tuple[int, ...] = (0, 1, 3)) -> int | None:
    if channels not in allowed:
        raise ValueError(f"channels must be one of {list(allowed)}, got {channels}")
    return channels or None


@define_op("DecodeJpeg", "contents: string -> image: uint8")
def decode_jpeg_op(
    contents: Tensor,
    *,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
) -> Dims:
    """A JPEG (or PNG, GIF) file as uint8 [height, width, channels]; ``channels`` 0 keeps the file's.

    Not differentiable.
    """
    need_rank(contents, 0, "contents")
    # 4 is for a PNG file; of a JPEG file it is an error when it is read.
    return (None, None, _channels(channels, (0, 1, 3, 4)))


@define_op("DecodePng", "contents: string -> image: dtype", dtype={dtypes.uint8, dtypes.uint16})
def decode_png_op(contents: Tensor, *, channels: int = 0, dtype: DType = dtypes.uint8) -> Dims:
    """A PNG file as [height, width, channels]; ``channels`` 0 keeps the file's. Not differentiable."""
    need_rank(contents, 0, "contents")
    return (None, None, _channels(channels, (0, 1, 2, 3, 4)))


@define_op("DecodeBmp", "contents: string -> image: uint8")
def decode_bmp_op(contents: Tensor, *, channels: int = 0) -> Dims:
    """A BMP file as uint8 [height, width, channels]. Not differentiable."""
    need_rank(contents, 0, "contents")
    return (None, None, _channels(channels, (0, 1, 3, 4)))


@define_op("DecodeGif", "contents: string -> image: uint8")
def decode_gif_op(contents: Tensor) -> Dims:
    """A GIF file as uint8 [frames, height, width, 3]. Not differentiable."""
    need_rank(contents, 0, "contents")
    return (None, None, None, 3)


@define_op(
    "DecodeImage",
    "contents: string -> image: dtype",
    dtype={dtypes.uint8, dtypes.uint16, dtypes.float32},
)
def decode_image_op(
    contents: Tensor,
    *,
    channels: int = 0,
    dtype: DType = dtypes.uint8,
    expand_animations: bool = True,
) -> Dims:
    """A file of any of these formats as pixels; a GIF as frames, which adds an axis.

    Not differentiable.
    """
    need_rank(contents, 0, "contents")
    found = _channels(channels, (0, 1, 3, 4))
    return None if expand_animations else (None, None, found)


@define_op("EncodeJpeg", "image: uint8 -> contents: string")
def encode_jpeg_op(
    image: Tensor,
    *,
    format: str = "",
    quality: int = 95,
    progressive: bool = False,
    optimize_size: bool = False,
    chroma_downsampling: bool = True,
    density_unit: str = "in",
    x_density: int = 300,
    y_density: int = 300,
    xmp_metadata: str = "",
) -> Dims:
    """uint8 pixels [height, width, 1 or 3] as a JPEG file, a scalar string. Not differentiable."""
    need_rank(image, 3, "image")
    return ()


@define_op("EncodeJpegVariableQuality", "images: uint8, quality: int32 -> contents: string")
def encode_jpeg_variable_quality_op(images: Tensor, quality: Tensor) -> Dims:
    """As EncodeJpeg, with a quality (0 to 100, a scalar) that a run computes. Not differentiable."""
    need_rank(images, 3, "images")
    need_rank(quality, 0, "quality")
    return ()


@define_op(
    "EncodePng",
    "image: T -> contents: string",
    T=Defaulted(dtypes.uint8, frozenset({dtypes.uint8, dtypes.uint16})),
)
def encode_png_op(image: Tensor, *, compression: int = -1) -> Dims:
    """Pixels [height, width, 1 to 4] as a PNG file, a scalar string. Not differentiable."""
    if image.dims is not None and len(image.dims) < 3:
        raise ValueError(f"the image must have rank 3, got {shapes.list_dims(image.dims)}")
    return None if image.dims is None else image.dims[:-3]


@define_op("ExtractJpegShape", "contents: string -> image_shape: output_type")
def extract_jpeg_shape_op(contents: Tensor, *, output_type: DType = dtypes.int32) -> Dims:
    """[height, width, channels] of a JPEG file, without decoding it. Not differentiable."""
    need_rank(contents, 0, "contents")
    return (3,)


not_differentiable(
    decode_jpeg_op,
    decode_png_op,
    decode_bmp_op,
    decode_gif_op,
    decode_image_op,
    encode_jpeg_op,
    encode_jpeg_variable_quality_op,
    encode_png_op,
    extract_jpeg_shape_op,
)
