"""`tf.test`: a `TestCase` with sessions and array comparisons, and facts about this machine."""

from __future__ import annotations

import contextlib
import os
import random
import re
import socket
import sys
import tempfile
import threading
import unittest
import unittest.mock
from collections.abc import Iterator, MutableMapping
from typing import TYPE_CHECKING, Any

import numpy as np
from absl.testing import absltest

from dataflow.autodiff.gradient_checker import (
    compute_gradient as compute_gradient,
    compute_gradient_error as compute_gradient_error,
)
from dataflow.benchmark import (
    Benchmark as Benchmark,
    benchmark_config as benchmark_config,
    run_benchmarks,
)
from dataflow.cluster_def import ClusterDef
from dataflow.errors import OpError
from dataflow.flags import FLAGS
from dataflow.graph.default_stacks import default_session, reset_default_graph
from dataflow.graph.eager import executing_eagerly
from dataflow.graph.eager_tensor import EagerTensor
from dataflow.graph.nest import map_structure
from dataflow.graph.operation import Operation
from dataflow.kernels.xp import pretend_gpus as pretend_gpus
from dataflow.ops.indexed_slices import IndexedSlices, IndexedSlicesValue
from dataflow.ops.ragged_value import RaggedTensorValue
from dataflow.ops.seeds import set_random_seed
from dataflow.ops.sparse_tensor import SparseTensor, SparseTensorValue
from dataflow.runtime.config import ConfigProto
from dataflow.runtime.devices import list_local_devices
from dataflow.runtime.session import Session
from dataflow.shapes import Dimension, TensorShape
from dataflow.summary.writers import summary_state

if TYPE_CHECKING:
    from dataflow.graph.graph import Graph
    from dataflow.graph.type_aliases import TensorLike

mock = unittest.mock


def is_built_with_cuda() -> bool:
    """Whether GPUs of the CUDA kind can be used here."""
    return is_gpu_available()


def is_built_with_gpu_support() -> bool:
    """Whether GPUs can be used here."""
    return is_gpu_available()


def is_built_with_rocm() -> bool:
    """False: CuPy's ROCm builds are not supported."""
    return False


def is_gpu_available(cuda_only: bool = False, min_cuda_compute_capability: Any = None) -> bool:
    """Whether this process has a GPU: one that CuPy can use, or a pretend one (`pretend_gpus`)."""
    return any(d.device_type == "GPU" for d in list_local_devices())


def gpu_device_name() -> str:
    """``"/device:GPU:0"``, or ``""`` where there is none."""
    return next((d.name for d in list_local_devices() if d.device_type == "GPU"), "")


def get_temp_dir() -> str:
    """A folder for the files of this test process."""
    global _temp_dir
    if _temp_dir is None:
        _temp_dir = tempfile.mkdtemp(prefix="dataflow_test_")
        import atexit
        import shutil

        atexit.register(shutil.rmtree, _temp_dir, ignore_errors=True)
    return _temp_dir


_temp_dir: str | None = None


def test_src_dir_path(relative_path: str) -> str:
    """The path of a file next to the caller's working folder."""
    return os.path.join(os.getcwd(), relative_path)


test_src_dir_path.__test__ = False  # type: ignore[attr-defined]


class _Captured:
    """What was written to a stream since the block was entered."""

    def __init__(self, stream: Any, file: Any) -> None:
        self._stream, self._file, self._text = stream, file, ""

    def contents(self) -> str:
        """The text, in the block up to now."""
        if not self._file.closed:
            self._stream.flush()
            end = (
                self._file.tell()
            )  # where the stream, which has the same place in the file, writes on
            self._file.seek(0)
            self._text = self._file.read().decode()
            self._file.seek(end)
        return self._text


class _CheckedThread:
    """A thread of a test: `join` raises what it failed with."""

    def __init__(self, case: Any, target: Any, args: Any, kwargs: Any) -> None:
        self._case = case
        self._error: BaseException | None = None
        self._joined = False

        def work() -> None:
            try:
                target(*args, **kwargs)
            except BaseException as e:
                self._error = e

        self._thread = threading.Thread(target=work, daemon=True)

    def start(self) -> None:
        """Starts it."""
        self._thread.start()

    def is_alive(self) -> bool:
        """Whether it runs."""
        return self._thread.is_alive()

    def join(self) -> None:
        """Waits for its end; the test fails where it has failed."""
        self._joined = True
        self._thread.join()
        if self._error is not None:
            self._case.fail(f"Error in checkedThread: {self._error!r}")

    def check_joined(self) -> None:
        """Fails the test where nobody joined it."""
        if not self._joined:
            self._case.fail("A checked thread was not joined.")


