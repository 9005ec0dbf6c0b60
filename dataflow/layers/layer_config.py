"""What a layer was made with: `get_config`, and a layer from it."""

from __future__ import annotations

import inspect
from typing import Any


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
                own.update({k: serialize(v) for k, v in rest.items()})
            elif kind is not inspect.Parameter.VAR_POSITIONAL:
                own[key] = serialize(value)
        return own

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """An object like the one whose `get_config` gave ``config``."""
        return cls(**config)
