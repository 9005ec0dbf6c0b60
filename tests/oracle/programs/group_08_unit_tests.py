# issue 16: tf.test.TestCase: one session for a test, its assertions, checked threads
"""Group 8: tf.test.TestCase."""

import unittest


class Case(tf.test.TestCase):
    def test_evaluate(self):
        v = tf.Variable(1.0)
        self.evaluate(v.initializer)
        assert self.evaluate(v) == 1.0
        with self.test_session() as first, self.test_session() as second:
            assert first is second
            assert v.eval() == 1.0
        with self.cached_session():
            assert v.eval() == 1.0

    def test_new_session(self):
        v = tf.Variable(1.0)
        self.evaluate(v.initializer)
        with self.session(), self.assertRaises(tf.errors.FailedPreconditionError):
            v.eval()

    def test_thread(self):
        thread = self.checkedThread(lambda: 1 / 0)
        thread.start()
        thread.join()


calls = {
    "equal_shape": lambda case: case.assertAllEqual(tf.zeros([2, 3]).shape, [2, 3]),
    "close_array": lambda case: case.assertAllClose(
        [1.0, 2.0], [1.0, 2.5], atol=np.array([0.1, 1])
    ),
    "not_close": lambda case: case.assertNotAllClose([1.0], [1.1]),
    "not_close_bad": lambda case: case.assertNotAllClose([1.0], [1.0]),
    "greater": lambda case: case.assertAllGreater([2, 3], 1),
    "greater_bad": lambda case: case.assertAllGreater([1, 3], 1),
    "greater_equal": lambda case: case.assertAllGreaterEqual([1, 3], 1),
    "less_bad": lambda case: case.assertAllLess([2, 4], 4),
    "less_equal": lambda case: case.assertAllLessEqual([2, 4], 4),
    "range": lambda case: case.assertAllInRange([1, 2], 1, 2),
    "range_open": lambda case: case.assertAllInRange([1, 2], 1, 2, open_lower_bound=True),
    "range_nan": lambda case: case.assertAllInRange([np.nan], 0, 1),
    "range_text": lambda case: case.assertAllInRange(["a"], 0, 1),
    "set": lambda case: case.assertAllInSet([1, 1, 2], {1, 2}),
    "set_bad": lambda case: case.assertAllInSet([1, 3], {1, 2}),
    "dtype": lambda case: case.assertDTypeEqual(np.float32(1), np.float32),
    "dtype_bad": lambda case: case.assertDTypeEqual([1.0], np.float32),
    "items": lambda case: case.assertItemsEqual([1, 2, 2], [2, 1, 2]),
    "same": lambda case: case.assertSameElements([1, 2, 2], [1, 2]),
    "length": lambda case: case.assertLen([1, 2], 2),
    "empty_bad": lambda case: case.assertEmpty([1]),
    "not_empty_bad": lambda case: case.assertNotEmpty([]),
    "between": lambda case: case.assertBetween(1, 1, 2),
    "ends_bad": lambda case: case.assertEndsWith("dataflow", "data"),
}
probe = Case("test_thread")
with tf.Session():
    for name, call in calls.items():
        result[name] = error_of(lambda call=call: call(probe))
outcome = unittest.TestResult()
unittest.TestLoader().loadTestsFromTestCase(Case).run(outcome)
result["failed"] = sorted(case._testMethodName for case, _ in outcome.failures)
result["errors"] = [case._testMethodName for case, _ in outcome.errors]


