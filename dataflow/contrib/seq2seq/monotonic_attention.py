"""Attention that only moves forwards along the memory, as speech and most translation do.

Source: Raffel, Luong, Liu, Weiss and Eck, "Online and linear-time attention by enforcing monotonic
alignments", 2017.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow import dtypes
from dataflow.contrib.seq2seq.attention import (
    AttentionMechanism,
    BahdanauAttention,
    LuongAttention,
)
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike
from dataflow.ops import array
from dataflow.ops.clip import clip_by_value
from dataflow.ops.comparison import greater
from dataflow.ops.cumulative import cumprod, cumsum
from dataflow.ops.functional import scan
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.initializers import constant_initializer
from dataflow.ops.math import cast, exp, log, sigmoid
from dataflow.ops.random import random_normal
from dataflow.ops.seeds import count_left_out
from dataflow.ops.variable_scope import get_variable

_MODES = ("recursive", "parallel", "hard")


def safe_cumprod(x: Any, axis: int = 0, exclusive: bool = False) -> Any:
    """The cumulative product of numbers from 0 to 1 by way of logarithms: gradients stay finite."""
    with name_scope(None, "SafeCumprod", [x]):
        x = convert_to_tensor(x, name="x")
        tiny = np.finfo(x.dtype.numpy).tiny
        return exp(cumsum(log(clip_by_value(x, tiny, 1)), axis=axis, exclusive=exclusive))


def monotonic_attention(p_choose_i: Any, previous_attention: Any, mode: str) -> Any:
    """Where attention goes next, [batch, steps], if it stops at each step with ``p_choose_i``.

    It starts where it was, ``previous_attention``, and looks at one step after the other. The
    expected place, "parallel" over the steps or, slower and exact where probabilities are near 1,
    "recursive"; "hard" for a choice that is already 0 or 1.

    Raises `ValueError` for other modes.
    """
    chosen = convert_to_tensor(p_choose_i, name="p_choose_i")
    before = convert_to_tensor(previous_attention, name="previous_attention")
    if mode == "recursive":
        ones = array.ones_like(chosen[:, :1])
        shifted = array.concat([ones, 1 - chosen[:, :-1]], 1)
        reached = scan(
            lambda x, at: at[0] * x + at[1],
            (array.transpose(shifted), array.transpose(before)),
            array.zeros_like(before[:, 0]),
        )
        return chosen * array.transpose(reached)
    if mode == "parallel":
        passed = safe_cumprod(1 - chosen, axis=1, exclusive=True)
        # Where nearly all have stopped already, the quotient is cut off.
        return chosen * passed * cumsum(before / clip_by_value(passed, 1e-10, 1.0), axis=1)
    if mode == "hard":
        possible = chosen * cumsum(before, axis=1)
        return possible * cumprod(1 - possible, axis=1, exclusive=True)
    raise ValueError(f"mode must be 'recursive', 'parallel', or 'hard', got {mode!r}.")


class _MonotonicAttention(AttentionMechanism):
    """The probability to stop at a step is the sigmoid of its score, and noise while training."""

    _bias_init: float
    _noise: float
    _noise_seed: int | None
    _mode: str

    def _set(self, bias: float, noise: float, seed: int | None, mode: str) -> None:
        if mode not in _MODES:
            raise ValueError(f"mode must be 'recursive', 'parallel', or 'hard', got {mode!r}.")
        self._bias_init, self._noise, self._noise_seed = bias, noise, seed
        self._mode = mode

    def initial_alignments(self, batch_size: int | Tensor, dtype: DTypeLike) -> Any:
        """Attention starts at the first step of the memory."""
        count_left_out(2 if isinstance(batch_size, Tensor) else -2)
        starts = array.zeros(array.stack([batch_size]), dtypes.int32)
        return array.one_hot(starts, self.alignments_size, dtype=dtype)

    def _align(self, score: Any, state: Any) -> Any:
        kind = score.dtype.base_dtype
        bias: Any = get_variable(
            "attention_score_bias",
            [],
            dtype=kind,
            initializer=constant_initializer(self._bias_init, dtype=kind),
        )
        score = score + bias
        count_left_out(1)
        if self._noise > 0:
            noise = random_normal(array.shape(score), dtype=kind, seed=self._noise_seed)
            score = score + self._noise * noise
        score = self._masked(score)
        # While training noise pushes the probabilities towards 0 and 1; afterwards they are that.
        chosen = cast(greater(score, 0), kind) if self._mode == "hard" else sigmoid(score)
        return monotonic_attention(chosen, state, self._mode)


class BahdanauMonotonicAttention(_MonotonicAttention, BahdanauAttention):
    """`BahdanauAttention` that only moves forwards; see `monotonic_attention` for ``mode``.

    ``sigmoid_noise`` is the deviation of the noise that is added to scores (0 to predict),
    ``score_bias_init`` where a number that is added to all of them starts: below 0, attention
    moves slowly at first.
    """

    _scope_name = "bahdanau_monotonic_attention"

    def __init__(
        self,
        num_units: int,
        memory: Any,
        memory_sequence_length: Any = None,
        normalize: bool = False,
        score_mask_value: Any = None,
        sigmoid_noise: float = 0.0,
        sigmoid_noise_seed: int | None = None,
        score_bias_init: float = 0.0,
        mode: str = "parallel",
        dtype: DTypeLike | None = None,
        name: str = "BahdanauMonotonicAttention",
    ) -> None:
        self._set(score_bias_init, sigmoid_noise, sigmoid_noise_seed, mode)
        super().__init__(
            num_units,
            memory,
            memory_sequence_length,
            normalize,
            score_mask_value=score_mask_value,
            dtype=dtype,
            name=name,
        )


class LuongMonotonicAttention(_MonotonicAttention, LuongAttention):
    """`LuongAttention` that only moves forwards; arguments as in `BahdanauMonotonicAttention`."""

    _scope_name = "luong_monotonic_attention"

    def __init__(
        self,
        num_units: int,
        memory: Any,
        memory_sequence_length: Any = None,
        scale: bool = False,
        score_mask_value: Any = None,
        sigmoid_noise: float = 0.0,
        sigmoid_noise_seed: int | None = None,
        score_bias_init: float = 0.0,
        mode: str = "parallel",
        dtype: DTypeLike | None = None,
        name: str = "LuongMonotonicAttention",
    ) -> None:
        self._set(score_bias_init, sigmoid_noise, sigmoid_noise_seed, mode)
        super().__init__(
            num_units,
            memory,
            memory_sequence_length,
            scale,
            score_mask_value=score_mask_value,
            dtype=dtype,
            name=name,
        )
