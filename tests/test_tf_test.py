"""`tf.test`: its assertions must be able to fail."""

from __future__ import annotations

import os
import subprocess
import sys
import unittest
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
    (
        "assertAllClose",
        (tf.ragged.constant_value([[1.0], [2.0, 3.0]]), [[1.0 + 1e-7], [2.0, 3.0]]),
        (tf.ragged.constant_value([[1.0], [2.0, 3.0]]), [[1.0, 2.0], [3.0]]),
    ),
    ("assertAllCloseAccordingToType", (np.float16([1]), np.float16([1.0005])), ([1.0], [1.01])),
    ("assertAllClose", ([1.0, 2.0], [1.0, 2.5], 0, np.array([0.1, 1.0])), ([1.0], [2.0], 0, [0.1])),
    ("assertAllEqual", (tf.TensorShape([2, 3]), [2, 3]), (tf.TensorShape([2, 3]), [2, 4])),
    ("assertNotAllClose", ([1.0], [1.1]), ([1.0], [1.0 + 1e-8])),
    ("assertAllGreater", ([2, 3], 1), ([1, 3], 1)),
    ("assertAllGreaterEqual", ([1, 3], 1), ([0, 3], 1)),
    ("assertAllLess", ([2, 3], 4), ([2, 4], 4)),
    ("assertAllLessEqual", ([2, 4], 4), ([2, 5], 4)),
    ("assertAllInRange", ([1, 2], 1, 2), ([1, 2], 1, 2, True)),
    ("assertAllInRange", ([1.0], 0, 1), ([np.nan], 0, 1)),
    ("assertAllInSet", ([1, 1, 2], {1, 2}), ([1, 3], {1, 2})),
    ("assertDTypeEqual", (np.float32(1), tf.float32), ([1.0], np.float32)),
    ("assertItemsEqual", ([1, 2, 2], [2, 1, 2]), ([1, 2, 2], [1, 1, 2])),
    ("assertSameElements", ([1, 2, 2], [1, 2]), ([1], [2])),
    ("assertLen", ([1, 2], 2), ([1], 2)),
    ("assertEmpty", ([],), ([1],)),
    ("assertNotEmpty", ([1],), ([],)),
    ("assertBetween", (1, 1, 2), (3, 1, 2)),
    ("assertEndsWith", ("dataflow", "flow"), ("dataflow", "data")),
    ("assertContainsSubset", ([1, 2], [3, 2, 1]), ([1, 4], [3, 2, 1])),
    ("assertNoCommonElements", ([1], [2]), ([1, 2], [2])),
    ("assertDictContainsSubset", ({"a": 1}, {"a": 1, "b": 2}), ({"a": 2}, {"a": 1})),
    ("assertTotallyOrdered", ([1, 1.0], [2]), ([2], [1])),
    ("assertTotallyOrdered", ([1], [2], [3]), ([1, 2], [3])),
    ("assertSequenceStartsWith", ([1], [1, 2]), ([2], [1, 2])),
    ("assertSequenceStartsWith", ("a", ["a"]), ([], [1])),
    ("assertSequenceAlmostEqual", ([1.0], [1.00000001]), ([1.0], [1.1])),
    ("assertSequenceAlmostEqual", ([1.0], [1.1], None, None, 0.2), ([1.0], [1.0, 2.0])),
    ("assertContainsSubsequence", ([1, 2, 3], [1, 3]), ([1, 2, 3], [3, 1])),
    ("assertContainsExactSubsequence", ([1, 2, 3], [2, 3]), ([1, 2, 3], [1, 3])),
    ("assertStartsWith", ("dataflow", "data"), ("dataflow", "flow")),
    ("assertNotStartsWith", ("dataflow", "flow"), ("dataflow", "data")),
    ("assertNotEndsWith", ("dataflow", "data"), ("dataflow", "flow")),
    ("assertContainsInOrder", (["a", "b"], "xaxbx"), (["b", "a"], "xaxbx")),
    ("assertContainsInOrder", ("a", "xa"), ("b", "xa")),
    ("assertRegexMatch", ("text", ["e.t", "no"]), ("text", ["no"])),
    ("assertRegexMatch", (b"text", [b"e"]), ("text", "text")),
    (
        "assertUrlEqual",
        ("http://h/a/b?x=1&y=2", "http://h/a/b?y=2&x=1"),
        ("http://h/a/b?x=1", "http://h/a/b?x=2"),
    ),
    ("assertUrlEqual", ("http://h/a;p;q", "http://h/a;q;p"), ("http://h/a;p", "http://h/a;q")),
    ("assertJsonEqual", ('{"a": [1]}', '{"a":[1]}'), ('{"a": [1]}', '{"a": [2]}')),
    ("assertSameStructure", ({"a": [1, {}]}, {"a": [1, {}]}), ({"a": [1]}, {"a": [1, 2]})),
    ("assertSameStructure", ([1], [1]), ({"a": 1}, {"b": 1})),
    ("assertCommandSucceeds", (["echo", "yes"], ["ye"]), (["echo", "yes"], ["no"])),
    ("assertCommandSucceeds", ("exit 0",), ("exit 3",)),
    ("assertCommandFails", ("echo no; exit 3", [b"no"]), ("echo no", [b"no"])),
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


