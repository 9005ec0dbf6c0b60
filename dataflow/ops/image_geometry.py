"""Flipping, turning, cutting and padding images."""

from __future__ import annotations

from typing import Any

from dataflow import dtypes, shapes
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.name_scopes import op_scope
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops.arithmetic import floormod, maximum
from dataflow.ops.casts import cast
from dataflow.ops.concat_split import stack
from dataflow.ops.identity import ensure_shape, identity
from dataflow.ops.pad import pad
from dataflow.ops.permute import reverse, transpose as transpose_axes
from dataflow.ops.reshape import reshape
from dataflow.ops.seeds import count_left_out, counted_as
from dataflow.ops.shape import shape
from dataflow.ops.slicing import slice_
from dataflow.ops.static_value import static_value


def as_image(value: TensorLike, ranks: tuple[int, ...] = (3, 4)) -> Tensor:
    """``value`` as a tensor; raises `ValueError` for a rank that is no image's."""
    image = convert_to_tensor(value, name="image")
    if image.dims is not None and len(image.dims) not in ranks:
        text = " or ".join(str(r) for r in ranks)
        raise ValueError(
            f"'image' (shape {shapes.format_dims(image.dims)}) must have rank {text}: "
            "[height, width, channels], with the batch in front for rank 4."
        )
    return image


def one_image(value: TensorLike) -> Tensor:
    """As `as_image`; what has an unknown rank is one image, and a run refuses a batch in its place."""
    image = as_image(value)
    if image.dims is not None:
        return image
    count_left_out(-1)
    return ensure_shape(image, [None, None, None])


def count_checks(image: Tensor, more: int = 0, more_without_sizes: int = 0) -> None:
    """Counts the nodes of TensorFlow that check an image's sizes, where these are not all known before a run.

    ``more`` are those of further checks, ``more_without_sizes`` where height or width are not known.
    """
    dims = image.dims
    if dims is None or None in dims:
        without_sizes = dims is None or None in dims[-3:-1]
        count_left_out(22 + (more_without_sizes if without_sizes else more))


def sizes_of(image: Tensor) -> tuple[Any, Any]:
    """Height and width: numbers where they are known, else tensors."""
    dims = image.dims
    if dims is not None and dims[-3] is not None and dims[-2] is not None:
        return dims[-3], dims[-2]
    whole = shape(image)
    height = dims[-3] if dims is not None and dims[-3] is not None else whole[-3]
    width = dims[-2] if dims is not None and dims[-2] is not None else whole[-2]
    return height, width


# ---- flips and turns ---------------------------------------------------------------------


def _flip(image: TensorLike, axis_3d: int, name: str) -> Tensor:
    with op_scope(None, name, [image]):
        image = one_image(image)
        assert image.dims is not None
        count_checks(image)
        return reverse(image, [axis_3d + len(image.dims) - 3])


def flip_left_right(image: TensorLike) -> Tensor:
    """An image (or each of a batch) mirrored left to right."""
    count_left_out(1)  # a node that waits for checks of the shape, here and below
    return _flip(image, 1, "flip_left_right")


def flip_up_down(image: TensorLike) -> Tensor:
    """An image (or each of a batch) turned upside down by mirroring."""
    count_left_out(1)
    return _flip(image, 0, "flip_up_down")


def _random_flip(image: Any, axis: int, seed: Any, name: str) -> Tensor:
    from dataflow.ops.conditionals import cond
    from dataflow.ops.math import less, round_
    from dataflow.ops.random import random_uniform

    with op_scope(None, name, [image]) as scope:
        image = identity(one_image(image), name="control_dependency")
        count_checks(image)
        if len(image.dims) == 3:
            chance = random_uniform([], 0, 1.0, seed=seed)
            result = cond(
                less(chance, 0.5), lambda: reverse(image, [axis]), lambda: image, name=scope
            )
            result.set_shape(image.dims)
            return result  # type: ignore[no-any-return]
        batch = shape(image)[0]
        chance = random_uniform(stack([batch]), 0, 1.0, seed=seed)
        flips = cast(round_(reshape(chance, stack([batch, 1, 1, 1]))), image.dtype)
        flipped = reverse(image, [axis + 1])
        return flips * flipped + (1 - flips) * image  # type: ignore[no-any-return]


