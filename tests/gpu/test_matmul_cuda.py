"""Products while a stream is captured: what cuBLAS is asked for, on a stand-in that computes it."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.kernels.cuda import capture, graphs, matmul
from dataflow.kernels.fake_gpu import Recording
from dataflow.kernels.xp import pretend_gpus, pretend_module
from tests.gpu.test_cuda_graphs import num_captured

RNG = np.random.RandomState(0)
_ELEMENTS = {0: "f", 1: "d", 2: "e", 4: "F", 5: "D"}


class Array(np.ndarray):
    """A NumPy array with the address where CuPy has it."""

    @property
    def data(self) -> Any:  # type: ignore[override]
        return SimpleNamespace(ptr=self.ctypes.data)


class Library:
    """As much of cuBLAS as is called, on the host's memory: matrices are stored by columns."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.compute = 0

    def cublasCreate_v2(self, handle: Any) -> int:
        handle._obj.value = 7
        return 0

    def cublasSetStream_v2(self, handle: Any, stream: Any) -> int:
        self.calls.append(f"stream {stream.value}")
        return 0

    def cublasSetWorkspace_v2(self, handle: Any, memory: Any, size: Any) -> int:
        self.calls.append(f"workspace {size.value >> 20} MiB")
        return 0

    def cublasGemmStridedBatchedEx(self, *arguments: Any) -> int:
        given = [getattr(a, "value", a) for a in arguments]
        _, op_a, op_b, m, n, k, alpha, a, kind, lda, stride_a, b, _, ldb, stride_b = given[:15]
        beta, c, _, ldc, stride_c, count, self.compute, algorithm = given[15:]
        assert algorithm == -1 and alpha._obj[0] == 1 and beta._obj[0] == 0
        element = np.dtype(_ELEMENTS[kind])

        def matrix(address: int, rows: int, columns: int, pitch: int) -> np.ndarray:
            assert pitch >= rows
            size = ((columns - 1) * pitch + rows) * element.itemsize
            memory = (ctypes.c_char * size).from_address(address)
            strides = (element.itemsize, pitch * element.itemsize)
            return np.ndarray((rows, columns), element, memory, 0, strides)

        for i in range(count):
            shift = i * element.itemsize
            left = matrix(a + shift * stride_a, *((k, m) if op_a else (m, k)), lda)
            right = matrix(b + shift * stride_b, *((n, k) if op_b else (k, n)), ldb)
            result = matrix(c + shift * stride_c, m, n, ldc)
            result[...] = (left.T if op_a else left) @ (right.T if op_b else right)
        return 0


class Xp:
    """NumPy, whose arrays know their addresses."""

    def __getattr__(self, name: str) -> Any:
        return lambda *a, **k: getattr(np, name)(*a, **k).view(Array)


XP: Any = Xp()


def blas(capability: str = "90") -> tuple[matmul.CuBLAS, Library]:
    library = Library()
    device = SimpleNamespace(compute_capability=capability)
    cupy = SimpleNamespace(cuda=SimpleNamespace(Device=lambda: device), empty=XP.empty)
    return matmul.CuBLAS(cupy, library), library


STREAM = SimpleNamespace(ptr=5)


@contextlib.contextmanager
def capturing(blas: Any, stream: Any = STREAM, xp: Any = XP) -> Iterator[None]:
    """Products of the block are those of ``blas``, as while ``stream`` is captured."""
    with blas.on(stream), capture.capturing(blas, capture.HostNumbers(xp)):
        yield


def array(*shape: int, dtype: str = "float32") -> Any:
    values = RNG.randn(*shape)
    if dtype.startswith("complex"):
        values = values + 1j * RNG.randn(*shape)
    return values.astype(dtype).view(Array)


CASES: dict[str, tuple[Any, Any]] = {
    "plain": (array(3, 4), array(4, 5)),
    "left turned": (array(4, 3).T, array(4, 5)),
    "right turned": (array(3, 4), array(5, 4).T),
    "both turned": (array(4, 3).T, array(5, 4).T),
    "parts of rows": (array(3, 9)[:, 2:6], array(4, 11)[:, :5]),
    "parts of columns": (array(9, 3)[2:6].T, array(4, 5)),
    "every second": (array(3, 8)[:, ::2], array(8, 5)[::2]),
    "row by column": (array(1, 4), array(4, 1)),
    "column by row": (array(4, 1), array(1, 3)),
    "one by one": (array(1, 1), array(1, 1)),
    "nothing between": (array(3, 0), array(0, 2)),
    "no rows": (array(0, 3), array(3, 2)),
    "many": (array(2, 3, 4, 5), array(2, 3, 5, 6)),
    "many turned": (array(6, 5, 4).swapaxes(1, 2), array(6, 3, 5).swapaxes(1, 2)),
    "one for many": (array(2, 3, 4), array(4, 5)),
    "many broadcast": (array(2, 1, 3, 4), array(5, 4, 2)),
    "half": (array(3, 4, dtype="float16"), array(4, 5, dtype="float16")),
    "double": (array(3, 4, dtype="float64"), array(4, 5, dtype="float64")),
    "complex": (array(3, 4, dtype="complex64"), array(4, 5, dtype="complex64")),
    "complex double": (array(3, 4, dtype="complex128"), array(4, 5, dtype="complex128")),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("with_out", ["", "dense", "part"])
def test_what_is_asked_for_is_the_product(name: str, with_out: str) -> None:
    a, b = CASES[name]
    want = np.matmul(a, b)
    out = None
    if with_out:
        wide = XP.empty((*want.shape[:-1], want.shape[-1] + 3), want.dtype)
        out = XP.empty(want.shape, want.dtype) if with_out == "dense" else wide[..., 2:-1]
    own, library = blas()
    with capturing(own):
        got = matmul.product(XP, a, b, out)
    assert library.calls == ["stream 5", "workspace 32 MiB"]
    assert got.dtype == want.dtype and got.shape == want.shape
    assert out is None or got is out
    rtol = 2e-3 if name == "half" else 1e-5
    np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=rtol, atol=rtol)


