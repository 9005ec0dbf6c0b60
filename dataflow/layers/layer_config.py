"""What a layer was made with: `get_config`, and a layer from it."""

from __future__ import annotations

import inspect
from typing import Any

#: Arguments that attributes of the same name do not tell.
_GIVEN = ("axis", "axes", "layer", "cell", "cells", "function", "weights")
#: Functions that a layer goes without where they are not given, and the name of that.
_FUNCTIONS = ("activation", "recurrent_activation")


class Configurable:
    """An object that keeps the arguments it was made with, so that `get_config` need not repeat them."""

    #: Arguments of every layer, which are no part of `own_config`.
    shared_arguments: tuple[str, ...] = ("name", "trainable", "dtype")
    _arguments: tuple[tuple[Any, ...], dict[str, Any]]

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        self = super().__new__(cls)
        object.__setattr__(self, "_arguments", (args, kwargs))
        return self

    def own_config(self) -> dict[str, Any]:
        """The arguments of this class, defaults included, as JSON can hold them."""
        from dataflow.layers.serialization import serialize

        args, kwargs = self._arguments
        signature = inspect.signature(type(self).__init__)
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        own = {}
        for index, (key, value) in enumerate(bound.arguments.items()):
            kind = signature.parameters[key].kind
            if index == 0 or key in self.shared_arguments:
                continue
            if kind is inspect.Parameter.VAR_KEYWORD:
                rest = {k: v for k, v in value.items() if k not in self.shared_arguments}
                own.update({k: self._as_it_is(k, v) for k, v in sorted(rest.items())})
            elif kind is not inspect.Parameter.VAR_POSITIONAL:
                own[key] = self._as_it_is(key, value)
        return {key: serialize(value) for key, value in own.items()}

    def _as_it_is(self, key: str, given: Any) -> Any:
        """The argument ``key`` as the object has it now: sizes for each axis, functions for names.

        Programs change what a layer does (``layer.rate = 0.3``) and make a model from its config.
        """
        if key in _GIVEN or given == "causal" or not self._is_described_by_attributes():
            return given
        value = vars(self).get(key, given)
        return "linear" if value is None and key in _FUNCTIONS else value

    def _is_described_by_attributes(self) -> bool:
        """Whether attributes with the names of arguments mean what these do."""
        return False

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """An object like the one whose `get_config` gave ``config``."""
        return cls(**config)