def random_flip_left_right(image: Any, seed: int | None = None) -> Tensor:
    """An image mirrored left to right with a chance of one half (each of a batch by itself)."""
    return _random_flip(image, 1, seed, "random_flip_left_right")


def random_flip_up_down(image: Any, seed: int | None = None) -> Tensor:
    """An image mirrored top to bottom with a chance of one half (each of a batch by itself)."""
    return _random_flip(image, 0, seed, "random_flip_up_down")


def transpose(image: TensorLike, name: str | None = None) -> Tensor:
    """Height and width exchanged."""
    with op_scope(name, "transpose", [image]):
        image = as_image(image)
        count_left_out(1)
        count_checks(image)
        order = [0, 2, 1, 3] if image.dims is not None and len(image.dims) == 4 else [1, 0, 2]
        return transpose_axes(image, order)  # of unknown rank: one image, as in TensorFlow


transpose_image = transpose


def rot90(image: TensorLike, k: int = 1, name: str | None = None) -> Tensor:
    """An image turned counter-clockwise by 90 degrees, ``k`` times (a number or an int scalar)."""
    from dataflow.ops.conditionals import switch_case

    with op_scope(name, "rot90", [image]):
        image = one_image(image)
        turns = [
            lambda: identity(image),
            lambda: transpose(flip_left_right(image)),
            lambda: flip_up_down(flip_left_right(image)),
            lambda: flip_left_right(transpose(image)),
        ]
        count_checks(image)
        known = static_value(k) if isinstance(k, Tensor) else k
        # All turns are there in TensorFlow, as the cases of a choice, though k be a number.
        with counted_as(62 + (not isinstance(k, Tensor))):
            if known is not None:
                return turns[int(known) % 4]()
            turned: Tensor = switch_case(floormod(cast(k, dtypes.int32), 4), turns)
            return turned


# ---- cutting and padding -----------------------------------------------------------------


def central_crop(image: Any, central_fraction: float) -> Tensor:
    """The middle ``central_fraction`` (0 to 1] of height and width.

    Raises `ValueError` for a fraction outside of (0, 1], and for an unknown rank.
    """
    with op_scope(None, "central_crop", [image]):
        image = as_image(image)
        if image.dims is None:
            raise ValueError(
                "'image' must have rank 3 or 4, got a tensor of unknown rank; say its shape with "
                "image.set_shape([None, None, channels])."
            )
        fraction = float(central_fraction)
        if not 0.0 < fraction <= 1.0:
            raise ValueError("central_fraction must be within (0, 1]")
        if fraction == 1.0:
            return image  # type: ignore[no-any-return]
        height, width = sizes_of(image)
        count_left_out(1)
        count_checks(image, 0, 1)

        def start(size: TensorLike) -> Any:
            if isinstance(size, int):
                return int((size - size * fraction) / 2)
            double = cast(size, dtypes.float64)
            return cast((double - double * fraction) / 2, dtypes.int32)

        top, left = start(height), start(width)
        rows, columns = height - top * 2, width - left * 2
        return cut(image, top, left, rows, columns)


def cut(image: Tensor, top: Any, left: Any, rows: Any, columns: Any) -> Tensor:
    assert image.dims is not None
    whole = len(image.dims) == 4
    begin, size = [top, left, 0], [rows, columns, -1]
    if whole:
        begin, size = [0, *begin], [-1, *size]
    dynamic = any(isinstance(v, Tensor) for v in (*begin, *size))
    result = slice_(image, stack(begin) if dynamic else begin, stack(size) if dynamic else size)
    return _of_sizes(result, image, rows, columns)


def _of_sizes(result: Tensor, image: Tensor, rows: Any, columns: Any) -> Tensor:
    """``result`` with what is known of its shape: that of ``image``, of ``rows`` and ``columns``."""
    assert image.dims is not None
    static = [v if isinstance(v, int) else None for v in (rows, columns)]
    result.set_shape((*image.dims[:-3], *static, image.dims[-1]))
    return result


def known_number(value: Any) -> Any:
    """A Python number where the value is known."""
    if isinstance(value, Tensor):
        known = static_value(value)
        return value if known is None else int(known)
    return int(value)


