"""``tf.contrib.model_pruning``: the smallest weights become zero while a network trains.

Each pruned weight has a mask of zeros and ones. Masks are computed anew every few steps, so that the share
of zeros grows from an initial to a target sparsity (Zhu and Gupta, "To prune, or not to prune", 2017).
"""

from __future__ import annotations

import re
from typing import Any

from dataflow import dtypes
from dataflow.contrib.hyperparameters import HParams
from dataflow.contrib.masked_layers import (
    MASK_COLLECTION,
    MASKED_WEIGHT_COLLECTION,
    THRESHOLD_COLLECTION,
    WEIGHT_COLLECTION,
    MaskedBasicLSTMCell,
    MaskedLSTMCell,
    collect,
    masked_conv2d,
    masked_convolution,
    masked_fully_connected,
)
from dataflow.contrib.slim import learning
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.tensor import Tensor
from dataflow.namespaces import explain_absent
from dataflow.ops import array
from dataflow.ops.comparison import logical_and, logical_or
from dataflow.ops.conditionals import cond
from dataflow.ops.control_flow import group, no_op
from dataflow.ops.elementary import abs_ as absolute, round_ as rounded
from dataflow.ops.initializers import ones_initializer, zeros_initializer
from dataflow.ops.math import cast, maximum, minimum
from dataflow.ops.moments import zero_fraction
from dataflow.ops.partitioned_variable import PartitionedVariable
from dataflow.ops.pooling_functions import pool
from dataflow.ops.sequences import top_k
from dataflow.ops.state import assign
from dataflow.ops.summary import scalar
from dataflow.ops.variable_scope import get_variable, variable_scope
from dataflow.train.global_step import get_global_step

__all__ = [
    "MaskedBasicLSTMCell",
    "MaskedLSTMCell",
    "Pruning",
    "apply_mask",
    "get_masked_weights",
    "get_masks",
    "get_pruning_hparams",
    "get_thresholds",
    "get_weight_sparsity",
    "get_weights",
    "masked_conv2d",
    "masked_convolution",
    "masked_fully_connected",
    "train",
]


def apply_mask(x: Any, scope: Any = "") -> Tensor:
    """``x``, a variable, times its mask; the variables ``mask`` and ``threshold`` are made in ``scope``."""
    with variable_scope(scope):
        mask = get_variable(
            "mask", x.get_shape(), initializer=ones_initializer(), trainable=False, dtype=x.dtype
        )
        threshold = get_variable(
            "threshold", [], initializer=zeros_initializer(), trainable=False, dtype=x.dtype
        )
    return collect(mask, threshold, x)  # type: ignore[no-any-return]


def get_masked_weights() -> list[Any]:
    """The masked weights of the default graph, as tensors."""
    return default_graph().get_collection(MASKED_WEIGHT_COLLECTION)


def get_masks() -> list[Any]:
    """The masks, as variables of zeros and ones."""
    return default_graph().get_collection(MASK_COLLECTION)


def get_thresholds() -> list[Any]:
    """The thresholds below which weights are masked, as variables."""
    return default_graph().get_collection(THRESHOLD_COLLECTION)


def get_weights() -> list[Any]:
    """The weights that have masks."""
    return default_graph().get_collection(WEIGHT_COLLECTION)


def get_weight_sparsity() -> list[Any]:
    """The share of zeros of each mask, as tensors."""
    return [zero_fraction(mask) for mask in get_masks()]


def get_pruning_hparams() -> HParams:
    """The settings of `Pruning`, each with its default.

    ``begin_pruning_step``, ``end_pruning_step`` (-1: no end) and ``pruning_frequency``: the steps at which masks
    are computed. ``initial_sparsity``, ``target_sparsity``, ``sparsity_function_begin_step``, ``..._end_step`` and
    ``..._exponent``: how the sparsity grows. ``weight_sparsity_map``: "pattern:sparsity" for weights with another
    target. ``block_height``, ``block_width``, ``block_dims_map`` ("pattern:2x4") and ``block_pooling_function`` ("AVG"
    or "MAX"): blocks that become zero together. ``threshold_decay``: the part of the last threshold that is kept.
    """
    return HParams(
        name="model_pruning",
        begin_pruning_step=0,
        end_pruning_step=-1,
        weight_sparsity_map=[""],
        block_dims_map=[""],
        threshold_decay=0.0,
        pruning_frequency=10,
        nbins=256,
        block_height=1,
        block_width=1,
        block_pooling_function="AVG",
        initial_sparsity=0.0,
        target_sparsity=0.5,
        sparsity_function_begin_step=0,
        sparsity_function_end_step=100,
        sparsity_function_exponent=3.0,
        use_tpu=False,
    )


