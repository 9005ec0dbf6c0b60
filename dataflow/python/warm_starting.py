"""Functions of ``tensorflow.python.training.warm_starting_util`` beside the public ones."""

from __future__ import annotations

from typing import Any

from dataflow.ops.partitioned_variable import PartitionedVariable
from dataflow.ops.variables import Variable
from dataflow.train import VocabInfo
from dataflow.train.checkpoint_initializers import assign_by_words
from dataflow.train.checkpoint_management import prefix_of

__all__: list[str] = []


def _get_var_info(var: Any, prev_tensor_name: str | None = None) -> tuple[str, Any]:
    """The name in a checkpoint of a variable, or of a list of the parts of one, and the variable."""
    if isinstance(var, (Variable, PartitionedVariable)):
        name = var.op.name if isinstance(var, Variable) else var.name
    elif isinstance(var, list) and all(isinstance(part, Variable) for part in var):
        name = var[0].op.name if len(var) == 1 else var[0]._get_save_slice_info().full_name
    else:
        raise TypeError(
            f"var MUST be one of the following: a Variable, list of Variable, got {var!r}"
        )
    return prev_tensor_name or name, var


def _warm_start_var_with_vocab(
    var: Any,
    current_vocab_path: str,
    current_vocab_size: int,
    prev_ckpt: Any,
    prev_vocab_path: str,
    previous_vocab_size: int = -1,
    current_oov_buckets: int = 0,
    prev_tensor_name: str | None = None,
    initializer: Any = None,
    axis: int = 0,
) -> None:
    """Makes a variable's initializer put each word's row of a checkpoint where the word is now.

    Raises `TypeError` for anything but a variable, `ValueError` for a missing argument.
    """
    if not (current_vocab_path and current_vocab_size and prev_ckpt and prev_vocab_path):
        raise ValueError(
            "Invalid args: Must provide all of [current_vocab_path, current_vocab_size, prev_ckpt, "
            "prev_vocab_path}."
        )
    parts = [var] if isinstance(var, Variable) else var
    if isinstance(parts, PartitionedVariable):
        parts = list(parts)
    if not isinstance(parts, list) or not all(isinstance(part, Variable) for part in parts):
        raise TypeError(
            f"var MUST be one of the following: a Variable, list of Variable, got {var!r}"
        )
    info = VocabInfo(
        current_vocab_path,
        current_vocab_size,
        current_oov_buckets,
        prev_vocab_path,
        previous_vocab_size,
        initializer,
        axis,
    )
    for part in parts:
        slices = part._get_save_slice_info()
        name = prev_tensor_name or (part.op.name if slices is None else slices.full_name)
        assign_by_words(prefix_of(prev_ckpt), name, part, info)
