"""Kernels of optionals: values that may be missing."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.errors import InvalidArgumentError
from dataflow.kernels.array_types import Module
from dataflow.kernels.registry import kernel


class OptionalValue:
    """An optional at run time: a tuple of arrays, or None. Never changed once it is made."""

    shape = ()

    def __init__(self, components: tuple[Any, ...] | None) -> None:
        self.components = components

    def copy(self) -> OptionalValue:
        """The optional itself: nobody changes it."""
        return self

    def __add__(self, other: OptionalValue) -> OptionalValue:
        """The sums of the components: gradients of one optional are added so."""
        if self.components is None or other.components is None:
            if self.components is other.components:
                return self
            raise InvalidArgumentError(
                None, None, "Cannot add optionals because one has a value and the other doesn't."
            )
        pairs = zip(self.components, other.components, strict=True)
        return OptionalValue(tuple(a + b for a, b in pairs))


@kernel("OptionalNone", cpu_only="optionals live on the host")
def optional_none_kernel(xp: Module) -> OptionalValue:
    return OptionalValue(None)


@kernel("OptionalFromValue", cpu_only="optionals live on the host")
def optional_from_value_kernel(xp: Module, components: list[Any]) -> OptionalValue:
    return OptionalValue(tuple(components))


@kernel("OptionalHasValue", cpu_only="optionals live on the host")
def optional_has_value_kernel(xp: Module, optional: OptionalValue) -> Any:
    return np.bool_(optional.components is not None)


@kernel("OptionalGetValue", cpu_only="optionals live on the host")
def optional_get_value_kernel(xp: Module, optional: OptionalValue) -> tuple[Any, ...]:
    if optional.components is None:
        raise InvalidArgumentError(
            None,
            None,
            "The given optional does not have a value. "
            "Ask has_value() first, as in tf.cond(optional.has_value(), optional.get_value, ...).",
        )
    return optional.components