class _NoSession:
    """What `TestCase.session` gives eager code, which has none."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            "Trying to access properties or call methods on the result of self.session() while eager "
            "execution is enabled: use self.evaluate(), or tf.disable_eager_execution() first."
        )


class _EagerSession:
    """What `TestCase.cached_session` gives eager code: its `run` takes values out of tensors."""

    def __init__(self, case: TestCase) -> None:
        self._case = case

    def run(self, fetches: Any, *args: Any, **kwargs: Any) -> Any:
        """The values of tensors. Raises `RuntimeError` where something is fed."""
        if kwargs.pop("feed_dict", None):
            raise RuntimeError(
                "feed_dict is not supported when eager execution is enabled "
                "(in this case, sess.run(t) is shorthand for t.numpy()"
            )
        if args or kwargs:
            raise RuntimeError(
                "Optional args are not supported when eager execution is enabled "
                "(in this case, sess.run(t) is shorthand for t.numpy()"
            )
        return self._case.evaluate(fetches)


def _eager_value(tensor: Any) -> Any:
    """The value of a tensor, a variable, a composite tensor, or of what a function returns."""
    if tensor is None or isinstance(tensor, Operation):
        return None  # an operation has run when it was made
    if callable(tensor):
        return map_structure(_eager_value, tensor())
    if isinstance(tensor, SparseTensor):
        parts = (tensor.indices, tensor.values, tensor.dense_shape)
        return SparseTensorValue(*map(_eager_value, parts))
    if isinstance(tensor, IndexedSlices):
        slices = (tensor.values, tensor.indices, tensor.dense_shape)
        return IndexedSlicesValue(*map(_eager_value, slices))
    if getattr(tensor, "is_ragged", False) and hasattr(tensor, "row_splits"):
        return RaggedTensorValue(_eager_value(tensor.values), _eager_value(tensor.row_splits))
    if not hasattr(tensor, "numpy"):
        raise ValueError(f"Unsupported type {type(tensor)}.")
    return tensor.numpy()


def _placed(graph: Graph, use_gpu: bool, force_gpu: bool) -> Any:
    """New nodes go on the first CPU, unless they may or must be elsewhere."""
    if force_gpu:
        return graph.device("/device:GPU:0")
    return contextlib.nullcontext() if use_gpu else graph.device("/device:CPU:0")


def _config(config: Any, force_gpu: bool) -> Any:
    """The options of a test's session: nodes may be on another device than theirs, as in TensorFlow."""
    return ConfigProto(allow_soft_placement=not force_gpu) if config is None else config


