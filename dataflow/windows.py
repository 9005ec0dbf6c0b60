"""Geometry of windows that slide along an axis: what convolutions and poolings have in common.

Shape rules use it when a node is made, kernels when it runs. Sizes count elements of one axis.
"""

from __future__ import annotations

from typing import NamedTuple


class Window(NamedTuple):
    """A window of ``taps`` elements, ``dilation`` apart, moved by ``stride`` along one axis.

    The axis has ``size`` elements, with ``before`` and ``after`` elements of padding around it;
    the window has ``count`` positions. Negative padding never occurs.
    """

    size: int
    taps: int
    stride: int
    dilation: int
    before: int
    after: int
    count: int  # type: ignore[assignment]  # hides tuple.count, which nobody needs

    @property
    def extent(self) -> int:
        """Elements from the first to the last tap."""
        return (self.taps - 1) * self.dilation + 1

    def inside(self, tap: int) -> tuple[slice, slice]:
        """For one tap: the positions where it lies on the axis, and the elements it meets there."""
        shift = tap * self.dilation - self.before
        first = max(
            0, -(shift // self.stride)
        )  # the smallest position with shift + p * stride >= 0
        last = min(self.count, (self.size - 1 - shift) // self.stride + 1)
        if last <= first:
            return slice(0, 0), slice(0, 0)
        start = shift + first * self.stride
        return (
            slice(first, last),
            slice(start, start + (last - first - 1) * self.stride + 1, self.stride),
        )


def window(
    size: int,
    taps: int,
    stride: int = 1,
    dilation: int = 1,
    padding: str = "VALID",
    explicit: tuple[int, int] = (0, 0),
) -> Window:
    """The geometry for ``"SAME"``, ``"VALID"`` or ``"EXPLICIT"`` padding.

    SAME gives ``ceil(size / stride)`` positions; of an odd amount of padding, the larger half comes
    after. Raises `ValueError` when the window does not fit.
    """
    extent = (taps - 1) * dilation + 1
    if padding == "SAME":
        count = -(-size // stride)
        total = max((count - 1) * stride + extent - size, 0)
        return Window(size, taps, stride, dilation, total // 2, total - total // 2, count)
    before, after = explicit if padding == "EXPLICIT" else (0, 0)
    room = size + before + after - extent
    if room < 0:
        raise ValueError(
            f"Negative dimension size caused by subtracting {extent} from {size + before + after}: "
            f"a window of {extent} does not fit into {size + before + after} elements"
        )
    return Window(size, taps, stride, dilation, before, after, room // stride + 1)


def num_positions(
    size: int | None,
    taps: int | None,
    stride: int,
    dilation: int,
    padding: str,
    explicit: tuple[int, int] = (0, 0),
) -> int | None:
    """How many positions the window has; ``None`` where that is not known yet."""
    if size is None or (taps is None and padding != "SAME"):
        return None
    if padding == "SAME":
        return -(-size // stride)
    return window(size, taps or 1, stride, dilation, padding, explicit).count
