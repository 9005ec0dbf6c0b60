"""Windows along an axis: counts, padding, and which element each tap meets."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from dataflow.windows import num_positions, window


@given(
    size=st.integers(1, 12),
    taps=st.integers(1, 4),
    stride=st.integers(1, 4),
    dilation=st.integers(1, 3),
    before=st.integers(0, 3),
    after=st.integers(0, 3),
    padding=st.sampled_from(["SAME", "VALID", "EXPLICIT"]),
)
def test_inside_lists_exactly_the_taps_on_the_axis(
    size: int, taps: int, stride: int, dilation: int, before: int, after: int, padding: str
) -> None:
    try:
        w = window(size, taps, stride, dilation, padding, (before, after))
    except ValueError:
        assert padding != "SAME"
        return
    for tap in range(taps):
        places, elements = w.inside(tap)
        met = list(zip(range(w.count)[places], range(size)[elements], strict=True))
        want = [
            (p, p * stride + tap * dilation - w.before)
            for p in range(w.count)
            if 0 <= p * stride + tap * dilation - w.before < size
        ]
        assert met == want


def test_same_padding_puts_the_odd_element_after() -> None:
    assert window(6, 3, 2, padding="SAME")[4:] == (0, 1, 3)
    assert window(5, 3, 2, padding="SAME")[4:] == (1, 1, 3)


def test_a_window_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="window of 5 does not fit into 4"):
        window(4, 3, dilation=2)


def test_unknown_sizes_stay_unknown() -> None:
    assert num_positions(None, 3, 1, 1, "SAME") is None
    assert num_positions(7, None, 2, 1, "VALID") is None
    assert num_positions(7, None, 2, 1, "SAME") == 4