class TestCase(absltest.TestCase):
    """absl's `TestCase` with sessions, a clean graph for each test, and array comparisons."""

    __test__ = False

    def __init__(self, methodName: str = "runTest") -> None:
        super().__init__(methodName)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.__test__ = True

    def setUp(self) -> None:
        """Starts with a new default graph and fixed seeds."""
        super().setUp()
        if not FLAGS.is_parsed():  # as below pytest, whose arguments are not the program's
            FLAGS.mark_as_parsed()
        self._close_cached()
        with contextlib.suppress(AssertionError):
            reset_default_graph()
        summary_state.writer = None  # one that another test has set as default
        random.seed(87654321)
        np.random.seed(87654321)
        set_random_seed(87654321)

    #: The session that a test shares, made when it is first asked for.
    _cached: Any = None
    #: Those of `checkedThread`; of a test whose method is called by hand there is no list.
    _threads: Any = ()

    def run(self, result: Any = None) -> Any:
        """Runs the test, and closes the session that it shared, whatever its `setUp` calls."""
        self._threads = []
        try:
            return super().run(result)
        finally:
            self._close_cached()

    def _close_cached(self) -> None:
        if self._cached is not None:
            self._cached.close()
            self._cached = None

    def tearDown(self) -> None:
        """Fails for a `checkedThread` that was not joined."""
        for thread in self._threads:
            thread.check_joined()
        super().tearDown()

    def get_temp_dir(self) -> str:
        """A folder for this test's files."""
        number = f"_{self._runs}" if self._runs else ""
        name = f"{self._testMethodName}{number}"
        path = os.path.join(get_temp_dir(), type(self).__name__, name)
        os.makedirs(path, exist_ok=True)
        return path

    #: How often a decorator has run the method before, for folders of their own.
    _runs = 0

    def start_anew(self) -> None:
        """Lets `get_temp_dir` give an empty folder: the method runs again, in another mode."""
        self._runs += 1

    @contextlib.contextmanager
    def session(
        self,
        graph: Graph | None = None,
        config: Any = None,
        use_gpu: bool = False,
        force_gpu: bool = False,
    ) -> Iterator[Session]:
        """A session that is the default one inside the block.

        Nodes are on the CPU, unless ``use_gpu``; with ``force_gpu`` on the first GPU. Without a
        ``config`` nodes of devices that are not here run on the CPU, but for ``force_gpu``.
        """
        if executing_eagerly():
            yield _NoSession()  # type: ignore[misc]
            return
        config = _config(config, force_gpu)
        with Session(graph=graph, config=config) as sess:
            with _placed(sess.graph, use_gpu, force_gpu):
                yield sess

    def test_session(self, *args: Any, **kwargs: Any) -> Any:
        """As `cached_session`, whose ``config`` counts the first time alone; as `session` where a graph is given.

        unittest takes it for a test by its name, and skips it.
        """
        if self._testMethodName == "test_session":
            self.skipTest("Not a test.")
        if executing_eagerly():
            return contextlib.nullcontext()
        graph = args[0] if args else kwargs.get("graph")
        if graph is not None:
            return self.session(*args, **kwargs)
        return self._entered(False, *args, **kwargs)

    test_session.__test__ = False  # type: ignore[attr-defined]

    @contextlib.contextmanager
    def cached_session(
        self,
        graph: Graph | None = None,
        config: Any = None,
        use_gpu: bool = False,
        force_gpu: bool = False,
    ) -> Iterator[Session]:
        """One session for the whole test method; raises `ValueError` where another is asked for.

        With eager execution its ``run`` gives the values of tensors.
        """
        if executing_eagerly():
            yield _EagerSession(self)  # type: ignore[misc]
            return
        with self._entered(True, graph, config, use_gpu, force_gpu) as shared:
            yield shared

    @contextlib.contextmanager
    def _entered(
        self,
        strict: bool,
        graph: Graph | None = None,
        config: Any = None,
        use_gpu: bool = False,
        force_gpu: bool = False,
    ) -> Iterator[Session]:
        shared = self._shared_session(graph, config, force_gpu, strict)
        with (
            shared.graph.as_default(),
            shared.as_default(),
            _placed(shared.graph, use_gpu, force_gpu),
        ):
            yield shared

    def _shared_session(
        self,
        graph: Graph | None = None,
        config: Any = None,
        force_gpu: bool = False,
        strict: bool = True,
    ) -> Any:
        if self._cached is None:
            made = Session(graph=graph, config=_config(config, force_gpu))
            self._cached, self._cached_config = made, config
        elif strict and graph is not None and graph is not self._cached.graph:
            raise ValueError("The graph used to get the cached session is different than before.")
        elif strict and config is not None and config is not self._cached_config:
            raise ValueError("The config used to get the cached session is different than before.")
        return self._cached

    def evaluate(self, tensors: Any) -> Any:
        """The values of ``tensors`` in the default session, or in the one that the test shares."""
        if executing_eagerly():
            return map_structure(_eager_value, tensors)
        session = default_session()
        if session is not None:
            return session.run(tensors)
        return self._shared_session().run(tensors)

    def _value(self, a: Any) -> Any:
        from dataflow.graph.conversion import is_tensor_like

        if isinstance(a, (TensorShape, Dimension)):
            if isinstance(a, Dimension):
                return a.value
            return None if a.rank is None else a.as_list()
        if isinstance(a, EagerTensor):
            return a.numpy()  # also where a test goes on in a graph
        if isinstance(a, RaggedTensorValue):
            return a
        return self.evaluate(a) if is_tensor_like(a) else a

    def _array(self, a: TensorLike) -> Any:
        return np.asarray(self._value(a))

    def assertAllEqual(self, a: TensorLike, b: TensorLike, msg: str | None = None) -> None:
        """Same shape and same elements; of ragged tensors the same rows."""
        a, b = self._value(a), self._value(b)
        if getattr(a, "is_ragged", False) or getattr(b, "is_ragged", False):
            self.assertEqual(_as_list(a), _as_list(b), msg)
            return
        np.testing.assert_array_equal(a, b, err_msg=msg or "")

    def assertNotAllEqual(self, a: TensorLike, b: TensorLike, msg: str | None = None) -> None:
        """Some element differs."""
        if np.array_equal(self._value(a), self._value(b)):
            self.fail(msg or "The two values are equal at all elements.")

    def assertAllClose(
        self, a: Any, b: Any, rtol: Any = 1e-6, atol: Any = 1e-6, msg: str | None = None
    ) -> None:
        """Same structure, same shapes, elements close to each other; of ragged tensors the same rows.

        ``rtol`` and ``atol`` are numbers, or arrays that broadcast to the shape.
        """
        if isinstance(a, dict) != isinstance(b, dict):
            kinds = f"a {type(a).__name__} and a {type(b).__name__}"
            raise ValueError(
                f"a dict is compared with a dict only; got {kinds}. {msg or ''}".strip()
            )
        if isinstance(a, dict):
            self.assertEqual(set(a), set(b), msg)
            for key in a:
                self.assertAllClose(a[key], b[key], rtol, atol, msg)
            return
        a, b = self._value(a), self._value(b)
        if getattr(a, "is_ragged", False) or getattr(b, "is_ragged", False):
            a, b = _as_list(a), _as_list(b)
        if isinstance(a, (list, tuple)) and (
            any(isinstance(i, (list, tuple, dict)) for i in a) or len({np.shape(i) for i in a}) > 1
        ):
            self.assertEqual(len(a), len(b), msg)
            for x, y in zip(a, b, strict=True):
                self.assertAllClose(x, y, rtol, atol, msg)
            return
        a, b = np.asarray(a), np.asarray(b)
        self.assertEqual(a.shape, b.shape, msg or f"the shapes differ: {a.shape} and {b.shape}")
        if np.ndim(rtol) == 0 and np.ndim(atol) == 0:
            np.testing.assert_allclose(a, b, rtol=rtol, atol=atol, err_msg=msg or "")
            return
        far = ~np.isclose(a, b, rtol=rtol, atol=atol, equal_nan=True)
        if far.any():
            self.fail(
                f"{msg or ''} {far.sum()} of {far.size} elements are not close: at "
                f"{np.argwhere(far)[:5].tolist()} {a[far][:5]} and {b[far][:5]}"
            )

    def assertNotAllClose(
        self,
        a: TensorLike,
        b: TensorLike,
        rtol: Any = 1e-6,
        atol: Any = 1e-6,
        msg: str | None = None,
    ) -> None:
        """Some element is not close."""
        try:
            self.assertAllClose(a, b, rtol, atol)
        except AssertionError:
            return
        self.fail(msg or "The two values are close at all elements.")

    def assertAllGreater(self, a: TensorLike, comparison_target: Any) -> None:
        """All elements are above a number."""
        self.assertGreater(np.min(self._array(a)), comparison_target)

    def assertAllLess(self, a: TensorLike, comparison_target: Any) -> None:
        """All elements are below a number."""
        self.assertLess(np.max(self._array(a)), comparison_target)

    def assertAllGreaterEqual(self, a: TensorLike, comparison_target: Any) -> None:
        """No element is below a number."""
        self.assertGreaterEqual(np.min(self._array(a)), comparison_target)

    def assertAllLessEqual(self, a: TensorLike, comparison_target: Any) -> None:
        """No element is above a number."""
        self.assertLessEqual(np.max(self._array(a)), comparison_target)

    def assertAllInRange(
        self,
        target: Any,
        lower_bound: Any,
        upper_bound: Any,
        open_lower_bound: bool = False,
        open_upper_bound: bool = False,
    ) -> None:
        """All elements are numbers between two bounds, which belong to it unless they are open."""
        array = self._array(target)
        if array.dtype.kind not in "fiu":
            raise AssertionError(f"The value has dtype {array.dtype}, which has no order.")
        low = array <= lower_bound if open_lower_bound else array < lower_bound
        high = array >= upper_bound if open_upper_bound else array > upper_bound
        outside = low | high | np.isnan(array)
        if outside.any():
            ends = f"{'(' if open_lower_bound else '['}{lower_bound}, {upper_bound}"
            ends += ")" if open_upper_bound else "]"
            raise AssertionError(
                f"{outside.sum()} of {array.size} elements are outside the range {ends}: "
                f"{array[outside][:5]}"
            )

    def assertAllInSet(self, target: Any, expected_set: Any) -> None:
        """All elements are in a set."""
        others = np.setdiff1d(self._array(target).reshape(-1), list(expected_set))
        if others.size:
            raise AssertionError(
                f"{others.size} unique elements are not in the set {expected_set}: {others[:5]}"
            )

    def assertDTypeEqual(self, target: Any, expected_dtype: Any) -> None:
        """The value's dtype, as a dtype of NumPy or of `tf`."""
        wanted = getattr(expected_dtype, "as_numpy_dtype", expected_dtype)
        self.assertEqual(self._array(target).dtype, np.dtype(wanted))

    def checkedThread(self, target: Any, args: Any = (), kwargs: Any = None) -> _CheckedThread:
        """A thread whose error fails the test when it is joined, which it has to be."""
        thread = _CheckedThread(self, target, tuple(args or ()), dict(kwargs or {}))
        self._threads.append(thread)
        return thread

    @contextlib.contextmanager
    def captureWritesToStream(self, stream: Any) -> Iterator[_Captured]:
        """What is written to a stream's file descriptor in the block, as ``contents()``."""
        number = stream.fileno()
        stream.flush()
        kept = os.dup(number)
        with tempfile.TemporaryFile() as file:
            os.dup2(file.fileno(), number)
            captured = _Captured(stream, file)
            try:
                yield captured
            finally:
                captured.contents()
                os.dup2(kept, number)
                os.close(kept)

    def enter_context(self, manager: Any) -> Any:
        """Enters a block that is left after `tearDown`."""
        result = type(manager).__enter__(manager)
        self.addCleanup(type(manager).__exit__, manager, None, None, None)
        return result

    def assertProtoEqualsVersion(
        self,
        expected: str,
        actual: Any,
        producer: int = 134,
        min_consumer: int = 0,
        msg: str | None = None,
    ) -> None:
        """As `assertProtoEquals`, for the text of a graph without its versions."""
        versions = f"versions {{ producer: {producer} min_consumer: {min_consumer} }};"
        self.assertProtoEquals(f"{versions}\n{expected}", actual, msg)

    def assertAllCloseAccordingToType(
        self,
        a: TensorLike,
        b: TensorLike,
        rtol: float = 1e-6,
        atol: float = 1e-6,
        float_rtol: float = 1e-6,
        float_atol: float = 1e-6,
        half_rtol: float = 1e-3,
        half_atol: float = 1e-3,
        msg: str | None = None,
    ) -> None:
        """As `assertAllClose`, with wider bounds for less precise dtypes."""
        a, b = np.asarray(self._value(a)), np.asarray(self._value(b))
        kinds = {a.dtype, b.dtype}
        if np.dtype(np.float32) in kinds or np.dtype(np.complex64) in kinds:
            rtol, atol = max(rtol, float_rtol), max(atol, float_atol)
        if np.dtype(np.float16) in kinds:
            rtol, atol = max(rtol, half_rtol), max(atol, half_atol)
        self.assertAllClose(a, b, rtol, atol, msg)

    def assertNear(self, f1: float, f2: float, err: float, msg: str | None = None) -> None:
        """Two numbers differ by at most ``err``."""
        self.assertTrue(abs(f1 - f2) <= err, msg or f"{f1} and {f2} differ by more than {err}")

    def assertArrayNear(
        self, farray1: Any, farray2: Any, err: float, msg: str | None = None
    ) -> None:
        """Elements differ by at most ``err``."""
        self.assertEqual(len(farray1), len(farray2), msg)
        for f1, f2 in zip(farray1, farray2, strict=True):
            self.assertNear(float(f1), float(f2), err, msg)

    def assertNDArrayNear(
        self, ndarray1: Any, ndarray2: Any, err: float, msg: str | None = None
    ) -> None:
        """The norm of the difference is below ``err``."""
        self.assertTrue(np.linalg.norm(np.subtract(ndarray1, ndarray2)) < err, msg)

    def assertShapeEqual(self, np_array: Any, tf_tensor: Any, msg: str | None = None) -> None:
        """The static shape of a tensor is that of an array."""
        if not isinstance(np_array, (np.ndarray, np.generic)):
            raise TypeError(f"np_array must be an array of NumPy, got {type(np_array).__name__}")
        if not hasattr(tf_tensor, "get_shape"):
            raise TypeError(f"tf_tensor must be a tensor, got {type(tf_tensor).__name__}")
        self.assertEqual(list(np_array.shape), tf_tensor.get_shape().as_list(), msg)

    def assertDeviceEqual(self, device1: Any, device2: Any, msg: str | None = None) -> None:
        """Two device names mean the same."""
        from dataflow.device_spec import canonical_name

        self.assertEqual(canonical_name(device1 or ""), canonical_name(device2 or ""), msg)

    def assertProtoEquals(self, expected: Any, message: Any, msg: str | None = None) -> None:
        """Two protocol buffers (or the text of one) are equal."""
        message = _as_protocol_buffer(message)
        if isinstance(expected, str):
            from google.protobuf import text_format

            parsed = type(message)()
            text_format.Merge(expected, parsed)
            expected = parsed
        expected = _as_protocol_buffer(expected)
        if expected != message:  # numbers in texts are rounded, as in TensorFlow
            expected, message = _rounded(expected), _rounded(message)
        self.assertEqual(expected, message, msg)

    @contextlib.contextmanager
    def assertRaisesWithPredicateMatch(  # type: ignore[override]  # TensorFlow takes a regular expression, too
        self, exception_type: Any, expected_err_re_or_predicate: Any
    ) -> Iterator[None]:
        """The block raises, and the text matches the pattern (or the predicate holds)."""
        import re

        try:
            yield
        except exception_type as e:
            if callable(expected_err_re_or_predicate):
                self.assertTrue(expected_err_re_or_predicate(e), str(e))
            else:
                text = e.message if isinstance(e, OpError) else str(e)
                self.assertTrue(re.search(expected_err_re_or_predicate, text), text)
        else:
            self.fail(f"{exception_type} was not raised")

    def assertRaisesOpError(self, expected_err_re_or_predicate: Any) -> Any:
        """The block raises an `OpError` whose text matches."""
        return self.assertRaisesWithPredicateMatch(OpError, expected_err_re_or_predicate)