def _checked(spec: Any) -> Any:
    """``spec``; raises `ValueError` for settings that contradict each other."""
    if spec.begin_pruning_step < 0:
        raise ValueError(f"Illegal value for begin_pruning_step: {spec.begin_pruning_step}")
    if spec.begin_pruning_step >= spec.end_pruning_step != -1:
        raise ValueError(
            f"Pruning must begin before it can end. begin_step={spec.begin_pruning_step}, "
            f"end_step={spec.end_pruning_step}. Set end_pruning_step to -1 to prune until training stops."
        )
    if spec.sparsity_function_begin_step < 0:
        raise ValueError(
            f"Illegal value for sparsity_function_begin_step: {spec.sparsity_function_begin_step}"
        )
    if spec.sparsity_function_begin_step >= spec.sparsity_function_end_step:
        raise ValueError("Sparsity function requires begin_step < end_step")
    for name in ("threshold_decay", "initial_sparsity", "target_sparsity"):
        if not 0.0 <= getattr(spec, name) < 1.0:
            raise ValueError(f"{name} must be in range [0,1), got {getattr(spec, name)}")
    if spec.block_pooling_function not in ("AVG", "MAX"):
        raise ValueError(
            f"Unknown pooling function for block sparsity: {spec.block_pooling_function}"
        )
    return spec


def _patterns(texts: Any, read: Any) -> dict[re.Pattern[str], Any]:
    """Parses "pattern:value" into a dict by pattern."""
    pairs = (text.split(":") for text in texts if text)
    return {re.compile(pattern): read(value) for pattern, value in pairs}


def _block(text: str) -> list[int]:
    sizes = text.split("x")
    if len(sizes) != 2:
        raise ValueError(f"Expected 2 values for block dims, such as 2x4, got {text!r}")
    return [int(size) for size in sizes]


def _target(text: str) -> float:
    if float(text) >= 1.0:
        raise ValueError(f"Weight sparsity can not exceed 1.0, got {text}")
    return float(text)


def _found(patterns: dict[re.Pattern[str], Any], name: str, default: Any) -> Any:
    found = [value for pattern, value in patterns.items() if pattern.search(name)]
    if len(found) > 1:
        raise ValueError(f"Several patterns of the settings fit the weight {name}.")
    return found[0] if found else default


