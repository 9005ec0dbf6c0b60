"""Variables that get their values from arrays or from a checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dataflow import logging
from dataflow.contrib.model_variables import get_variable_full_name
from dataflow.formats.checkpoint_reader import CheckpointReader
from dataflow.ops.control_flow import group
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.sources import placeholder
from dataflow.ops.state import assign
from dataflow.train.saver import Saver

if TYPE_CHECKING:
    from dataflow.runtime.base_session import BaseSession

__all__ = [
    "assign_from_checkpoint",
    "assign_from_checkpoint_fn",
    "assign_from_values",
    "assign_from_values_fn",
]


def assign_from_values(var_names_to_values: Mapping[str, Any]) -> tuple[Any, dict[Any, Any]]:
    """``(assign_op, feed_dict)`` that give the variables of these names their values.

    Raises `ValueError` for a name that no variable has, and for a value of another size.
    """
    from dataflow.contrib.model_variables import get_unique_variable

    return _assignments(
        [(get_unique_variable(name), value) for name, value in var_names_to_values.items()]
    )


def _assignments(pairs: list[tuple[Any, Any]]) -> tuple[Any, dict[Any, Any]]:
    """An operation that assigns, and what to feed it: large values stay out of the graph."""
    feed: dict[Any, Any] = {}
    made = []
    with name_scope("AssignFromValues"):
        for var, value in pairs:
            value = np.asarray(value)
            shape = var.get_shape()
            if not shape.is_compatible_with(value.shape):
                if shape.num_elements() != value.size:
                    raise ValueError(
                        f"Total size of new array must be unchanged for {var.op.name}: the variable "
                        f"has shape {shape}, the value {value.shape}."
                    )
                value = value.reshape(shape.as_list())
            held = placeholder(var.dtype.base_dtype, value.shape, f"placeholder/{var.op.name}")
            made.append(assign(var, held))
            feed[held] = value
        return group(*made), feed


def assign_from_values_fn(var_names_to_values: Mapping[str, Any]) -> Callable[[Any], None]:
    """``init(session)`` that gives the variables of these names their values."""
    assign_op, feed = assign_from_values(var_names_to_values)

    def init(session: BaseSession) -> None:
        session.run(assign_op, feed)

    return init


def assign_from_checkpoint(
    model_path: Any, var_list: Any, ignore_missing_vars: bool = False
) -> tuple[Any, dict[Any, Any]]:
    """``(assign_op, feed_dict)`` that read variables from the checkpoint at ``model_path``.

    ``var_list`` is a list of variables, or a dictionary from names in the checkpoint to variables
    or to the parts of one. Raises `ValueError` for a variable that the checkpoint lacks, unless
    ``ignore_missing_vars``, and for one of another size.
    """
    if isinstance(var_list, Mapping):
        grouped = {n: list(v) if isinstance(v, list | tuple) else [v] for n, v in var_list.items()}
    else:
        grouped = {}
        for var in var_list:
            grouped.setdefault(get_variable_full_name(var), []).append(var)
    reader = CheckpointReader(model_path)
    pairs = []
    for name, parts in grouped.items():
        if not reader.has_tensor(name):
            text = f"Checkpoint is missing variable [{name}]"
            if not ignore_missing_vars:
                raise ValueError(f"{text}; pass ignore_missing_vars=True to keep its value.")
            logging.warning("%s", text)
            continue
        value = reader.get_tensor(name)
        for var in parts:
            info = getattr(var, "_save_slice_info", None)
            if info is None:
                pairs.append((var, value))
                continue
            cut = tuple(
                slice(o, o + s) for o, s in zip(info.var_offset, info.var_shape, strict=True)
            )
            pairs.append((var, value[cut]))
    return _assignments(pairs)


def assign_from_checkpoint_fn(
    model_path: Any,
    var_list: Any,
    ignore_missing_vars: bool = False,
    reshape_variables: bool = False,
) -> Callable[[Any], None] | None:
    """``restore(session)`` that reads variables from the checkpoint at ``model_path``.

    ``var_list`` is a list of variables, or a dictionary from names in the checkpoint to variables.
    With ``ignore_missing_vars`` those that the checkpoint lacks keep their values, and are named in
    a warning; where it has none of them there is no function (``None``). ``reshape_variables`` takes
    a value of another shape and the same number of elements.

    Raises NotFoundError, when it is called, for a checkpoint or a variable that is not there, and
    ValueError for an empty ``var_list``.
    """
    if not var_list:
        raise ValueError("var_list cannot be empty: name the variables to restore.")
    by_name = var_list if isinstance(var_list, dict) else {v.op.name: v for v in var_list}
    if ignore_missing_vars:
        there = CheckpointReader(model_path).get_variable_to_shape_map()
        for name in [name for name in by_name if name not in there]:
            logging.warning("Variable %s missing in checkpoint %s", name, model_path)
        by_name = {name: v for name, v in by_name.items() if name in there}
        if not by_name:
            logging.warning("No variables to restore from %s", model_path)
            return None
    saver = Saver(by_name, reshape=reshape_variables)

    def restore(session: BaseSession) -> None:
        saver.restore(session, model_path)

    return restore