class Other(tf.test.TestCase):
    """A program's own test: setUp without the parent's, files, shared sessions."""

    def setUp(self):
        self.number = 3

    def test_set_up(self):
        with self.cached_session():
            self.assertEqual(tf.constant(self.number).eval(), 3)

    def test_folder(self):
        folder = self.get_temp_dir()
        with tf.gfile.Open(f"{folder}/a", "w") as file:
            file.write("text")
        self.assertTrue(tf.gfile.Exists(f"{folder}/a"))
        self.assertEqual(folder, self.get_temp_dir())

    def test_protos(self):
        first = tf.train.Feature(int64_list=tf.train.Int64List(value=[1]))
        self.assertProtoEquals("int64_list { value: 1 }", first)
        self.assertAllEqual([[1, 2]], tf.constant([[1, 2]]))
        self.assertAllClose({"a": [1.0], "b": (2.0, 3.0)}, {"a": [1.0], "b": (2.0, 3.0)})
        self.assertAllCloseAccordingToType(np.float16([1.0]), np.float16([1.0005]))
        self.assertShapeEqual(np.zeros([2, 3]), tf.zeros([2, 3]))
        self.assertNear(1.0, 1.05, 0.1)
        self.assertArrayNear([1.0], [1.05], 0.1)
        self.assertStartsWith("dataflow", "data")
        self.assertAllEqual(self.evaluate({"x": tf.constant([1])})["x"], [1])

    def test_failing_shape(self):
        self.assertShapeEqual(np.zeros([2, 2]), tf.zeros([2, 3]))

    def test_failing_type(self):
        self.assertAllClose({"a": 1.0}, [1.0])

    def test_error_text(self):
        with self.assertRaisesOpError("Nan|NaN|nan"), self.session() as sess:
            sess.run(tf.check_numerics(np.float32("nan"), "Nan here"))

    def test_graphs(self):
        graph = tf.Graph()
        with self.session(graph=graph) as sess, graph.as_default():
            self.assertIs(sess.graph, graph)
            self.assertEqual(tf.constant(2).eval(), 2)

    def test_random(self):
        first = self.evaluate(tf.random_normal([3], seed=1))
        self.assertEqual(first.shape, (3,))
        self.assertNotAllEqual(first, first + 1)

    def test_written(self):
        import sys

        with self.captureWritesToStream(sys.stderr) as written:
            sys.stderr.write("to the stream\n")
            sys.stderr.flush()
        self.assertIn("to the stream", written.contents())

    @unittest.skip("asked for")
    def test_skipped(self):
        raise AssertionError


outcome = unittest.TestResult()
unittest.TestLoader().loadTestsFromTestCase(Other).run(outcome)
result["other failed"] = sorted(case._testMethodName for case, _ in outcome.failures)
result["other errors"] = sorted(case._testMethodName for case, _ in outcome.errors)
result["other skipped"] = [
    case._testMethodName for case, _ in outcome.skipped if case._testMethodName != "test_session"
]
result["names"] = sorted(
    name
    for name in ("Benchmark", "StubOutForTesting", "create_local_cluster", "benchmark_config")
    + (
        "gpu_device_name",
        "is_built_with_cuda",
        "is_gpu_available",
        "compute_gradient_error",
        "mock",
    )
    if hasattr(tf.test, name)
)
result["config"] = type(tf.test.benchmark_config()).__name__


class Timed(tf.test.Benchmark):
    def benchmarkSum(self):
        with tf.Session() as sess:
            report = self.run_op_benchmark(
                sess, tf.reduce_sum(tf.ones([3])), min_iters=2, burn_iters=1
            )
            result["reported"] = sorted(k for k in report if k in ("iters", "name", "wall_time"))
            result["iterations"] = int(report["iters"])


Timed().benchmarkSum()


class Stubbed:
    value = staticmethod(lambda: 1)


stubs = tf.test.StubOutForTesting()
stubs.Set(Stubbed, "value", lambda: 2)
result["stubbed"] = Stubbed.value()
stubs.CleanUp()
result["not stubbed"] = Stubbed.value()
x = tf.constant([1.0, 2.0])
with tf.Session():
    result["gradient_error"] = float(tf.test.compute_gradient_error(x, [2], x * x, [2])) < 1e-2
    result["jacobian"] = [
        np.round(j, 2) for j in tf.test.compute_gradient(x, [2], tf.reduce_sum(x * x), [])
    ]
    both = tf.test.compute_gradient([x, x], [[2], [2]], x * 3.0, [2])
    result["jacobians"] = [np.round(pair[0], 2) for pair in both]