def test_values_of_ragged_tensors_are_compared(case: Any) -> None:
    ragged = tf.ragged.constant([[1, 2], [3]])
    value = case.evaluate(ragged)
    case.assertAllEqual(value, ragged)
    case.assertAllEqual(value, [[1, 2], [3]])
    with pytest.raises(AssertionError):
        case.assertAllEqual(value, tf.ragged.constant([[1, 2], [4]]))


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


FLAGS_MODULE = """
import os
import dataflow as tf

tf.flags.DEFINE_integer("size", 1, "")
FLAGS = tf.flags.FLAGS

class FlagsTest(tf.test.TestCase):
    def test_flags(self):
        self.assertEqual([FLAGS.size, FLAGS.test_random_seed], [3, 301])
        self.assertTrue(FLAGS.test_tmpdir.endswith("folder"))
        self.assertTrue(os.path.isdir(FLAGS.test_tmpdir))

    def test_left_out(self):
        self.fail("the command line names the other test")

if __name__ == "__main__":
    tf.test.main()
"""


def test_flags_of_a_module_of_tests(tmp_path: Path) -> None:
    (tmp_path / "flagged.py").write_text(FLAGS_MODULE)
    folder = f"--test_tmpdir={tmp_path / 'folder'}"
    done = subprocess.run(
        [sys.executable, "flagged.py", "--size=3", folder, "FlagsTest.test_flags"],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(tf.__file__).parents[1])},
    )
    assert done.returncode == 0, done.stderr
    assert "test_flags" in done.stderr


def test_flags_of_tests_are_there_unasked() -> None:
    program = "import dataflow as tf; F = tf.flags.FLAGS; print(F.test_tmpdir, [F.test_srcdir], F.test_random_seed)"
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "TEST_TMPDIR": "/some/folder"},
    )
    assert done.stdout == "/some/folder [''] 301\n", done.stderr


def test_facts_about_this_machine() -> None:
    has_gpu = tf.test.is_gpu_available()
    assert tf.test.is_built_with_cuda() is has_gpu
    assert bool(tf.test.gpu_device_name()) is has_gpu


def outcome_of(kind: type) -> unittest.TestResult:
    """What running all tests of a case gives."""
    outcome = unittest.TestResult()
    unittest.TestLoader().loadTestsFromTestCase(kind).run(outcome)
    return outcome


