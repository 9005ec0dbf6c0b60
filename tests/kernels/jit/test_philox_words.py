"""Machine code draws the words of TensorFlow's Philox4x32-10 that NumPy draws, for vectors of every width."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="pip install 'dataflow-learn[fast]'")

from dataflow.kernels import tensorflow_random
from dataflow.kernels.jit import philox_words
from dataflow.kernels.jit.compiler import compile_source
from dataflow.kernels.jit.llvm_builder import module
from dataflow.kernels.tensorflow_random import TensorFlowStream

SEEDS = (-(2**40) + 12345, 2**33 + 7)


@pytest.fixture
def by_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tensorflow_random, "draw", lambda *_: None)


@pytest.fixture(params=[2, 4, 8], ids=["neon", "avx2", "avx512"])
def lanes(request: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The functions for vectors of so many lanes of 64 bits, whatever the processor has."""
    lanes = request.param
    texts = [philox_words.writer(lanes, uniform) for uniform in (False, True)]
    addresses = compile_source(module(*texts), "philox_words", "philox_uniform")
    functions = object.__new__(philox_words._Functions)
    functions.num_blocks = 2 * lanes
    kind = ctypes.CFUNCTYPE(None, ctypes.c_char_p)
    types = (np.uint32, np.float32)
    functions.by_type = {t: kind(a) for t, a in zip(types, addresses, strict=True)}
    monkeypatch.setattr(philox_words._entry, "function", functions)
    monkeypatch.setattr(tensorflow_random, "_FEW", 0)
    return lanes


def drawn(kind: str, count: int, dtype: str, blocks: int = 0) -> Any:
    stream = TensorFlowStream(*SEEDS)
    stream.blocks = blocks
    first = getattr(stream, kind)(count, np.dtype(dtype))
    return np.concatenate([first, getattr(stream, kind)(5, np.dtype(dtype))])


@pytest.mark.parametrize("kind", ["uniform", "standard_normal", "truncated_normal"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("count", [0, 1, 15, 16, 1000])
def test_numbers_are_those_of_numpy(
    lanes: int, kind: str, dtype: str, count: int, request: pytest.FixtureRequest
) -> None:
    found = drawn(kind, count, dtype)
    assert found.shape == (count + 5,) and found.dtype == dtype
    request.getfixturevalue("by_numpy")
    np.testing.assert_array_equal(found, drawn(kind, count, dtype))


def test_the_number_of_a_block_has_64_bits(lanes: int, request: pytest.FixtureRequest) -> None:
    found = drawn("uniform", 400, "float32", 2**32 - 20)
    request.getfixturevalue("by_numpy")
    np.testing.assert_array_equal(found, drawn("uniform", 400, "float32", 2**32 - 20))


def test_blocks_may_lie_apart(lanes: int) -> None:
    stream = TensorFlowStream(*SEEDS)
    found = stream._drawn(4 * 37, np.uint32, 11, 256)
    numbers = np.arange(11, 11 + 37 * 256, 256, dtype=np.uint64)
    np.testing.assert_array_equal(found.reshape(37, 4), stream.blocks_of(numbers))


def test_a_table_holds_the_fields_that_the_function_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two keys for each of ten rounds come after the fields."""
    tables: list[bytes] = []
    functions = object.__new__(philox_words._Functions)
    functions.num_blocks, functions.by_type = 4, {np.uint32: tables.append}
    monkeypatch.setattr(philox_words._entry, "function", functions)
    assert TensorFlowStream(1, 2)._drawn(70, np.uint32, 3).shape == (70,)
    table = struct.unpack("26Q", tables[0])
    assert table[1:6] == (5, 3, 1, 2, 0) and table[6:8] == (1, 0)


def test_without_machine_code_numpy_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(philox_words, "_entry", SimpleNamespace(get=lambda: None))
    assert TensorFlowStream(1, 2)._drawn(1000, np.uint32, 0) is None
    assert drawn("uniform", 1000, "float32").shape == (1005,)
