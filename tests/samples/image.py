"""Samples of image ops. The resized sums are TensorFlow's own; the oracle compares every pixel."""

from __future__ import annotations

import struct
import zlib
from typing import Any

import numpy as np

from tests.raw_op import raw
from tests.samples.base import Sample

_rng = np.random.default_rng(24)
BATCH = _rng.random((2, 5, 7, 3)).astype(np.float32)
PICTURE = (_rng.random((4, 6, 3)) * 255).astype(np.uint8)
RAMP = np.arange(4, dtype=np.float32).reshape(1, 1, 4, 1)


def _png() -> bytes:
    """PICTURE as a PNG file, written by hand so that no other package makes what is tested."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        check = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", check)

    header = struct.pack(">IIBBBBB", 6, 4, 8, 2, 0, 0, 0)
    rows = b"".join(b"\0" + row.tobytes() for row in PICTURE)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


def _bmp() -> bytes:
    """PICTURE as a BMP file: rows bottom up, blue first, padded to 4 bytes."""
    rows = b"".join(row[:, ::-1].tobytes() + b"\0\0" for row in PICTURE[::-1])
    header = struct.pack("<IiiHHIIiiII", 40, 6, 4, 1, 24, 0, len(rows), 2835, 2835, 0, 0)
    return b"BM" + struct.pack("<IHHI", 54 + len(rows), 0, 0, 54) + header + rows


#: One white pixel.
GIF = (
    b"GIF89a\x01\x00\x01\x00\x80\x00\x00\xff\xff\xff\x00\x00\x00,\x00\x00\x00\x00"
    b"\x01\x00\x01\x00\x00\x02\x02D\x01\x00;"
)


def _resize(name: str, size: Any, note: str = "", **options: Any) -> Sample:
    kinds = {"Bilinear": "bilinear", "Bicubic": "bicubic", "Area": "area"}
    kinds["NearestNeighbor"] = "nearest_neighbor"

    def build(tf: Any, x: Any) -> Any:
        return getattr(tf.image, f"resize_{kinds[name]}")(x, size, **options)

    # Resizing is done in float32, too coarse for differences: tests/ops/test_image.py checks it.
    return Sample(f"Resize{name}", build, (BATCH,), gradient=(), note=note, rtol=1e-4, atol=1e-5)


SAMPLES = [
    Sample(
        "ResizeBilinear",
        lambda tf, x: tf.image.resize_bilinear(x, [1, 7], align_corners=True),
        (RAMP,),
        np.arange(0, 3.5, 0.5).reshape(1, 1, 7, 1),
        gradient=(),
        note="ramp",
    ),
    Sample(
        "ResizeNearestNeighbor",
        lambda tf, x: tf.image.resize_nearest_neighbor(x, [1, 8]),
        (RAMP,),
        np.repeat(np.arange(4), 2).reshape(1, 1, 8, 1),
        gradient=(),
        note="ramp",
    ),
    Sample(
        "ResizeArea",
        lambda tf, x: tf.image.resize_area(x, [1, 2]),
        (RAMP,),
        np.array([0.5, 2.5]).reshape(1, 1, 2, 1),
        gradient=(),
        note="ramp",
    ),
    _resize("Bilinear", [3, 11]),
    _resize("Bilinear", [9, 4], "half pixels", half_pixel_centers=True),
    _resize("Bicubic", [3, 11]),
    _resize("Bicubic", [9, 4], "half pixels", half_pixel_centers=True),
    _resize("Bicubic", [9, 4], "corners", align_corners=True),
    _resize("NearestNeighbor", [3, 11]),
    _resize("NearestNeighbor", [9, 4], "corners", align_corners=True),
    _resize("Area", [3, 11]),
    Sample(
        "ResizeBilinearGrad",
        lambda tf, g: raw(tf, "ResizeBilinearGrad", grads=g, original_image=BATCH),
        (_rng.random((2, 3, 4, 3)).astype(np.float32),),
        gradient=(),
        rtol=1e-4,
    ),
    Sample(
        "ResizeBicubicGrad",
        lambda tf, g: raw(tf, "ResizeBicubicGrad", grads=g, original_image=BATCH),
        (_rng.random((2, 3, 4, 3)).astype(np.float32),),
        gradient=(),
        rtol=1e-4,
        atol=1e-5,
    ),
    Sample(
        "ResizeNearestNeighborGrad",
        lambda tf, g: raw(tf, "ResizeNearestNeighborGrad", grads=g, size=[5, 7]),
        (_rng.random((2, 3, 4, 3)).astype(np.float32),),
    ),
    Sample(
        "CropAndResize",
        lambda tf, x: tf.image.crop_and_resize(
            x, [[0.0, 0.0, 1.0, 1.0], [0.2, 0.1, 0.7, 1.2]], [0, 1], [3, 4]
        ),
        (BATCH,),
        second=False,
        rtol=1e-4,
        gradient_tolerance=3e-2,  # computes in float32; the oracle compares values
    ),
    Sample(
        "CropAndResize",
        lambda tf, boxes: tf.image.crop_and_resize(
            BATCH, tf.cast(boxes, tf.float32), [0, 1], [3, 4]
        ),
        (np.array([[0.13, 0.03, 0.91, 0.83], [0.21, 0.11, 0.72, 1.2]], np.float32),),
        second=False,
        rtol=1e-4,
        gradient_tolerance=1e-2,  # computes in float32
        note="by boxes",
    ),
    Sample(
        "CropAndResizeGradImage",
        lambda tf, x: raw(
            tf,
            "CropAndResizeGradImage",
            grads=x,
            boxes=np.array([[0, 0, 1, 1], [0, 0, 1, 1]], np.float32),
            box_ind=np.array([0, 0], np.int32),
            image_size=np.array([1, *BATCH.shape[1:]], np.int32),
            T=tf.float32,
        ),
        (BATCH,),
        lambda x: x.sum(0, keepdims=True),  # crops of the whole image, in its own size
        gradient=(),
        rtol=1e-4,
    ),
    Sample(
        "CropAndResizeGradBoxes",
        lambda tf, x: raw(
            tf,
            "CropAndResizeGradBoxes",
            grads=x,
            image=np.ones_like(BATCH),
            boxes=np.array([[0, 0, 1, 1], [0, 0, 1, 1]], np.float32),
            box_ind=np.array([0, 1], np.int32),
        ),
        (BATCH,),
        np.zeros((2, 4), np.float32),  # an even image looks the same everywhere
        gradient=(),
    ),
    Sample("RGBToHSV", lambda tf, x: tf.image.rgb_to_hsv(x), (BATCH,), atol=1e-5),
    Sample("HSVToRGB", lambda tf, x: tf.image.hsv_to_rgb(x), (BATCH,), gradient=(), atol=1e-5),
    Sample(
        "HSVToRGB",
        lambda tf, x: tf.image.hsv_to_rgb(tf.image.rgb_to_hsv(x)),
        (BATCH,),
        lambda x: x,
        gradient=(),
        atol=1e-5,
        note="there and back",
    ),
    Sample(
        "AdjustHue", lambda tf, x: tf.image.adjust_hue(x, 0.3), (BATCH,), gradient=(), atol=1e-5
    ),
    Sample(
        "AdjustSaturation",
        lambda tf, x: tf.image.adjust_saturation(x, 2.0),
        (BATCH,),
        gradient=(),
        atol=1e-5,
    ),
    Sample(
        "AdjustContrastv2",
        lambda tf, x: tf.image.adjust_contrast(x, 2.0),
        (BATCH,),
        lambda x: 2 * x - x.mean((1, 2), keepdims=True),
        gradient=(),
        atol=1e-5,
    ),
    Sample(
        "DrawBoundingBoxes",
        lambda tf, x: tf.image.draw_bounding_boxes(x, [[[0.1, 0.2, 0.8, 0.7]]] * 2),
        (BATCH,),
        gradient=(),
    ),
    Sample(
        "DrawBoundingBoxesV2",
        lambda tf, x: tf.image.draw_bounding_boxes(
            x, [[[0.1, 0.2, 0.8, 0.7]]] * 2, colors=[[0.5, 0.25, 0.0]]
        ),
        (BATCH,),
        gradient=(),
    ),
    Sample(
        "NonMaxSuppressionV3",
        lambda tf: tf.image.non_max_suppression(
            [[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 2, 1, 3], [0, 0, 0.5, 0.5]],
            [0.9, 0.95, 0.3, 0.2],
            3,
        ),
        (),
        [[1, 2, 3]],
    ),
    Sample(
        "NonMaxSuppressionV5",
        lambda tf: list(
            tf.image.non_max_suppression_with_scores(
                [[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 2, 1, 3], [0, 0, 0.5, 0.5]],
                [0.9, 0.95, 0.3, 0.2],
                3,
            )
        ),
        (),
        [[1, 2, 3], [0.95, 0.3, 0.2]],
    ),
    Sample(
        "NonMaxSuppressionWithOverlaps",
        lambda tf: tf.image.non_max_suppression_overlaps(
            [[1.0, 0.2, 0.8], [0.2, 1.0, 0.1], [0.8, 0.1, 1.0]], [0.5, 0.9, 0.6], 3
        ),
        (),
        [[1, 2]],
    ),
    Sample(
        "CombinedNonMaxSuppression",
        lambda tf: list(
            tf.image.combined_non_max_suppression(
                [[[[0, 0, 1, 1]], [[0, 0.1, 1, 1.1]], [[0, 2, 1, 3]]]],
                [[[0.9, 0.1], [0.95, 0.2], [0.3, 0.8]]],
                2,
                3,
            )
        ),
        (),
        [
            [[[0, 0.1, 1, 1], [0, 1, 1, 1], [0, 1, 1, 1]]],
            [[0.95, 0.8, 0.3]],
            [[0, 1, 0]],
            [3],
        ],
    ),
    Sample(
        "SampleDistortedBoundingBoxV2",
        lambda tf: list(
            tf.image.sample_distorted_bounding_box(
                [40, 60, 3], [[[0.2, 0.2, 0.8, 0.8]]], seed=3, min_object_covered=0.3
            )
        ),
        random=True,
    ),
    Sample(
        "ExtractGlimpse",
        lambda tf, x: tf.image.extract_glimpse(x, [3, 3], [[0.0, 0.0], [0.2, -0.2]]),
        (BATCH,),
        gradient=(),
    ),
    Sample(
        "DecodeJpeg",
        lambda tf: tf.shape(tf.image.decode_jpeg(tf.image.encode_jpeg(PICTURE))),
        (),
        [[4, 6, 3]],
    ),
    Sample("DecodePng", lambda tf: tf.image.decode_png(_png()), (), [PICTURE]),
    Sample("DecodeBmp", lambda tf: tf.image.decode_bmp(_bmp()), (), [PICTURE]),
    Sample("DecodeGif", lambda tf: tf.image.decode_gif(GIF), (), [np.full((1, 1, 1, 3), 255)]),
    Sample(
        "DecodeImage",
        lambda tf: tf.image.decode_image(_png(), dtype=tf.float32),
        (),
        PICTURE / np.float32(255),
    ),
    Sample(
        "EncodeJpeg",
        lambda tf: tf.image.is_jpeg(tf.image.encode_jpeg(PICTURE)),
        (),
        np.array(True),
    ),
    Sample(
        "EncodeJpegVariableQuality",
        lambda tf: tf.shape(tf.image.adjust_jpeg_quality(PICTURE, tf.constant(30))),
        (),
        np.array(PICTURE.shape),
    ),
    Sample(
        "EncodePng",
        lambda tf: tf.image.decode_png(tf.image.encode_png(PICTURE[..., :1])),
        (),
        [PICTURE[..., :1]],
    ),
    Sample(
        "ExtractJpegShape",
        lambda tf: tf.image.extract_jpeg_shape(tf.image.encode_jpeg(PICTURE)),
        (),
        [[4, 6, 3]],
    ),
]
