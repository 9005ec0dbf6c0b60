"""``tensorflow.python.util``: wrappers that say what they wrap, and `inspect`, which looks into them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator
from typing import Any

import pytest

from dataflow import logging
from dataflow.python.util import decorators, tf_decorator, tf_inspect


def add(x: Any, y: Any = 2, *rest: Any, scale: int = 1) -> Any:
    """Adds."""
    return (x + y + sum(rest)) * scale


add.flag = "kept"  # type: ignore[attr-defined]


def doubled(function: Any, argspec: Any = None) -> Any:
    def twice(*args: Any, **kwargs: Any) -> Any:
        return 2 * twice.__wrapped__(*args, **kwargs)  # type: ignore[attr-defined]

    return tf_decorator.make_decorator(function, twice, decorator_argspec=argspec)


def test_a_wrapper_looks_like_what_it_wraps() -> None:
    outer = doubled(doubled(add))
    assert outer(1) == 12
    assert (outer.__name__, outer.__doc__, outer.__module__) == ("add", "Adds.", __name__)
    assert outer.flag == "kept"
    wrappers, inside = tf_decorator.unwrap(outer)
    assert [w.decorator_name for w in wrappers] == ["doubled", "doubled"]
    assert inside is add and wrappers[1].decorated_target is add
    assert tf_decorator.unwrap(add) == ([], add)
    told = tf_decorator.make_decorator(add, lambda: None, "name", "Another text.")
    assert (
        told.__doc__ == "Another text." and tf_decorator.unwrap(told)[0][0].decorator_name == "name"
    )


def test_a_wrapper_that_is_an_object() -> None:
    class Counter:
        total = 3

        def read(self) -> int:
            return self.total

        wrapped = tf_decorator.TFDecorator("counting", read)

    assert Counter().wrapped() == 3
    assert tf_decorator.TFDecorator("adding", add)(1, 1) == 2
    assert tf_decorator.TFDecorator("adding", add).__doc__ == "Adds."


def test_what_is_wrapped_can_be_replaced() -> None:
    outer = doubled(doubled(add))
    assert tf_decorator.rewrap(outer, add, lambda x: 10 * x) is outer
    assert outer(1) == 40
    assert tf_decorator.rewrap(add, add, max) is max
    with pytest.raises(ValueError, match="is not what"):
        tf_decorator.rewrap(outer, add, max)


def test_argument_lists_of_wrappers() -> None:
    assert tf_inspect.getfullargspec(doubled(add)) == inspect.getfullargspec(add)
    assert tf_inspect.getargspec(doubled(add)) == (["x", "y"], "rest", None, (2,))
    other = tf_inspect.ArgSpec(["a", "b"], None, None, (7,))
    changed = doubled(doubled(add, argspec=other))
    assert tf_inspect.getargspec(changed) == other
    assert tf_inspect.getcallargs(changed, 1) == {"a": 1, "b": 7}
    assert tf_inspect.getcallargs(add, 1, scale=3) == {"x": 1, "y": 2, "scale": 3}

    class Model:
        @doubled
        def call(self, inputs: Any) -> Any:
            return inputs

    model = Model()
    assert model.call(2) == 4
    assert tf_inspect.getcallargs(model.call, 5) == {"self": model, "inputs": 5}
    assert tf_inspect.getsource(doubled(add)) == inspect.getsource(add)
    assert tf_inspect.getfile(doubled(add)) == __file__
    assert tf_inspect.isclass(doubled(Model)) and not tf_inspect.isfunction(doubled(Model))


def test_argument_lists_of_partial_functions() -> None:
    partial = functools.partial
    assert tf_inspect.getargspec(partial(add, 1)) == (["y"], "rest", None, (2,))
    assert tf_inspect.getargspec(partial(add, x=1)) == (["x", "y"], "rest", None, (1, 2))

    def product(m: Any, n: Any) -> Any:
        return m * n

    assert tf_inspect.getargspec(partial(product)) == (["m", "n"], None, None, None)
    assert tf_inspect.getargspec(partial(product, n=1)) == (["m", "n"], None, None, (1,))
    with pytest.raises(ValueError, match="'n'.* do not have default value"):
        tf_inspect.getargspec(partial(product, m=1))
    with pytest.raises(ValueError, match=r"\*\*kwargs.*'z'"):
        tf_inspect.getargspec(partial(product, z=1))


def test_a_context_manager_keeps_its_arguments() -> None:
    @decorators.contextmanager
    def opened(name: str, mode: str = "r") -> Iterator[str]:
        yield name + mode

    with opened("a") as value:
        assert value == "ar"
    assert tf_inspect.getargspec(opened).args == ["name", "mode"]


def test_what_a_deprecation_must_say(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(logging, "warning", lambda form, text: said.append(text))
    for decorate in (
        decorators.deprecated,
        functools.partial(decorators.deprecated_arg_values, y=2),
        lambda date, text: decorators.deprecated_args(date, text, "y"),
    ):
        with pytest.raises(ValueError, match="YYYY-MM-DD"):
            decorate("soon", "Use sum.")
        with pytest.raises(ValueError, match="without conversion instructions"):
            decorate("2016-07-04", "")
        with pytest.raises(ValueError, match="property"):
            decorate("2016-07-04", "Use sum.")(property(add))
        assert decorate("2016-07-04", "Use sum.")(add)(1, 2) == 3
    assert len(said) == 3 and all("Use sum." in text for text in said)
    with pytest.raises(ValueError, match="Specify which argument"):
        decorators.deprecated_args(None, "Use sum.")
    with pytest.raises(ValueError, match="not present in the function signature: \\['z'\\]"):
        decorators.deprecated_args(None, "Use sum.", "z")(add)
    with pytest.raises(ValueError, match="Illegal argument"):
        decorators.deprecated_args(None, "Use sum.", "y", once=True)
    empty_is_fine = decorators.deprecated_args(None, "Use sum.", ("y", []))(add)
    with pytest.raises(TypeError):
        empty_is_fine(1, [])
    assert len(said) == 3
    doc = decorators.rewrite_argument_docstring("dim: `dim` is the axis.", "dim", "axis")
    assert doc == "axis: `axis` is the axis."


def test_what_a_decorator_is_put_on() -> None:
    from dataflow.python.util import decorator_utils

    assert (
        decorator_utils.get_qualified_name(tf_decorator.TFDecorator.__call__)
        == "TFDecorator.__call__"
    )
    for fine in (add, functools.partial(add, 1), int):
        decorator_utils.validate_callable(fine, "test")
    with pytest.raises(ValueError, match="make sure @property appears before @test"):
        decorator_utils.validate_callable(property(add), "test")
