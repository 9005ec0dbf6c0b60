"""The signatures of a SavedModel of objects: functions that take named tensors and return a dictionary of tensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dataflow.functions.concrete import ConcreteFunction, trace
from dataflow.functions.traced import Function
from dataflow.graph.tensor import Tensor
from dataflow.ops.type_specs import TensorSpec
from dataflow.saved_model.object_view import SignatureMap, functions_of
from dataflow.saved_model.signature_constants import DEFAULT_SERVING_SIGNATURE_DEF_KEY

#: The function of an object that is its signature where no other is said.
DEFAULT_FUNCTION = "_default_save_signature"


def signatures_of(root: Any, signatures: Any) -> SignatureMap:
    """What ``tf.saved_model.save`` was given as functions by name; of None, the one function of ``root`` that can be one.

    Raises `ValueError` for what is no function, or takes or returns something else than a signature can.
    """
    if signatures is None:
        signatures = _only_function(root)
    if signatures is None:
        return SignatureMap()
    if not isinstance(signatures, Mapping):
        signatures = {DEFAULT_SERVING_SIGNATURE_DEF_KEY: signatures}
    return SignatureMap({key: _signature(key, signatures[key]) for key in signatures})


def _only_function(root: Any) -> Any:
    functions = functions_of(root)
    if DEFAULT_FUNCTION in functions:
        return functions[DEFAULT_FUNCTION]
    found = [c for c in map(_concrete, functions.values()) if c is not None and _can_be_one(c)]
    return found[0] if len(found) == 1 else None


def _concrete(function: Any) -> ConcreteFunction | None:
    if isinstance(function, Function) and function.input_signature is not None:
        function = function.traced_functions()[0]
    return function if isinstance(function, ConcreteFunction) else None


def _can_be_one(function: ConcreteFunction) -> bool:
    try:
        _named_outputs(function.structured_outputs, function, "")
        _check_names(function, "")
    except ValueError:
        return False
    return True


def _check_names(function: ConcreteFunction, key: str) -> None:
    names = function.argument_names
    if len(set(names)) != len(names):
        raise ValueError(
            f"Got non-flat/non-unique argument names for SavedModel signature '{key}': more than one argument to "
            f"'{function.name}' was named '{next(n for n in names if names.count(n) > 1)}'. Signatures have one Tensor "
            "per named input, so to have predictable names Python functions used to generate these signatures should "
            "avoid *args and Tensors in nested structures unless unique names are specified for each. Use "
            "tf.TensorSpec(..., name=...) to provide a name for a Tensor input."
        )


def _named_outputs(outputs: Any, function: ConcreteFunction, key: str) -> dict[str, Any]:
    if isinstance(outputs, Mapping):
        for name, value in outputs.items():
            if not isinstance(name, str):
                raise ValueError(
                    f"Got a dictionary with a non-string key {name!r} in the output of the function "
                    f"{function.name} used to generate a SavedModel signature."
                )
            if not isinstance(value, Tensor):
                raise ValueError(
                    f"Got a dictionary containing non-Tensor value {value} for key {name} in the output of the "
                    f"function {function.name} used to generate a SavedModel signature. Dictionaries outputs for "
                    "functions used as signatures should have one Tensor output per string key."
                )
        return dict(outputs)
    if outputs is None:
        return {}
    found = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
    if not all(isinstance(value, Tensor) for value in found):
        raise ValueError(
            f"Got non-flat outputs '{outputs}' from '{function.name}' for SavedModel signature '{key}'. Signatures "
            "have one Tensor per output, so to have predictable names Python functions used to generate these "
            "signatures should avoid outputting Tensors in nested structures."
        )
    return {f"output_{i}": value for i, value in enumerate(found)}


def _signature(key: Any, function: Any) -> ConcreteFunction:
    concrete = _concrete(function)
    if concrete is None:
        raise ValueError(
            f"Expected a TensorFlow function to generate a signature for, but got {function}. Only `tf.functions` "
            "with an input signature or concrete functions can be used as a signature."
        )
    _check_names(concrete, key)
    _named_outputs(concrete.structured_outputs, concrete, key)

    def signature_wrapper(**tensors: Any) -> dict[str, Any]:
        given = [tensors[name] for name in concrete.argument_names]
        return _named_outputs(concrete(*given), concrete, key)

    inputs = zip(concrete.argument_names, concrete.inputs, strict=True)
    specs = {name: TensorSpec(t.shape, t.dtype.base_dtype, name) for name, t in inputs}
    made = trace(signature_wrapper, "signature_wrapper", (), specs, (), autograph=False)
    if len(specs) != 1:
        made.takes_names_only = True
    return made