def test_evaluate_shares_one_session_in_a_test() -> None:
    class Case(tf.test.TestCase):
        def setUp(self) -> None:
            """A learner's own, which forgets the one above."""

        def test_evaluate(self) -> None:
            v = tf.Variable(1.0)
            self.evaluate(v.initializer)
            assert self.evaluate(v) == 1.0
            with self.test_session() as first, self.test_session() as second:
                assert first is second
                assert v.eval() == 1.0
            with self.session(), pytest.raises(tf.errors.FailedPreconditionError):
                v.eval()
            self.assertAllEqual(tf.zeros([2, 3]).shape, [2, 3])

        def test_another_session(self) -> None:
            assert self._cached is None

    outcome = outcome_of(Case)
    assert outcome.testsRun - len(outcome.skipped) == 2
    assert not outcome.errors, outcome.errors
    assert not outcome.failures, outcome.failures


def test_checked_threads() -> None:
    class Case(tf.test.TestCase):
        def test_good(self) -> None:
            done: list[int] = []
            thread = self.checkedThread(done.append, args=(1,))
            thread.start()
            thread.join()
            assert done == [1]

        def test_fails(self) -> None:
            thread = self.checkedThread(lambda: 1 / 0)
            thread.start()
            thread.join()

        def test_not_joined(self) -> None:
            self.checkedThread(lambda: None).start()

    outcome = outcome_of(Case)
    failed = sorted(case._testMethodName for case, _ in outcome.failures)
    assert failed == ["test_fails", "test_not_joined"]


def test_what_is_written_to_a_stream(case: Any, tmp_path: Path) -> None:
    with (tmp_path / "log").open("w") as stream:
        with case.captureWritesToStream(stream) as captured:
            stream.write("in")
            assert captured.contents() == "in"
            stream.write("side")
        stream.write("outside")
    assert captured.contents() == "inside"
    assert (tmp_path / "log").read_text() == "outside"
    assert os.path.isdir(case.create_tempdir("of_mine").full_path)


def test_jacobians_of_complex_numbers_have_two_rows_and_columns_each() -> None:
    with tf.Graph().as_default(), tf.Session():
        z = tf.constant([1.0 + 2j])
        theoretical, numeric = tf.test.compute_gradient(z, [1], tf.conj(z), [1])
    np.testing.assert_array_equal(theoretical, [[1, 0], [0, -1]])  # TensorFlow's
    np.testing.assert_allclose(numeric, theoretical, atol=1e-3)


def test_literal_texts_of_errors(case):
    def fail(text):
        raise ValueError(text)

    case.assertRaisesWithLiteralMatch(ValueError, "a.c", fail, "a.c")
    with case.assertRaisesWithLiteralMatch(ValueError, "a.c"):
        fail("a.c")
    with pytest.raises(AssertionError):
        case.assertRaisesWithLiteralMatch(ValueError, "a.c", fail, "abc")
    with pytest.raises(AssertionError):
        case.assertRaisesWithLiteralMatch(ValueError, "a.c", int)


def test_files_of_a_test(case):
    file = case.create_tempfile("deep/a.txt", "text")
    assert file.read_text() == "text"
    file.write_text("more", mode="a")
    assert Path(file).read_text() == "textmore"
    assert file.full_path.endswith(os.path.join("deep", "a.txt"))
    assert case.create_tempfile(content=b"\xff").read_bytes() == b"\xff"
    folder = case.create_tempdir()
    inner = folder.mkdir("inner").create_file("b", "x")
    assert os.path.dirname(inner.full_path) == os.path.join(folder.full_path, "inner")


def test_shapes_are_those_of_arrays_and_tensors(case):
    case.assertShapeEqual(np.zeros([2, 3]), tf.zeros([2, 3]))
    with pytest.raises(AssertionError):
        case.assertShapeEqual(np.zeros([2, 3]), tf.zeros([3, 2]))
    with pytest.raises(TypeError, match="np_array must be an array of NumPy, got list"):
        case.assertShapeEqual([1], tf.zeros([1]))
    with pytest.raises(TypeError, match="tf_tensor must be a tensor, got ndarray"):
        case.assertShapeEqual(np.zeros(1), np.zeros(1))


