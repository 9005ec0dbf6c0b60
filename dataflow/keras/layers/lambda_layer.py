"""A function as a layer."""

from __future__ import annotations

import inspect
from collections.abc import Set
from typing import Any

import numpy as np

from dataflow.keras import function_code
from dataflow.keras.base_layer import Layer
from dataflow.layers.serialization import serialize
from dataflow.ops.variables import variable_creator_scope
from dataflow.shapes import TensorShape


def _parameters(function: Any) -> set[str]:
    try:
        return set(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # written in C
        return set()


class Lambda(Layer):
    """A function of tensors as a layer.

    It may have arguments ``mask`` and ``training``, and make variables, which all calls share.
    ``output_shape`` is for `compute_output_shape` only: a shape without the batch, or a function of
    the input's. ``mask`` is the mask of the output, or a function of the inputs and their mask.

    A file of a model has a named function by its name, which `load_model` wants in
    ``custom_objects``, and a lambda as code (`dataflow.keras.function_code`).
    """

    def __init__(
        self,
        function: Any,
        output_shape: Any = None,
        mask: Any = None,
        arguments: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.function = function
        self.arguments = dict(arguments or {})
        self.mask = mask
        self.supports_masking = mask is not None
        self._output_shape = output_shape
        self._made: dict[str, Any] = {}
        for one in (function, output_shape, mask):
            if callable(one):
                function_code.remember(one)

    def _call_arguments(self) -> Set[str]:
        return _parameters(self.function) & {"mask", "training"}

    def call(self, inputs: Any, mask: Any = None, training: Any = None) -> Any:
        given = {"mask": mask, "training": training}
        extra = {key: given[key] for key in self._call_arguments()}
        with variable_creator_scope(self._variable):
            return self.function(inputs, **{**self.arguments, **extra})

    def _variable(self, create: Any, **kwargs: Any) -> Any:
        name = str(kwargs.get("name"))
        if name in self._made:
            return self._made[name]
        variable = create(**kwargs)
        self._made[name] = variable
        target = self._trainable_weights if variable.trainable else self._non_trainable_weights
        target.append(variable)
        return variable

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return self.mask(inputs, mask) if callable(self.mask) else self.mask

    def compute_output_shape(self, input_shape: Any) -> Any:
        """``output_shape`` with the batch of the input; without it, what the function makes."""
        wanted = self._output_shape
        if wanted is None:
            return super().compute_output_shape(input_shape)
        if callable(wanted):
            made = wanted(_as_tuples(input_shape))
            if isinstance(made, list):
                return (
                    [TensorShape(one) for one in made] if _holds_shapes(made) else TensorShape(made)
                )
            return TensorShape(made)
        first = input_shape[0] if isinstance(input_shape, list) else input_shape
        batch = first if isinstance(first, int) or first is None else TensorShape(first)[0]
        if _holds_shapes(wanted):  # one for each output
            return [TensorShape([batch, *one]) for one in wanted]
        return TensorShape([batch, *wanted])

    def _copy(self) -> Any:
        return Lambda(self.function, self._output_shape, self.mask, self.arguments)

    def get_config(self) -> dict[str, Any]:
        """As TensorFlow 1.15 has it, but for named functions, which are there by name.

        Raises `TypeError` for what can be written neither by name nor as code.
        """
        config = super().get_config()
        function, kind, module = function_code.dump(self.function)
        config.update(function=function, function_type=kind, module=module)
        shape = self._output_shape
        dumped = function_code.dump(shape) if callable(shape) else (serialize(shape), "raw", None)
        names = ("output_shape", "output_shape_type", "output_shape_module")
        config.update(zip(names, dumped, strict=True))
        if self.mask is not None:
            names = ("mask", "mask_type", "mask_module")
            config.update(zip(names, function_code.dump(self.mask), strict=True))
        in_memory = function_code.is_in_memory()
        config["arguments"] = dict(self.arguments) if in_memory else serialize(self.arguments)
        return config

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        """The layer of a config, written here or by TensorFlow.

        Raises `ValueError` for a function that is not in ``custom_objects``, as
        `dataflow.keras.function_code` says.
        """
        from dataflow.layers.serialization import custom_object_scope

        config = dict(config)
        name = config.get("name", "")
        with custom_object_scope(custom_objects or {}):
            for key, module_key in (
                ("function", "module"),
                ("output_shape", "output_shape_module"),
                ("mask", "mask_module"),
            ):
                module = config.pop(module_key, None)
                kind = config.pop(f"{key}_type", "function" if key == "function" else "raw")
                if key in config:
                    config[key] = function_code.load(config[key], kind, module, name)
        arguments = dict(config.get("arguments") or {})
        for key, value in arguments.items():
            if isinstance(value, dict) and value.get("type") == "ndarray":  # Keras's own files
                arguments[key] = np.array(value["value"])
        return super().from_config({**config, "arguments": arguments})


def _holds_shapes(shape: Any) -> bool:
    return isinstance(shape, list) and any(
        isinstance(one, (tuple, list, TensorShape)) for one in shape
    )


def _as_tuples(shape: Any) -> Any:
    """A shape, or those of a list, as the tuples that users' functions index."""
    if isinstance(shape, list) and any(not isinstance(s, int) and s is not None for s in shape):
        return [_as_tuples(s) for s in shape]
    return tuple(TensorShape(shape).as_list())