def _as_protocol_buffer(message: Any) -> Any:
    """``message``; a `ClusterDef`, which does without the protobuf package, as that package's."""
    if not isinstance(message, ClusterDef):
        return message
    from tensorboard.compat.proto import cluster_pb2

    return cluster_pb2.ClusterDef.FromString(message.SerializeToString())


def _rounded(message: Any) -> Any:
    """A copy of a protocol buffer with its floats rounded to seven places."""
    copy = type(message)()
    copy.CopyFrom(message)
    for field, value in copy.ListFields():
        if isinstance(value, float):
            setattr(copy, field.name, round(value, 7))
        elif hasattr(value, "ListFields"):
            value.CopyFrom(_rounded(value))
        elif isinstance(value, MutableMapping):
            for key, part in value.items():
                if hasattr(part, "ListFields"):
                    part.CopyFrom(_rounded(part))
                elif isinstance(part, float):
                    value[key] = round(part, 7)
        elif not isinstance(value, (bool, int, str, bytes)):
            for i, part in enumerate(value):
                if hasattr(part, "ListFields"):
                    part.CopyFrom(_rounded(part))
                elif isinstance(part, float):
                    value[i] = round(part, 7)
    return copy


def _as_list(value: Any) -> Any:
    """Arrays and ragged values as lists, in lists too."""
    if getattr(value, "is_ragged", False):
        return value.to_list()
    if isinstance(value, (list, tuple)):
        return [_as_list(each) for each in value]
    return getattr(value, "tolist", lambda: value)()


