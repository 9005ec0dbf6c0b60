"""``enable_mixed_precision_graph_rewrite``: TensorFlow's one line for training in half precision.

TensorFlow computes products and convolutions of such a program in float16 on GPUs that have cores for
it, and leaves what runs on a CPU as it is. Here float32 stays float32 on every device: the optimizer
scales its loss, with TensorFlow's variables, checkpoints and skipped steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow.train.loss_scale_optimizer import MixedPrecisionLossScaleOptimizer
from dataflow.train.optimizer import Optimizer

#: Kinds of optimizers of other packages, and what scales the loss for one of a kind.
_wrappers: dict[type, Callable[[Any, Any], Any]] = {}


def register_loss_scale_wrapper(
    optimizer_cls: type, wrapper_fn: Any, wrapper_cls: type | None = None
) -> None:
    """``wrapper_fn(opt, loss_scale)`` scales the loss for optimizers of ``optimizer_cls``.

    ``wrapper_cls``: the class of what it returns, where ``wrapper_fn`` is no class itself.
    """
    _wrappers[optimizer_cls] = wrapper_fn
    _kinds_of_wrappers.append(wrapper_cls or wrapper_fn)


_kinds_of_wrappers: list[type] = [MixedPrecisionLossScaleOptimizer]


def enable_mixed_precision_graph_rewrite(opt: Any, loss_scale: Any = "dynamic") -> Any:
    """``opt``, an optimizer of `tf.train` or `tf.keras.optimizers`, with its loss scaled.

    ``loss_scale``: a `tf.train.experimental.LossScale`, a number, or "dynamic". Gradients are those of
    the returned optimizer (`minimize`, `compute_gradients`), not of `tf.gradients`. Raises `ValueError`
    for anything but an optimizer, and for one that scales its loss already.
    """
    global _is_enabled
    if isinstance(opt, tuple(_kinds_of_wrappers)):
        raise ValueError(
            f'"opt" must not already be an instance of a {type(opt).__name__}. '
            "`enable_mixed_precision_graph_rewrite` will automatically wrap the optimizer with one."
        )
    if isinstance(opt, Optimizer):
        _is_enabled = True
        return MixedPrecisionLossScaleOptimizer(opt, loss_scale)
    for kind, wrapper in _wrappers.items():
        if isinstance(opt, kind):
            _is_enabled = True
            return wrapper(opt, loss_scale)
    raise ValueError(
        '"opt" must be an instance of a tf.train.Optimizer or a tf.keras.optimizers.Optimizer, '
        f"but got: {opt!r}"
    )


def disable_mixed_precision_graph_rewrite() -> None:
    """Undoes `enable_mixed_precision_graph_rewrite` for graphs to come: none is rewritten here."""
    global _is_enabled
    _is_enabled = False


_is_enabled = False


def is_graph_rewrite_enabled() -> bool:
    """Whether the program asked for mixed precision by `enable_mixed_precision_graph_rewrite`."""
    return _is_enabled
