"""``tensorflow.python.framework.combinations``: a test for each combination of arguments."""

from __future__ import annotations

import unittest

import pytest

import dataflow as tf
from dataflow.python.data.kernel_tests import test_base
from dataflow.python.framework import combinations

parameterized = pytest.importorskip("absl.testing.parameterized")


def outcome(case):
    """(how many ran, how many were skipped, the errors) of a class of tests."""
    result = unittest.TestResult()
    names = unittest.defaultTestLoader.getTestCaseNames(case)
    # TensorFlow's `test_session` is no test.
    unittest.TestSuite(case(name) for name in names if name != "test_session").run(result)
    failed = [text.splitlines()[-1] for _, text in result.errors + result.failures]
    return result.testsRun, len(result.skipped), failed


def test_products_of_arguments() -> None:
    assert combinations.combine(b=[1, 2], a="x") == [{"a": "x", "b": 1}, {"a": "x", "b": 2}]
    both = combinations.times(combinations.combine(a=[1, 2]), combinations.combine(b=[3, 4]))
    assert both == [{"a": a, "b": b} for a in (1, 2) for b in (3, 4)]
    with pytest.raises(ValueError, match="not overlap"):
        combinations.times(combinations.combine(a=1), combinations.combine(a=2))
    named = combinations.NamedObject("square", lambda x: x * x)
    assert (repr(named), named(3)) == ("square", 9)


def test_a_method_runs_in_both_modes_and_in_the_version_that_runs() -> None:
    seen = []

    class Case(test_base.DatasetTestBase, parameterized.TestCase):
        @combinations.generate(
            combinations.times(
                test_base.default_test_combinations(), combinations.combine(count=[2, 3])
            )
        )
        def testRange(self, count):
            seen.append((tf.executing_eagerly(), count))
            self.assertDatasetProduces(tf.data.Dataset.range(count), list(range(count)))

    assert outcome(Case) == (8, 4, [])
    assert sorted(seen) == [(False, 2), (False, 3), (True, 2), (True, 3)]


def test_all_methods_of_a_class() -> None:
    seen = []

    @combinations.generate(combinations.combine(mode=["graph", "eager"]))
    class Case(test_base.DatasetTestBase, parameterized.TestCase):
        def testMode(self, mode):
            seen.append(mode)

        def help(self):
            return 1

    assert outcome(Case) == (2, 0, [])
    assert sorted(seen) == ["eager", "graph"]
    assert Case("testMode_test_mode_graph").help() == 1


def test_arguments_have_to_be_the_methods() -> None:
    class Case(test_base.DatasetTestBase, parameterized.TestCase):
        @combinations.generate(combinations.combine(a=1))
        def testTooFew(self, a, b):
            raise AssertionError

        @combinations.generate(combinations.combine(a=1))
        def testTooMany(self):
            raise AssertionError

        @combinations.generate(combinations.combine(mode="fast"))
        def testMode(self):
            raise AssertionError

    count, _, failed = outcome(Case)
    assert count == 3
    assert any("needs ['b']" in text for text in failed)
    assert any("has ['a']" in text for text in failed)
    assert any("'eager' or 'graph' and not fast" in text for text in failed)