def _need_positive(rows: Any, columns: Any) -> None:
    """Raises `ValueError` for a target size that is known not to be positive."""
    for what, value in (("target_width", columns), ("target_height", rows)):
        if isinstance(value, int) and value <= 0:
            raise ValueError(f"{what} must be > 0, got {value}")


def _is_one(image: Tensor) -> bool:
    """Whether it is one image, of which TensorFlow makes a batch, and one of the result again."""
    return image.dims is not None and len(image.dims) == 3


def crop_to_bounding_box(
    image: TensorLike, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Tensor:
    """The window of target size whose top left corner is at the offset.

    Raises `ValueError` when it is known not to lie inside.
    """
    with op_scope(None, "crop_to_bounding_box", [image]):
        image = one_image(image)
        top, left = known_number(offset_height), known_number(offset_width)
        rows, columns = known_number(target_height), known_number(target_width)
        for what, value in (("offset_width", left), ("offset_height", top)):
            if isinstance(value, int) and value < 0:
                raise ValueError(f"{what} must be >= 0, got {value}")
        _need_positive(rows, columns)
        height, width = sizes_of(image)
        count_left_out(4 if _is_one(image) else 1)
        count_checks(image, 2, 3)
        for what, size, start, length in (
            ("width", width, left, columns),
            ("height", height, top, rows),
        ):
            if all(isinstance(v, int) for v in (size, start, length)) and start + length > size:
                raise ValueError(f"{what} must be >= target + offset: {size} < {length} + {start}")
        return cut(image, top, left, rows, columns)


def pad_to_bounding_box(
    image: TensorLike, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Tensor:
    """The image put at the offset into zeros of the target size.

    Raises `ValueError` when it is known not to fit.
    """
    with op_scope(None, "pad_to_bounding_box", [image]):
        image = one_image(image)
        height, width = sizes_of(image)
        top, left = known_number(offset_height), known_number(offset_width)
        rows, columns = known_number(target_height), known_number(target_width)
        below, right = rows - top - height, columns - left - width
        for what, value in (
            ("offset_height must be >= 0", top),
            ("offset_width must be >= 0", left),
            ("height must be <= target - offset", below),
            ("width must be <= target - offset", right),
        ):
            if isinstance(value, int) and value < 0:
                raise ValueError(f"{what}, which fails by {-value}")
        count_left_out(6 if _is_one(image) else 3)
        count_checks(image, 2, 3 if _is_one(image) else 1)
        pairs = [[top, below], [left, right], [0, 0]]
        assert image.dims is not None
        if len(image.dims) == 4:
            pairs = [[0, 0], *pairs]
        if all(isinstance(v, int) for pair in pairs for v in pair):
            paddings: Any = pairs
        else:
            paddings = reshape(stack([v for pair in pairs for v in pair]), [len(pairs), 2])
        return _of_sizes(pad(image, paddings), image, rows, columns)


def resize_image_with_crop_or_pad(
    image: TensorLike, target_height: Any, target_width: Any
) -> Tensor:
    """The middle of the image cut out, or zeros put around it, to the target size."""
    from dataflow.ops.math import minimum

    with op_scope(None, "resize_image_with_crop_or_pad", [image]):
        image = one_image(image)
        target_height, target_width = known_number(target_height), known_number(target_width)
        _need_positive(target_height, target_width)

        def low(a: TensorLike, b: TensorLike) -> Any:
            return min(a, b) if isinstance(a, int) and isinstance(b, int) else minimum(a, b)

        def high(a: TensorLike, b: TensorLike) -> Any:
            return max(a, b) if isinstance(a, int) and isinstance(b, int) else maximum(a, b)

        height, width = sizes_of(image)
        count_left_out(-1 if _is_one(image) else 2)
        count_checks(image, 4, 25)
        wide, tall = target_width - width, target_height - height
        cut_left, pad_left = high(-wide // 2, 0), high(wide // 2, 0)
        cut_top, pad_top = high(-tall // 2, 0), high(tall // 2, 0)
        cropped = crop_to_bounding_box(
            image, cut_top, cut_left, low(target_height, height), low(target_width, width)
        )
        return pad_to_bounding_box(cropped, pad_top, pad_left, target_height, target_width)


resize_with_crop_or_pad = resize_image_with_crop_or_pad
