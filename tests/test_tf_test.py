"""`tf.test`: its assertions must be able to fail."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dataflow as tf


class Probe(tf.test.TestCase):
    """A case to call assertions of."""

    __test__ = False

    def runTest(self) -> None:
        """Nothing."""


@pytest.fixture
def case() -> Any:
    with tf.Graph().as_default():
        yield Probe()


PASSES_AND_FAILS = [
    ("assertAllEqual", ([1, 2], [1, 2]), ([1, 2], [1, 3])),
    ("assertAllEqual", ([[1]], [[1]]), ([[1]], [1, 1])),
    ("assertNotAllEqual", ([1, 2], [1, 3]), ([1], [1])),
    ("assertAllClose", ([1.0], [1.0 + 1e-7]), ([1.0], [1.1])),
    ("assertAllClose", ({"a": [1.0]}, {"a": [1.0]}), ({"a": [1.0]}, {"b": [1.0]})),
    ("assertAllCloseAccordingToType", (np.float16([1]), np.float16([1.0005])), ([1.0], [1.01])),
    ("assertNear", (1.0, 1.05, 0.1), (1.0, 1.2, 0.1)),
    ("assertArrayNear", ([1.0, 2.0], [1.05, 2.0], 0.1), ([1.0, 2.0], [1.0, 2.2], 0.1)),
    ("assertNDArrayNear", ([1.0], [1.05], 0.1), ([1.0], [1.2], 0.1)),
    ("assertStartsWith", ("dataflow", "data"), ("dataflow", "flow")),
    ("assertDeviceEqual", ("/cpu:0", "/device:CPU:0"), ("/cpu:0", "/device:CPU:1")),
]


@pytest.mark.parametrize(("name", "good", "bad"), PASSES_AND_FAILS)
def test_assertions(case: Any, name: str, good: Any, bad: Any) -> None:
    getattr(case, name)(*good)
    with pytest.raises(AssertionError):
        getattr(case, name)(*bad)


def test_tensors_are_evaluated(case: Any) -> None:
    x = tf.constant([1.0, 2.0])
    with case.session():
        case.assertAllClose(x * 2.0, [2.0, 4.0])
        assert case.evaluate(x)[1] == 2.0
    with pytest.raises(AssertionError):
        case.assertAllEqual(x, [1.0, 3.0])
    case.assertShapeEqual(np.zeros(2), x)
    with pytest.raises(AssertionError):
        case.assertShapeEqual(np.zeros(3), x)


def test_errors_with_a_predicate(case: Any) -> None:
    def fail() -> None:
        raise tf.errors.NotFoundError(None, None, "no such table")

    with case.assertRaisesOpError("such"):
        fail()
    with case.assertRaisesWithPredicateMatch(
        tf.errors.NotFoundError, lambda e: e.error_code == tf.errors.NOT_FOUND
    ):
        fail()
    with pytest.raises(AssertionError), case.assertRaisesOpError("other"):
        fail()
    with pytest.raises(AssertionError), case.assertRaisesOpError("such"):
        pass


def test_graph_defs(case: Any) -> None:
    x = tf.constant(1.0, name="x")
    first = x.graph.as_graph_def()
    tf.test.assert_equal_graph_def(first, x.graph.as_graph_def())
    tf.constant(2.0)
    with pytest.raises(AssertionError, match="Const"):
        tf.test.assert_equal_graph_def(x.graph.as_graph_def(), first)


def test_compute_gradient(case: Any) -> None:
    x = tf.constant([1.0, 2.0, 3.0])
    with tf.Session():
        by_graph, by_differences = tf.test.compute_gradient(
            x, [3], tf.square(x), [3], x_init_value=np.float32([1, 2, 3])
        )
        np.testing.assert_allclose(by_graph, np.diag([2.0, 4.0, 6.0]))
        np.testing.assert_allclose(by_differences, by_graph, atol=0.01)
        assert tf.test.compute_gradient_error(x, [3], tf.square(x), [3]) < 0.01
        wrong = tf.stop_gradient(tf.square(x)) + x
        assert tf.test.compute_gradient_error(x, [3], wrong, [3]) > 0.01


MODULE = """
import os
import dataflow as tf

class AdderTest(tf.test.TestCase):
    def test_sum(self):
        with self.test_session() as session:
            self.assertAllEqual(session.run(tf.add([1], [2])), [3])
            self.assertEqual(tf.constant(1).name, "Const:0")

    def test_again_in_a_fresh_graph(self):
        with self.cached_session():
            self.assertEqual(tf.constant(1).name, "Const:0")
            self.assertAllEqual(tf.constant([2]).eval(), [2])

    def test_folder(self):
        self.assertTrue(os.path.isdir(self.get_temp_dir()))

if __name__ == "__main__":
    tf.test.main()
"""


def test_a_module_of_tests_runs(tmp_path: Path) -> None:
    (tmp_path / "adder.py").write_text(MODULE)
    done = subprocess.run(
        [sys.executable, str(tmp_path / "adder.py")],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(Path(tf.__file__).parents[1])},
    )
    assert done.returncode == 0, done.stderr
    assert "OK" in done.stderr


def test_facts_about_this_machine() -> None:
    has_gpu = tf.test.is_gpu_available()
    assert tf.test.is_built_with_cuda() is has_gpu
    assert bool(tf.test.gpu_device_name()) is has_gpu
