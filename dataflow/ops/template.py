"""`tf.make_template`: a function whose variables are made once and shared by every call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow.ops.variable_scope import variable_scope


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
        if create_scope_now:
            with self._first_scope() as self._scope:
                pass

    def _first_scope(self) -> Any:
        default = None if self._unique_name else self._name
        return variable_scope(self._unique_name, default, custom_getter=self._custom_getter)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function's result; raises `ValueError` when a later call makes new variables."""
        if self._scope is None:
            scope = self._first_scope()
        else:
            scope = variable_scope(self._scope, reuse=self._called or None)
        with scope as entered:
            if self._scope is None:
                self._scope = entered
            try:
                result = self._function(*args, **kwargs)
            except ValueError as error:
                if not self._called:
                    raise
                raise ValueError(
                    f"{error}\nThe template {self._name!r} made its variables when it was first "
                    "called; a later call must not need others."
                ) from error
        self._called = True
        return result

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
        return [] if self._scope is None else self._scope.global_variables()

    @property
    def trainable_variables(self) -> list[Any]:
        """Its trainable variables."""
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
    `ValueError` for a name that is None.
    """
    if name_ is None:
        raise ValueError("name cannot be None.")
    if kwargs:
        function = func_

        def func_(*args: Any, **more: Any) -> Any:
            return function(*args, **{**kwargs, **more})

    return Template(name_, func_, create_scope_now_, unique_name_, custom_getter_)
