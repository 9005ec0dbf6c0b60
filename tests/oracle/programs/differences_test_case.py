# issue 16: tf.test.TestCase: one session for a test, its assertions, checked threads
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
