"""`tf.Module`: a base class for objects that hold variables."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from dataflow.graph.default_stacks import default_graph
from dataflow.graph.name_scopes import NameScope
from dataflow.graph.nest import leaves_with_paths
from dataflow.layers.base import Layer, snake_case
from dataflow.ops.trackable import AutoTrackable
from dataflow.ops.variables import Variable


class Module(AutoTrackable):
    """Base class for objects that hold variables and other modules, and can list them."""

    def __init__(self, name: str | None = None) -> None:
        if name is None:
            name = snake_case(type(self).__name__)
        if not name.isidentifier():
            raise ValueError(
                f"{name!r} is not a valid module name: it must be a Python identifier."
            )
        self._name = name
        with default_graph().name_scope(name) as scope:
            self._scope = scope

    @property
    def name(self) -> str:
        """The name given to the constructor, or that of the class."""
        return self._name

    @property
    def name_scope(self) -> NameScope:
        """The block whose nodes are named after this module: ``with self.name_scope:``."""
        return default_graph().name_scope(self._scope)

    @classmethod
    def with_name_scope(cls, method: Any) -> Any:
        """A decorator: ``method`` of a module runs in the module's `name_scope`."""

        @functools.wraps(method)
        def scoped(self: Any, *args: Any, **kwargs: Any) -> Any:
            with self.name_scope:
                return method(self, *args, **kwargs)

        return scoped

    @property
    def variables(self) -> tuple[Any, ...]:
        """The variables of this module and of its submodules, without duplicates."""
        return tuple(self._flatten(predicate=lambda leaf: isinstance(leaf, Variable)))

    @property
    def trainable_variables(self) -> tuple[Any, ...]:
        """Those variables that optimizers change."""
        return tuple(v for v in self.variables if v.trainable)

    @property
    def submodules(self) -> tuple[Any, ...]:
        """All submodules, without duplicates."""
        return tuple(self._flatten(predicate=_is_module))

    #: Attributes that are not looked into; a class below may name more.
    _TF_MODULE_IGNORED_PROPERTIES = frozenset(
        ("_self_unconditional_checkpoint_dependencies", "_self_unconditional_dependency_names")
    )

    def _flatten(
        self,
        recursive: bool = True,
        predicate: Callable[[Any], bool] | None = None,
        attribute_traversal_key: Callable[[str], Any] | None = None,
        with_path: bool = False,
    ) -> Iterator[Any]:
        """What stands in attributes and is as the ``predicate`` says, each once; then within modules.

        Attributes are taken in the order of their names, or of the key; ``with_path`` gives pairs of the
        path, a tuple of names and places, and the value.
        """
        found = _leaves(self, (), {id(self)}, recursive, attribute_traversal_key)
        for path, leaf in found:
            if predicate is None or predicate(leaf):
                yield (path, leaf) if with_path else leaf


def _is_module(value: Any) -> bool:
    return isinstance(value, (Module, Layer))


def _leaves(
    module: Any,
    path: tuple[Any, ...],
    seen: set[int],
    recursive: bool,
    key: Callable[[str], Any] | None,
) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if isinstance(module, Module):
        ignored = module._TF_MODULE_IGNORED_PROPERTIES
        parts = {name: vars(module)[name] for name in vars(module) if name not in ignored}
    else:
        parts = {"weights": module.weights, "layers": getattr(module, "layers", [])}
    within: list[tuple[tuple[Any, ...], Any]] = []
    for name in sorted(parts, key=key):
        for place, leaf in leaves_with_paths(parts[name]):
            if id(leaf) in seen:
                continue
            seen.add(id(leaf))
            here = (*path, name, *place)
            yield here, leaf
            if recursive and _is_module(leaf):
                within.append((here, leaf))
    for here, leaf in within:
        yield from _leaves(leaf, here, seen, recursive, key)
