"""`tf.make_template`: a function whose variables are made once and shared by every call."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from dataflow.graph.collections import GraphKeys
from dataflow.graph.default_stacks import default_graph
from dataflow.ops.variable_scope import variable_scope
from dataflow.ops.variable_store import EagerVariableStore


class Template:
    """What `make_template` returns; call it as the function."""

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        create_scope_now: bool,
        unique_name: str | None,
        custom_getter: Any,
    ) -> None:
        self._name = name
        self._function = function
        self._unique_name = unique_name
        self._custom_getter = custom_getter
        self._scope: Any = None
        self._called = False
        #: With eager execution, what holds the variables: their scope alone keeps none.
        self._store: EagerVariableStore | None = None
        if create_scope_now:
            # The names of nodes begin with the first call: until then others may take this one.
            with self._first_scope(auxiliary_name_scope=False) as self._scope:
                pass

    def _first_scope(self, **kwargs: Any) -> Any:
        default = None if self._unique_name else self._name
        getter = self._custom_getter
        return variable_scope(self._unique_name, default, custom_getter=getter, **kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function's result; raises `ValueError` when a later call makes new variables to be trained."""
        if self._scope is None:
            scope = self._first_scope()
        else:
            scope = variable_scope(self._scope, reuse=self._called or None)
        with scope as entered:
            if self._scope is None:
                self._scope = entered
            with self._variables_kept():
                num_trained = self._num_trained()
                result = self._run(args, kwargs)
                if self._called and self._num_trained() > num_trained:
                    raise ValueError(
                        "Trainable variable created when calling a template after the first time, perhaps "
                        "you used tf.Variable when you meant tf.get_variable. "
                        f"The template {self._name!r} made its variables when it was first called."
                    )
        self._called = True
        return result

    def _run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        try:
            return self._function(*args, **kwargs)
        except ValueError as error:
            if not self._called:
                raise
            raise ValueError(
                f"{error}\nThe template {self._name!r} made its variables when it was first "
                "called; a later call must not need others."
            ) from error

    @contextlib.contextmanager
    def _variables_kept(self) -> Iterator[None]:
        """The block of a call: with eager execution variables are found again that an earlier one made."""
        graph = default_graph()
        if not (graph.executes_eagerly or graph.traces_function):
            yield
            return
        if self._store is None:
            self._store = EagerVariableStore.in_force() or EagerVariableStore()
        with self._store.as_default(counts_anew=True):
            yield

    def _num_trained(self) -> int:
        """How many variables that are trained there are in the graph, or are kept in eager code."""
        if self._store is not None:
            return len(self._store.trainable_variables())
        return len(default_graph().get_collection(GraphKeys.TRAINABLE_VARIABLES))

    def _own(self, variables: list[Any]) -> list[Any]:
        """Those of the template's scope among the variables that are kept in eager code."""
        return [v for v in variables if v.name.startswith(self.variable_scope_name or "")]

    @property
    def name(self) -> str:
        """The name that was given."""
        return self._name

    @property
    def func(self) -> Callable[..., Any]:
        """The function that it calls."""
        return self._function

    @property
    def variable_scope(self) -> Any:
        """The scope of its variables, ``None`` before the first call."""
        return self._scope

    var_scope = variable_scope

    def checkpoint_parts(self) -> list[tuple[str, Any]]:
        """(name within the template's scope, variable), for checkpoints of objects."""
        scope = self.variable_scope.name + "/"
        return [(v.op.name.removeprefix(scope), v) for v in self.variables]

    @property
    def variables(self) -> list[Any]:
        """Its variables."""
        if self._store is not None:
            return self._own(self._store.variables())
        return [] if self._scope is None else self._scope.global_variables()

    @property
    def trainable_variables(self) -> list[Any]:
        """Its trainable variables."""
        if self._store is not None:
            return self._own(self._store.trainable_variables())
        return [] if self._scope is None else self._scope.trainable_variables()

    @property
    def non_trainable_variables(self) -> list[Any]:
        """Its variables that are not trainable."""
        trainable = {id(v) for v in self.trainable_variables}
        return [v for v in self.variables if id(v) not in trainable]

    @property
    def global_variables(self) -> list[Any]:
        """Its global variables."""
        return self.variables

    @property
    def local_variables(self) -> list[Any]:
        """Its local variables."""
        return [] if self._scope is None else self._scope.local_variables()

    @property
    def variable_scope_name(self) -> str | None:
        """The name of the scope of its variables, with a slash at its end."""
        if self._scope is None:
            return None
        name = self._scope.name
        return f"{name}/" if name and not name.endswith("/") else name

    # The names that layers give to the same.
    weights = variables
    trainable_weights = trainable_variables
    non_trainable_weights = non_trainable_variables


def make_template(
    name_: str,
    func_: Callable[..., Any],
    create_scope_now_: bool = False,
    unique_name_: str | None = None,
    custom_getter_: Any = None,
    **kwargs: Any,
) -> Callable[..., Any]:
    """``func_`` with the arguments ``kwargs``, its variables under ``name_`` and shared by all calls.

    ``unique_name_`` is used as it stands; ``name_`` gets a number where it is taken. Raises
    `ValueError` for a name that is None, and for a ``unique_name_`` with eager execution.
    """
    if name_ is None:
        raise ValueError("name cannot be None.")
    if unique_name_ is not None and default_graph().executes_eagerly:
        raise ValueError("unique_name_ cannot be used when eager execution is enabled.")
    if kwargs:
        function = func_

        def func_(*args: Any, **more: Any) -> Any:
            return function(*args, **{**kwargs, **more})

    return Template(name_, func_, create_scope_now_, unique_name_, custom_getter_)
