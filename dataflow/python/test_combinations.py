"""``tensorflow.python.framework.combinations``: a test method that runs once for each combination of arguments.

The tests of a class with `generate` need absl's ``parameterized.TestCase`` among its bases, as in TensorFlow.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import itertools
from collections.abc import Callable, Sequence
from typing import Any

from dataflow.graph.graph import Graph
from dataflow.python.eager import context
from dataflow.python.test_modes import new_eager_mode
from dataflow.python.tf2 import enabled

__all__ = [
    "EagerGraphCombination",
    "NamedObject",
    "OptionalParameter",
    "ParameterModifier",
    "TFVersionCombination",
    "TestCombination",
    "combine",
    "generate",
    "times",
]


class NamedObject:
    """An object with the name that it has in a test's name."""

    def __init__(self, name: str, obj: Any) -> None:
        self._name, self._obj = name, obj

    def __getattr__(self, name: str) -> Any:
        return getattr(self._obj, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._obj(*args, **kwargs)

    def __repr__(self) -> str:
        return self._name


class ParameterModifier:
    """Changes a test's arguments; of one kind and parameter there is one."""

    #: What `modified_arguments` returns for an argument that is not passed on.
    DO_NOT_PASS_TO_THE_TEST = object()

    def __init__(self, parameter_name: str | None = None) -> None:
        self._parameter_name = parameter_name

    def modified_arguments(
        self, kwargs: dict[str, Any], requested_parameters: Sequence[str]
    ) -> dict[str, Any]:
        """The arguments that change, by name."""
        raise NotImplementedError(f"{type(self).__name__} has to define modified_arguments().")


class OptionalParameter(ParameterModifier):
    """An argument that a test method may leave out."""

    def modified_arguments(
        self, kwargs: dict[str, Any], requested_parameters: Sequence[str]
    ) -> dict[str, Any]:
        """Takes the argument away where the test has no parameter of its name."""
        name = self._parameter_name
        assert name is not None
        return {} if name in requested_parameters else {name: self.DO_NOT_PASS_TO_THE_TEST}


class TestCombination:
    """What some of a test's arguments mean, beside being its arguments."""

    __test__ = False  # pytest: no test

    def should_execute_combination(self, kwargs: dict[str, Any]) -> tuple[bool, str | None]:
        """(True, None), or (False, why the test is skipped)."""
        return True, None

    def parameter_modifiers(self) -> list[ParameterModifier]:
        """How arguments change."""
        return []

    def context_managers(self, kwargs: dict[str, Any]) -> list[Any]:
        """The blocks within which the test runs, the outermost first."""
        return []


class EagerGraphCombination(TestCombination):
    """``mode``: "graph", which is the default, or "eager"."""

    def context_managers(self, kwargs: dict[str, Any]) -> list[Any]:
        """A graph of the test's own, or eager mode; `ValueError` for another mode."""
        mode = kwargs.pop("mode", "graph")
        if mode == "eager":
            return [new_eager_mode()]
        if mode == "graph":
            return [Graph().as_default(), context.graph_mode()]
        raise ValueError(f"'mode' has to be either 'eager' or 'graph' and not {mode}")

    def parameter_modifiers(self) -> list[ParameterModifier]:
        """A test need not have the parameter."""
        return [OptionalParameter("mode")]


class TFVersionCombination(TestCombination):
    """``tf_api_version``: 1 or 2; a test of the other version is skipped."""

    def should_execute_combination(self, kwargs: dict[str, Any]) -> tuple[bool, str | None]:
        """Whether it is the version that runs."""
        wanted = kwargs.pop("tf_api_version", None)
        if wanted == 1 and enabled():
            return False, "Skipping a TF1.x test when TF2 is enabled."
        if wanted == 2 and not enabled():
            return False, "Skipping a TF2 test when TF2 is not enabled."
        return True, None

    def parameter_modifiers(self) -> list[ParameterModifier]:
        """A test need not have the parameter."""
        return [OptionalParameter("tf_api_version")]


def combine(**kwargs: Any) -> list[dict[str, Any]]:
    """Every combination of the values: of each argument a list, or one value."""
    choices = [
        [(name, value) for value in (values if isinstance(values, list) else [values])]
        for name, values in sorted(kwargs.items())
    ]
    return [dict(pairs) for pairs in itertools.product(*choices)]


def times(*combined: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each combination of the first list with each of the others; `ValueError` where they share an argument."""
    found: list[dict[str, Any]] = [{}]
    for more in combined:
        for one, other in itertools.product(found[:1], more[:1]):
            if both := sorted(set(one) & set(other)):
                raise ValueError(
                    f"Keys need to not overlap: {both} are in two of the combinations."
                )
        found = [{**one, **other} for one in found for other in more]
    return found


def _augmented(method: Callable[..., Any], kinds: Sequence[TestCombination]) -> Callable[..., Any]:
    """The method, which takes its arguments by name, and what they mean happens around it."""
    parameters = list(inspect.signature(method).parameters)[1:]

    def run(self: Any, **kwargs: Any) -> Any:
        for kind in kinds:
            is_due, why = kind.should_execute_combination(dict(kwargs))
            if not is_due:
                self.skipTest(why)
        passed = dict(kwargs)
        for kind in kinds:
            for modifier in kind.parameter_modifiers():
                passed.update(modifier.modified_arguments(dict(kwargs), parameters))
        passed = {
            name: value
            for name, value in passed.items()
            if value is not ParameterModifier.DO_NOT_PASS_TO_THE_TEST
        }
        if missing := sorted(set(parameters) - set(passed)):
            raise ValueError(
                f"The test needs {missing}, which are not in the combination {kwargs}."
            )
        if extra := sorted(set(passed) - set(parameters)):
            raise ValueError(f"The combination has {extra}, which the test does not take.")
        with contextlib.ExitStack() as blocks:
            for kind in kinds:
                for block in kind.context_managers(dict(kwargs)):
                    blocks.enter_context(block)
            return method(self, **passed)

    return run


def _named(combination: dict[str, Any]) -> dict[str, Any]:
    """The combination, and under ``testcase_name`` what its test is called after."""
    words = "".join(
        f"_{name}_{''.join(c for c in str(value) if c.isalnum())}"
        for name, value in combination.items()
    )
    return {"testcase_name": f"_test{words}", **combination}


def generate(
    combinations: list[dict[str, Any]],
    test_combinations: Sequence[TestCombination] = (
        EagerGraphCombination(),
        TFVersionCombination(),
    ),
) -> Callable[[Any], Any]:
    """A decorator of a test method, or of all of a class: a test for each combination of arguments.

    Arguments that ``test_combinations`` know (``mode``, ``tf_api_version``) need no parameter.
    """
    from absl.testing import parameterized

    def decorate(tested: Any) -> Any:
        if isinstance(tested, type):
            members = {
                name: decorate(member) if name.startswith("test") and callable(member) else member
                for name, member in vars(tested).items()
                if name not in ("__dict__", "__weakref__")
            }
            return type(tested)(tested.__name__, tested.__bases__, members)
        run = functools.wraps(tested)(_augmented(tested, test_combinations))
        del run.__wrapped__
        return parameterized.named_parameters(*map(_named, combinations))(run)  # type: ignore[no-untyped-call]

    return decorate