def test_tf32_is_asked_for_when_enabled() -> None:
    own, library = blas("86")
    with capturing(own):
        assert library.calls[-1] == "workspace 4 MiB"
        matmul.product(XP, *CASES["plain"])
        assert library.compute == 68
        tf.config.experimental.enable_tensor_float_32_execution(True)
        try:
            matmul.product(XP, *CASES["plain"])
            assert library.compute == 77
            matmul.product(XP, *CASES["half"])
            assert library.compute == 68
        finally:
            tf.config.experimental.enable_tensor_float_32_execution(False)


def test_what_it_cannot_multiply_is_said() -> None:
    own, _ = blas()
    with capturing(own):
        with pytest.raises(NotImplementedError, match="int32"):
            matmul.product(XP, array(2, 2).astype(np.int32), array(2, 2).astype(np.int32))
        with pytest.raises(ValueError, match="inner dimensions differ"):
            matmul.product(XP, array(2, 3), array(2, 3))


def test_without_the_library_a_capture_fails_and_says_why() -> None:
    refused = matmul.cublas_of(SimpleNamespace())
    with capturing(refused):
        with pytest.raises(NotImplementedError, match="products cannot be captured: "):
            matmul.product(XP, *CASES["plain"])


def test_a_call_that_fails_is_named() -> None:
    own, library = blas()
    library.cublasSetStream_v2 = lambda *_: 13  # type: ignore[method-assign]
    with pytest.raises(RuntimeError, match="cublasSetStream_v2 failed with status 13"):
        with capturing(own):
            pass


def test_a_pretend_gpu_refuses_what_cupy_refuses() -> None:
    """CuPy's own products, on a stream that is captured."""
    xp = pretend_module(0)
    a = xp.ones((2, 2), np.float32)
    for function in (lambda: a @ a, lambda: xp.dot(a, a), lambda: xp.einsum("ij,jk->ik", a, a)):
        with pytest.raises(NotImplementedError, match="calling cuBLAS API during stream capture"):
            with Recording():
                function()
    with pretend_gpus(1):
        work = graphs.CapturedWork(0, lambda: [matmul.product(xp, a, a)], [])
        work.launch()
        assert work.results[0].get().tolist() == [[2, 2], [2, 2]]


def test_a_copy_from_the_host_cannot_be_captured() -> None:
    allocators: list[Any] = []
    cupy = SimpleNamespace(
        get_default_pinned_memory_pool=lambda: SimpleNamespace(malloc=lambda size: size),
        cuda=SimpleNamespace(set_pinned_memory_allocator=allocators.append),
    )
    graphs.refuse_host_memory(cupy)
    (allocate,) = allocators
    assert allocate(8) == 8
    own, _ = blas()
    with capturing(own):
        with pytest.raises(RuntimeError, match="while the stream is capturing"):
            allocate(8)
    assert allocate(8) == 8


def test_gather_nd_is_captured(cuda_on_host: Any) -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [3, 4])
        y = tf.gather_nd(x, tf.constant([[1, 2], [2, 0], [0, 3]], tf.int64)) * 2.0
        with tf.Session() as session:
            values = np.arange(12, dtype=np.float32).reshape(3, 4)
            results = [session.run(y, {x: values + i}).tolist() for i in range(8)]
            assert num_captured(session) == 1
    assert results == [[2.0 * (v + i) for v in (6, 8, 3)] for i in range(8)]


def train(kind: str, config: Any) -> tuple[list[float], Any]:
    """The losses of eight steps, and the session."""
    with tf.Graph().as_default():
        tf.set_random_seed(1)
        x = tf.placeholder(tf.float32, [4, 6, 6, 2])
        if kind == "convolution":
            h = tf.layers.flatten(tf.layers.conv2d(x, 3, 3, activation=tf.nn.relu))
        elif kind == "recurrent":
            steps = tf.unstack(tf.reshape(x, [4, 6, 12]), axis=1)
            cells = tf.nn.rnn_cell.BasicLSTMCell(5)
            h = tf.nn.static_rnn(cells, steps, dtype=tf.float32)[0][-1]
        else:
            rows = tf.reshape(x, [4, 6, 12])
            h = tf.layers.flatten(tf.matmul(rows, rows, transpose_b=True))
        loss = tf.reduce_mean(tf.square(tf.layers.dense(h, 2)))
        if kind == "weight decay":
            loss += tf.add_n([tf.nn.l2_loss(v) for v in tf.trainable_variables()])
        step = tf.train.MomentumOptimizer(1e-3, 0.9).minimize(loss)
        session = tf.Session(config=config)
        session.run(tf.global_variables_initializer())
        feeds = {x: np.linspace(0, 1, 288).reshape(4, 6, 6, 2)}
        return [session.run([loss, step], feeds)[0] for _ in range(8)], session


@pytest.mark.parametrize("kind", ["batch", "weight decay", "convolution", "recurrent"])
def test_networks_with_products_are_captured(cuda_on_host: Any, kind: str) -> None:
    losses, session = train(kind, None)
    reasons = [p.cuda_graphs.reason for p in session._plans.values() if p.cuda_graphs]
    assert num_captured(session) == 1, reasons
    want, _ = train(kind, tf.ConfigProto(device_count={"GPU": 0}))
    np.testing.assert_allclose(losses, want, rtol=1e-4)
    assert losses[-1] != losses[0]