def main(argv: Any = None) -> None:
    """Runs the tests of the calling module, or with ``--benchmarks=PATTERN`` its benchmarks.

    Flags that the program defined, and ``--test_tmpdir`` and its kin, are read first.
    """
    given = list(sys.argv if argv is None else argv)
    wanted = [a.partition("=")[2] for a in given if re.match("--?benchmarks=", a)]
    if wanted:
        run_benchmarks(wanted[-1])
    else:
        absltest.main(argv=FLAGS(given, known_only=True))


def is_built_with_xla() -> bool:
    """False: sessions compile graphs by a compiler of their own."""
    return False


class StubOutForTesting:
    """Replaces attributes of objects for the time of a test; ``CleanUp`` puts back what was there."""

    def __init__(self) -> None:
        self._replaced: list[tuple[Any, str, Any]] = []

    def __enter__(self) -> StubOutForTesting:
        return self

    def __exit__(self, *_: object) -> None:
        self.CleanUp()

    def __del__(self) -> None:
        self.CleanUp()

    def CleanUp(self) -> None:
        """Puts back everything that was replaced, the last first."""
        while self._replaced:
            setattr(*self._replaced.pop())

    def Set(self, parent: Any, child_name: str, new_child: Any) -> None:
        """Replaces ``parent.child_name``; `AttributeError` where there is none."""
        old = vars(parent).get(child_name, getattr(parent, child_name))
        self._replaced.append((parent, child_name, old))
        setattr(parent, child_name, new_child)

    def SmartSet(self, obj: Any, attr_name: str, new_attr: Any) -> None:
        """As `Set`."""
        self.Set(obj, attr_name, new_attr)

    UnsetAll = SmartUnsetAll = CleanUp