def test_blocks_are_left_at_the_end():
    left = []

    class Entering(tf.test.TestCase):
        def test_it(self):
            import contextlib

            stack = self.enter_context(contextlib.ExitStack())
            stack.callback(left.append, "left")
            assert left == []

    result = unittest.TestResult()
    Entering("test_it").run(result)
    assert result.wasSuccessful()
    assert left == ["left"]


def test_graphs_without_their_versions(case):
    with tf.Graph().as_default() as graph:
        tf.no_op(name="n")
        definition = graph.as_graph_def()
    case.assertProtoEqualsVersion("node { name: 'n' op: 'NoOp' }", definition)
    with pytest.raises(AssertionError):
        case.assertProtoEqualsVersion("node { name: 'm' op: 'NoOp' }", definition)


def test_public_functions_have_their_public_names():
    for name in ("abs", "range", "round", "slice", "complex", "tuple", "print"):
        assert getattr(tf, name).__name__ == name


def test_compute_gradient_of_a_transposed_array(case: Any) -> None:
    x = np.arange(6.0).reshape(2, 3).T
    t = tf.constant(x)
    with tf.Session():
        assert tf.test.compute_gradient_error(t, (3, 2), t**2, (3, 2), x) < 1e-6


def test_sessions_of_a_test_place_nodes_on_the_cpu() -> None:
    class Case(tf.test.TestCase):
        def runTest(self) -> None:
            for make in (self.session, self.cached_session):
                with make():
                    assert tf.constant(0).device == "/device:CPU:0"
                    with tf.device("/job:ps/task:1"):
                        assert tf.constant(0).device == "/job:ps/task:1/device:CPU:0"
                with make(use_gpu=True):
                    assert not tf.constant(0).device

    result = unittest.TestResult()
    with tf.Graph().as_default():
        Case().run(result)
    assert result.testsRun == 1 and result.wasSuccessful(), result.errors + result.failures


def test_sessions_of_a_test_place_softly() -> None:
    def value(session: Any) -> Any:
        with session as sess, tf.device("/gpu:7"):
            return sess.run(tf.constant(1.0) + 2.0)

    class Case(tf.test.TestCase):
        def runTest(self) -> None:
            assert value(self.session()) == 3
            assert value(self.session(use_gpu=True)) == 3
            assert value(self.cached_session()) == 3
            with pytest.raises(tf.errors.InvalidArgumentError):
                value(self.session(config=tf.ConfigProto()))
            with pytest.raises(tf.errors.InvalidArgumentError):
                value(self.session(force_gpu=True))
            with self.session(force_gpu=True):
                assert tf.constant(0).device == "/device:GPU:0"

    result = unittest.TestResult()
    with tf.Graph().as_default():
        Case().run(result)
    assert result.testsRun == 1 and result.wasSuccessful(), result.errors + result.failures


def test_an_unknown_shape_equals_none(case: Any) -> None:
    case.assertAllEqual(None, tf.TensorShape(None))
    case.assertAllEqual(tf.TensorShape([2, None]), [2, None])
    with pytest.raises(AssertionError):
        case.assertAllEqual([2], tf.TensorShape(None))


def test_gradients_of_rows_are_compared_as_a_whole() -> None:
    with tf.Graph().as_default(), tf.Session():
        tables = [tf.constant(np.ones((size, 2))) for size in (3, 2)]
        rows = tf.nn.embedding_lookup(tables, [0, 3, 3])
        error = tf.test.compute_gradient_error(tables, [[3, 2], [2, 2]], rows, [3, 2])
        assert error < 1e-6


def test_a_test_session_takes_another_config_each_time_and_a_cached_one_does_not():
    class Case(tf.test.TestCase):
        def runTest(self):
            with self.test_session(config=tf.ConfigProto()) as first:
                with self.test_session(config=tf.ConfigProto()) as second:
                    assert first is second
            with pytest.raises(ValueError, match="config used to get the cached session"):
                with self.cached_session(config=tf.ConfigProto()):
                    pass

    result = unittest.TestResult()
    Case().run(result)
    assert result.wasSuccessful(), result.errors + result.failures
