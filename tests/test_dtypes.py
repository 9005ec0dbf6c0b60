"""Dtypes: one object per type, equal to its name and to NumPy's dtype."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import dataflow as tf


def test_a_dtype_equals_its_name_and_numpys() -> None:
    assert tf.float32 == "float32"
    assert tf.float32 == np.float32
    assert tf.as_dtype("int64") is tf.int64
    assert tf.as_dtype(np.dtype("bool")) is tf.bool
    assert tf.as_dtype(str) is tf.string
    assert tf.float32 != tf.float64
    assert tf.float32 is not None
    assert tf.float32 is not None


def test_python_types_mean_what_they_mean_in_tensorflow() -> None:
    assert tf.as_dtype(float) is tf.float32
    assert tf.as_dtype(int) is tf.int64


@pytest.mark.parametrize("value", [{"a": tf.int32}, [1, 2], "no such dtype"])
def test_what_is_no_dtype_is_a_type_error(value: object) -> None:
    """Libraries ask so whether something is one (tensorflow_datasets of a dictionary)."""
    with pytest.raises(TypeError, match="Cannot convert value .* to a TensorFlow DType"):
        tf.as_dtype(value)


def test_reference_dtypes() -> None:
    ref = tf.float32.as_ref
    assert ref.name == "float32_ref"
    assert ref.is_ref
    assert ref.base_dtype is tf.float32
    assert ref != tf.float32
    assert tf.float32.is_compatible_with(ref)
    assert ref.is_compatible_with(tf.float32)


def test_enum_numbers_are_tensorflows() -> None:
    numbers = {
        "float32": 1,
        "float64": 2,
        "int32": 3,
        "string": 7,
        "int64": 9,
        "bool": 10,
        "float16": 19,
    }
    for name, number in numbers.items():
        assert tf.as_dtype(name).as_datatype_enum == number
        assert tf.as_dtype(number) is tf.as_dtype(name)


def test_limits() -> None:
    assert tf.uint8.max == 255
    assert tf.int8.min == -128
    assert tf.float32.max == np.finfo(np.float32).max
    with pytest.raises(TypeError, match="string"):
        tf.string.max


def test_unknown_types_are_refused() -> None:
    with pytest.raises(TypeError, match="Cannot convert"):
        tf.as_dtype("float33")


def test_copies_are_the_same_object() -> None:
    assert copy.deepcopy(tf.int32) is tf.int32
    assert pickle.loads(pickle.dumps(tf.int32)) is tf.int32


def test_printing() -> None:
    assert str(tf.float32) == "<dtype: 'float32'>"
    assert repr(tf.bool) == "tf.bool"


def test_the_functions_of_dtypes() -> None:
    assert tf.dtypes.bool is tf.bool and tf.dtypes.cast is tf.cast
    assert tf.dtypes.saturate_cast is tf.saturate_cast and tf.dtypes.complex is tf.complex
    assert tf.dtypes.as_string is tf.as_string
    with pytest.raises(
        AttributeError, match=r"tf\.dtypes\.float33 is not part.*tf\.dtypes\.float32"
    ):
        tf.dtypes.float33
