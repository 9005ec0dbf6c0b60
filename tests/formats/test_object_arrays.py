"""Arrays of Python objects."""

from __future__ import annotations

import numpy as np

from dataflow.formats.object_arrays import object_array


def test_sequences_of_one_length_stay_elements() -> None:
    rows = [[1, 2], [3, 4]]
    made = object_array(rows)
    assert made.shape == (2,) and made.dtype == object
    assert made[1] is rows[1]


def test_strings_keep_what_numpy_would_cut_off() -> None:
    made = object_array([b"a\0", b"", b"abc"])
    assert made.tolist() == [b"a\0", b"", b"abc"]


def test_a_shape() -> None:
    assert object_array([b"a", b"b"], (2, 1)).tolist() == [[b"a"], [b"b"]]
    assert object_array([b"a"], ()).item() == b"a"
    assert object_array([], (0, 3)).shape == (0, 3)


def test_keys_of_a_dict_and_arrays_inside() -> None:
    inside = np.zeros(2)
    assert object_array({b"k": 1, b"l": 2}).tolist() == [b"k", b"l"]
    assert object_array([inside, b"x"])[0] is inside