def create_local_cluster(
    num_workers: int,
    num_ps: int,
    protocol: str = "grpc",
    worker_config: Any = None,
    ps_config: Any = None,
) -> tuple[list[Any], list[Any]]:
    """Servers of a cluster in this process, at free ports: ``(workers, parameter servers)``.

    For tests; `tf.cluster.launch` gives each task a process of its own.
    """
    from dataflow.errors import UnavailableError

    for attempt in range(5):
        started: list[Any] = []
        try:
            return _local_servers(num_workers, num_ps, protocol, worker_config, ps_config, started)
        except UnavailableError:  # somebody took one of the ports in between
            for server in started:
                server.stop()
            if attempt == 4:
                raise
    raise AssertionError("unreachable")


def _local_servers(
    num_workers: int,
    num_ps: int,
    protocol: str,
    worker_config: Any,
    ps_config: Any,
    started: list[Any],
) -> tuple[list[Any], list[Any]]:
    from dataflow.train import ClusterSpec, Server

    sockets = [socket.socket() for _ in range(num_workers + num_ps)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    addresses = [f"127.0.0.1:{each.getsockname()[1]}" for each in sockets]
    for each in sockets:
        each.close()
    jobs = {"worker": addresses[:num_workers], "ps": addresses[num_workers:]}
    spec = ClusterSpec({job: tasks for job, tasks in jobs.items() if tasks})
    for job, config in (("worker", worker_config), ("ps", ps_config)):
        for index in range(len(jobs[job])):
            started.append(Server(spec, job, index, protocol, config))
    return started[:num_workers], started[num_workers:]


def assert_equal_graph_def(actual: Any, expected: Any) -> None:
    """Raises `AssertionError` when two GraphDefs differ, whatever the order of their nodes."""
    a = {n.name: n for n in actual.node}
    b = {n.name: n for n in expected.node}
    if set(a) != set(b):
        raise AssertionError(f"nodes differ: {sorted(set(a) ^ set(b))}")
    for name, node in a.items():
        if node != b[name]:
            raise AssertionError(f"node {name!r} differs:\n{node}\n{b[name]}")
