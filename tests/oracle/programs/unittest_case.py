# issue 3: tf.test.TestCase and its helpers
class MathTest(tf.test.TestCase):
    def test_good(self):
        with self.test_session():
            self.assertAllEqual(tf.constant([1, 2]).eval(), [1, 2])
            self.assertAllClose(tf.constant([1.0]).eval(), [1.0 + 1e-8])
            self.assertAllCloseAccordingToType(np.array([1.0]), np.array([1.0]))
            self.assertNear(1.0, 1.0 + 1e-9, 1e-6)
            self.assertShapeEqual(np.zeros((2, 3)), tf.zeros([2, 3]))
            with self.assertRaises(ValueError):
                tf.matmul(tf.zeros([2]), tf.zeros([2]))
            with self.assertRaisesOpError("Reshape"):
                tf.reshape(tf.placeholder_with_default([1.0], None), [2]).eval()

    def test_bad(self):
        self.assertAllEqual([1, 2], [1, 3])

    def test_close_bad(self):
        self.assertAllClose([1.0], [1.1])


import unittest

outcome = unittest.TestResult()
suite = unittest.TestLoader().loadTestsFromTestCase(MathTest)
suite.run(outcome)
result["run"] = outcome.testsRun - len(outcome.skipped)
result["failed"] = sorted(case._testMethodName for case, _ in outcome.failures)
result["errors"] = [str(text) for _, text in outcome.errors]
x = tf.constant([1.0, 2.0])
with tf.Session():
    result["gradient_error"] = bool(tf.test.compute_gradient_error(x, [2], x * x, [2]) < 1e-3)
    theory, numeric = tf.test.compute_gradient(x, [2], x * x, [2])
    result["theory"] = theory
result["tmp"] = isinstance(tf.test.get_temp_dir(), str)
result["gpu"] = [
    tf.test.is_gpu_available() in (True, False),
    isinstance(tf.test.gpu_device_name(), str),
]


class PlacedTest(tf.test.TestCase):
    def test_soft(self):
        with self.session(), tf.device("/gpu:7"):
            result["soft"] = tf.constant(1.0).eval()

    def test_hard(self):
        with self.session(config=tf.ConfigProto()), tf.device("/gpu:7"):
            result["hard"] = error_of(tf.constant(1.0).eval)


unittest.TestLoader().loadTestsFromTestCase(PlacedTest).run(unittest.TestResult())
