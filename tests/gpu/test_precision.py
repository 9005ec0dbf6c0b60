"""TF32 is off, whatever CuPy's variable says, and can be switched on: shown on a pretend GPU."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.kernels import xp
from dataflow.kernels.cuda import precision
from dataflow.kernels.xp import pretend_gpus

config = tf.config.experimental


@pytest.fixture(autouse=True)
def off_again() -> Iterator[None]:
    yield
    config.enable_tensor_float_32_execution(False)


#: 1 + 2^-12 has 12 bits after the point: TF32 makes 1 of it.
FINE = np.float32(1 + 2**-12)


def products() -> list[float]:
    """A product, a convolution and a product of many matrices, of numbers that TF32 rounds."""
    with tf.Graph().as_default():
        a, b = tf.constant(np.full((1, 1), FINE)), tf.constant(np.ones((1, 1), np.float32))
        image = tf.constant(np.full((1, 2, 2, 1), FINE))
        one = tf.constant(np.ones((2, 2, 1, 1), np.float32))
        tensors = [
            tf.matmul(a, b),
            tf.nn.conv2d(image, one, [1, 1, 1, 1], "VALID") / 4.0,
            tf.matmul(tf.reshape(a, [1, 1, 1]), tf.reshape(b, [1, 1, 1])),
            tf.matmul(tf.cast(a, tf.float64), tf.cast(b, tf.float64)),
        ]
        with tf.Session() as session:
            return [float(np.squeeze(v)) for v in session.run(tensors)]


def test_products_are_exact_unless_tf32_is_enabled(cuda_on_host: Any) -> None:
    assert not config.tensor_float_32_execution_enabled()
    assert products() == [FINE] * 4
    config.enable_tensor_float_32_execution(True)
    assert config.tensor_float_32_execution_enabled()
    assert products() == [1, 1, FINE, FINE]
    config.enable_tensor_float_32_execution(False)
    assert products() == [FINE] * 4


def test_without_cuda_as_well() -> None:
    with pretend_gpus(1):
        assert products() == [FINE] * 4
        config.enable_tensor_float_32_execution(True)
        assert products()[0] == 1


def test_the_cpu_never_rounds() -> None:
    config.enable_tensor_float_32_execution(True)
    assert products() == [FINE] * 4


def test_rounding() -> None:
    x = np.array([1, -3.25, 1 + 2**-11, 1 + 3 * 2**-11, 1e30, 1e-30, 0, np.inf, -np.inf, np.nan])
    x = x.astype(np.float32)
    rounded = precision.rounded_to_tf32(x)
    np.testing.assert_array_equal(rounded[[0, 1, 2, 3, 6]], [1, -3.25, 1, 1 + 2**-9, 0])
    np.testing.assert_array_equal(rounded[7:], x[7:])
    np.testing.assert_allclose(rounded[4:6], x[4:6], rtol=2**-11)
    assert (rounded[4:6].view(np.uint32) % 8192 == 0).all()


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> Any:
    """As much of CuPy as decides on the precision: it asks the environment unless it was told."""
    linalg: Any = ModuleType("cupy._core._routines_linalg")
    linalg.COMPUTE_TYPE_TBD, linalg.COMPUTE_TYPE_DEFAULT, linalg.COMPUTE_TYPE_TF32 = 0, 1, 7
    told: dict[str, int] = {}
    linalg.set_compute_type = lambda dtype, kind: told.update({np.dtype(dtype).name: kind})
    for name, module in (
        ("cupy", SimpleNamespace(__name__="cupy", told=told)),
        ("cupy._core", ModuleType("cupy._core")),
        ("cupy._core._routines_linalg", linalg),
    ):
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(precision, "_cupy", None)
    monkeypatch.setenv("CUPY_TF32", "1")
    return sys.modules["cupy"]


def test_cupy_is_told_before_it_asks_the_environment(cupy: Any) -> None:
    assert xp.array_module("gpu:0") is cupy
    assert cupy.told == {"float32": 1}
    config.enable_tensor_float_32_execution(True)
    assert cupy.told == {"float32": 7}
    config.enable_tensor_float_32_execution(False)
    assert cupy.told == {"float32": 1}


def test_what_was_chosen_before_cupy_is_loaded_holds(cupy: Any) -> None:
    config.enable_tensor_float_32_execution(True)
    assert cupy.told == {}
    xp.array_module("gpu:0")
    assert cupy.told == {"float32": 7}


def test_other_names_say_what_is_missing() -> None:
    with pytest.raises(AttributeError, match=r"tf\.config\.experimental\.nothing is not part"):
        config.nothing
    with pytest.raises(AttributeError, match=r"tf\.config\.nothing is not part"):
        tf.config.nothing
