"""Results that the caller may keep and change: copies of what the engine still refers to, and no others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.runtime.codegen import DEAD
from dataflow.runtime.ownership import detach


def address(array: Any) -> int:
    return int(array.__array_interface__["data"][0])


def detached(make: Any) -> tuple[Any, bool]:
    """A result of a plan, and whether it was copied."""
    results = make()  # a tuple, which alone refers to the array
    before = address(results[0])
    (kept,) = [detach(value) for value in results]
    return kept, address(kept) != before


def frozen() -> Any:
    array = np.arange(3.0)
    array.flags.writeable = False
    return array


def test_an_array_that_nothing_else_refers_to_is_given_away() -> None:
    kept, copied = detached(lambda: (np.arange(3.0),))
    assert not copied and kept.flags.writeable
    kept, copied = detached(lambda: (np.arange(6.0).reshape(2, 3),))  # its base is its own, too
    assert not copied


@pytest.mark.parametrize(
    "make",
    [
        lambda: (frozen(),),
        lambda: (np.broadcast_to(np.arange(3.0), (2, 3)),),
        lambda: (np.frombuffer(b"12345678", np.int16),),
        lambda: (np.frombuffer(bytearray(8), np.int16),),
        lambda: (KEPT,),
        lambda: (KEPT[1:],),
    ],
    ids=["read-only", "broadcast", "bytes", "bytearray", "kept", "part of what is kept"],
)
def test_what_may_change_or_must_not_is_copied(make: Any) -> None:
    kept, copied = detached(make)
    assert copied and kept.flags.writeable
    np.testing.assert_array_equal(kept, make()[0])


KEPT = np.arange(4.0)


def test_numbers_and_text_are_no_arrays() -> None:
    assert type(detach(np.array(2.5))) is np.float64 and detach(np.float32(1)) == 1
    one = np.empty((), object)
    one[()] = b"text"
    assert detach(one) == b"text" and detach("handle") == "handle"


def test_the_value_of_a_branch_that_was_not_taken_is_refused() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="a branch not taken"):
        detach(DEAD)