class Pruning:
    """Computes the masks of the default graph's weights.

    Args:
        spec: the settings, as `get_pruning_hparams` gives them.
        global_step: by default the graph's.
        sparsity: the share of zeros, a tensor; by default it grows as the settings say.
    """

    def __init__(self, spec: Any = None, global_step: Any = None, sparsity: Any = None) -> None:
        self._spec = _checked(spec or get_pruning_hparams())
        self._blocks = _patterns(self._spec.block_dims_map, _block)
        self._targets = _patterns(self._spec.weight_sparsity_map, _target)
        step = get_global_step() if global_step is None else global_step
        self._global_step = cast(step, dtypes.int32)
        self._sparsity = self._growing_sparsity() if sparsity is None else sparsity
        self._assign_ops: list[Any] = []
        with variable_scope(self._spec.name, reuse=None) as scope:
            kind: dict[str, Any] = {
                "dtype": dtypes.int32,
                "trainable": False,
                "initializer": zeros_initializer(),
            }
            try:
                self._last_update_step = get_variable("last_mask_update_step", [], **kind)
            except ValueError:
                scope.reuse_variables()
                self._last_update_step = get_variable("last_mask_update_step", [], **kind)

    def _growing_sparsity(self) -> Tensor:
        spec = self._spec
        begin, end = spec.sparsity_function_begin_step, spec.sparsity_function_end_step
        with default_graph().name_scope(spec.name):
            done = cast(self._global_step - begin, dtypes.float32) / float(end - begin)
            left = (1.0 - minimum(1.0, maximum(0.0, done))) ** spec.sparsity_function_exponent
            grown = (spec.initial_sparsity - spec.target_sparsity) * left + spec.target_sparsity
            return array.identity(grown, name="sparsity")

    def _sparsity_of(self, name: str) -> Any:
        target = _found(self._targets, name, None)
        return (
            self._sparsity
            if target is None
            else self._sparsity * (target / self._spec.target_sparsity)
        )

    def _update_mask(self, weights: Any, threshold: Any, name: str = "") -> tuple[Any, Any]:
        """(threshold, mask of ``weights``) such that the smallest weights are left out."""
        sparsity = self._sparsity_of(name or weights.op.name)
        sizes = absolute(weights)
        number = array.size(sizes)
        kept = cast(rounded(cast(number, dtypes.float32) * (1.0 - sparsity)), dtypes.int32)
        ordered, _ = top_k(array.reshape(sizes, [-1]), k=number)
        now = array.gather(ordered, maximum(kept - 1, 0))
        decay = self._spec.threshold_decay
        smoothed = now * (1.0 - decay) + threshold * decay
        return smoothed, cast(sizes >= smoothed, dtypes.float32)

    def _maybe_update_block_mask(self, weights: Any, threshold: Any) -> tuple[Any, Any]:
        """As `_update_mask`, for blocks of a matrix where the settings want some."""
        spec, name = self._spec, weights.op.name
        block = list(_found(self._blocks, name, [spec.block_height, spec.block_width]))
        matrix = array.squeeze(weights)
        if matrix.shape.ndims != 2 or block == [1, 1]:
            return self._update_mask(weights, threshold, name)
        rows, columns = matrix.shape.as_list()
        block = [
            whole if size == -1 else size
            for size, whole in zip(block, (rows, columns), strict=True)
        ]
        picture = array.reshape(absolute(matrix), [1, rows, columns, 1])
        pooled = pool(picture, block, spec.block_pooling_function, "SAME", strides=block)
        smoothed, mask = self._update_mask(array.squeeze(pooled, [0, 3]), threshold, name)
        height, width = pooled.shape.as_list()[1:3]
        spread = array.tile(array.reshape(mask, [height, 1, width, 1]), [1, block[0], 1, block[1]])
        whole = array.reshape(spread, [height * block[0], width * block[1]])[:rows, :columns]
        return smoothed, array.reshape(whole, array.shape(weights))

    def _get_mask_assign_ops(self) -> None:
        if self._assign_ops:
            raise ValueError("Assign op list not empty. _get_mask_assign_ops() called twice?")
        masks, thresholds = get_masks(), get_thresholds()
        if len(masks) != len(thresholds):
            raise ValueError(
                f"Number of masks {len(masks)} and number of thresholds {len(thresholds)} mismatch"
            )
        for mask, threshold, weight in zip(masks, thresholds, get_weights(), strict=True):
            whole = weight.as_tensor() if isinstance(weight, PartitionedVariable) else weight
            new_threshold, new_mask = self._maybe_update_block_mask(whole, threshold)
            self._assign_ops.append(assign(threshold, new_threshold))
            self._assign_ops.append(_assigned(mask, new_mask))

    def mask_update_op(self) -> Any:
        """An op that recomputes all masks, and stores the step at which it did."""
        graph = default_graph()
        with graph.name_scope(self._spec.name):
            if not self._assign_ops:
                self._get_mask_assign_ops()
            noted = assign(self._last_update_step, self._global_step)
            with graph.control_dependencies([noted, *self._assign_ops]):
                return no_op(name="mask_update")

    def conditional_mask_update_op(self) -> Any:
        """As `mask_update_op` at the steps that the settings name; does nothing at others."""
        spec, step = self._spec, self._global_step
        with default_graph().name_scope(spec.name):
            before_end = logical_or(step <= spec.end_pruning_step, spec.end_pruning_step < 0)
            within = logical_and(step >= spec.begin_pruning_step, before_end)
            due = self._last_update_step + spec.pruning_frequency <= step
        return cond(logical_and(within, due), self.mask_update_op, no_op)

    def add_pruning_summaries(self) -> None:
        """Summaries of the sparsity, and of each mask's share of zeros and threshold."""
        with default_graph().name_scope(f"{self._spec.name}_summaries"):
            scalar("sparsity", self._sparsity)
            scalar("last_mask_update_step", self._last_update_step)
            for mask, threshold in zip(get_masks(), get_thresholds(), strict=True):
                scalar(f"{mask.op.name}/sparsity", zero_fraction(mask))
                scalar(f"{threshold.op.name}/threshold", threshold)

    def print_hparams(self) -> None:
        """Prints the settings as JSON."""
        print(self._spec.to_json())


def _assigned(mask: Any, value: Tensor) -> Any:
    """The op that assigns a mask its new value; part by part if the mask is partitioned."""
    if not isinstance(mask, PartitionedVariable):
        return assign(mask, value)
    parts = list(mask)
    whole = mask.get_shape().as_list()
    axis = next((i for i, n in enumerate(whole) if parts[0].shape.as_list()[i] != n), 0)
    values = array.split(value, [part.shape.as_list()[axis] for part in parts], axis)
    return group(*[assign(part, new) for part, new in zip(parts, values, strict=True)])


def train(
    train_op: Any,
    logdir: str | None,
    mask_update_op: Any,
    train_step_fn: Any = learning.train_step,
    **kwargs: Any,
) -> Any:
    """As `tf.contrib.slim.learning.train`, and runs ``mask_update_op`` after each step."""

    def step_and_update(sess: Any, op: Any, global_step: Any, settings: Any) -> Any:
        result = train_step_fn(sess, op, global_step, settings)
        sess.run(mask_update_op)
        return result

    return learning.train(train_op, logdir, train_step_fn=step_and_update, **kwargs)


__getattr__ = explain_absent(__name__)
