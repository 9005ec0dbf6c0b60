"""``tf.contrib.gan.losses.wargs``: the losses of adversarial networks, of tensors as arguments.

All are scalars unless ``reduction`` is NONE. ``weights`` are as in `tf.losses`, ``loss_collection`` is where
a loss is kept (None: nowhere), and ``add_summaries`` writes it, and its parts, as scalars.
"""

from __future__ import annotations

from typing import Any

from dataflow import dtypes, losses as basic
from dataflow.contrib.gan.losses.penalties import (
    combine_adversarial_loss,
    cycle_consistency_loss,
    mutual_information_penalty,
    wasserstein_gradient_penalty,
)
from dataflow.graph.collections import GraphKeys
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops.activation import relu
from dataflow.ops.arithmetic import squared_difference
from dataflow.ops.casts import cast
from dataflow.ops.fills import ones_like, zeros_like
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.summary import scalar

__all__ = [
    "acgan_discriminator_loss",
    "acgan_generator_loss",
    "combine_adversarial_loss",
    "cycle_consistency_loss",
    "least_squares_discriminator_loss",
    "least_squares_generator_loss",
    "minimax_discriminator_loss",
    "minimax_generator_loss",
    "modified_discriminator_loss",
    "modified_generator_loss",
    "mutual_information_penalty",
    "wasserstein_discriminator_loss",
    "wasserstein_generator_loss",
    "wasserstein_gradient_penalty",
    "wasserstein_hinge_discriminator_loss",
    "wasserstein_hinge_generator_loss",
]

_MEAN = basic.Reduction.SUM_BY_NONZERO_WEIGHTS


def _sum_of_parts(
    real: Any, generated: Any, key: str, loss_collection: Any, add_summaries: bool, sign: int = 1
) -> Any:
    """``generated + sign * real``, kept in the collection and written as discriminator_<key>_loss."""
    loss = generated + real if sign > 0 else generated - real
    basic.add_loss(loss, loss_collection)
    if add_summaries:
        _write(loss, real, generated, key)
    return loss


def _write(loss: Any, real: Any, generated: Any, key: str) -> None:
    scalar(f"discriminator_gen_{key}_loss", generated)
    scalar(f"discriminator_real_{key}_loss", real)
    scalar(f"discriminator_{key}_loss", loss)


def _floats(real: Any, generated: Any) -> tuple[Any, Any]:
    real, generated = cast(real, dtypes.float32), cast(generated, dtypes.float32)
    real.shape.assert_is_compatible_with(generated.shape)
    return real, generated


def _generator_wasserstein(
    outputs: TensorLike,
    weights: TensorLike,
    scope: Any,
    loss_collection: Any,
    reduction: str,
    add_summaries: bool,
) -> Any:
    with name_scope(scope, "generator_wasserstein_loss", (outputs, weights)) as inner:
        loss = basic.compute_weighted_loss(
            -cast(outputs, dtypes.float32), weights, inner, loss_collection, reduction
        )
        if add_summaries:
            scalar("generator_wass_loss", loss)
    return loss


def wasserstein_generator_loss(
    discriminator_gen_outputs: TensorLike,
    weights: TensorLike = 1.0,
    scope: Any = None,
    loss_collection: Any = GraphKeys.LOSSES,
    reduction: str = _MEAN,
    add_summaries: bool = False,
) -> Any:
    """The mean of -D(G(z)) (Arjovsky et al., "Wasserstein GAN", 2017)."""
    return _generator_wasserstein(
        discriminator_gen_outputs, weights, scope, loss_collection, reduction, add_summaries
    )


def wasserstein_discriminator_loss(
    discriminator_real_outputs: TensorLike,
    discriminator_gen_outputs: TensorLike,
    real_weights: TensorLike = 1.0,
    generated_weights: TensorLike = 1.0,
    scope: Any = None,
    loss_collection: Any = GraphKeys.LOSSES,
    reduction: str = _MEAN,
    add_summaries: bool = False,
) -> Any:
    """The mean of D(G(z)) minus the mean of D(x); both outputs have one shape (`ValueError`)."""
    with name_scope(scope, "discriminator_wasserstein_loss") as inner:
        real, generated = _floats(discriminator_real_outputs, discriminator_gen_outputs)
        of_generated = basic.compute_weighted_loss(
            generated, generated_weights, inner, None, reduction
        )
        of_real = basic.compute_weighted_loss(real, real_weights, inner, None, reduction)
        return _sum_of_parts(of_real, of_generated, "wass", loss_collection, add_summaries, sign=-1)


def wasserstein_hinge_generator_loss(
    discriminator_gen_outputs: TensorLike,
    weights: TensorLike = 1.0,
    scope: Any = None,
    loss_collection: Any = GraphKeys.LOSSES,
    reduction: str = _MEAN,
    add_summaries: bool = False,
) -> Any:
    """The same as `wasserstein_generator_loss`."""
    return _generator_wasserstein(
        discriminator_gen_outputs, weights, scope, loss_collection, reduction, add_summaries
    )


def wasserstein_hinge_discriminator_loss(
    discriminator_real_outputs: TensorLike,
    discriminator_gen_outputs: TensorLike,
    real_weights: TensorLike = 1.0,
    generated_weights: TensorLike = 1.0,
    real_hinge: float = 1.0,
    generated_hinge: float = 1.0,
    scope: Any = None,
    loss_collection: Any = GraphKeys.LOSSES,
    reduction: str = _MEAN,
    add_summaries: bool = False,
) -> Any:
    """The means of max(0, 1 - D(x)) and of max(0, 1 + D(G(z))), with hinges in the places of 1."""
    with name_scope(scope, "discriminator_wasserstein_loss") as inner:
        real, generated = _floats(discriminator_real_outputs, discriminator_gen_outputs)
        of_real = basic.compute_weighted_loss(
            relu(real_hinge - real), real_weights, inner, None, reduction
        )
        of_generated = basic.compute_weighted_loss(
            relu(generated_hinge + generated), generated_weights, inner, None, reduction
        )
        return _sum_of_parts(of_real, of_generated, "wass_hinge", loss_collection, add_summaries)


def acgan_discriminator_loss(
    discriminator_real_classification_logits: TensorLike,
    discriminator_gen_classification_logits: TensorLike,
    one_hot_labels: TensorLike,
    label_smoothing: float = 0.0,
    real_weights: TensorLike = 1.0,
    generated_weights: TensorLike = 1.0,
    scope: Any = None,
    loss_collection: Any = GraphKeys.LOSSES,
    reduction: str = _MEAN,
    add_summaries: bool = False,
) -> Any:
    """The cross-entropy of the classes of real data, and of generated data, added.

    Logits and labels: tensors of shape [batch, classes]; the smoothing is of real data alone.
    """
    with name_scope(scope, "acgan_discriminator_loss") as inner:
        of_generated = basic.softmax_cross_entropy(
            one_hot_labels,
            discriminator_gen_classification_logits,
            weights=generated_weights,
            scope=inner,
            loss_collection=None,
            reduction=reduction,
        )
        of_real = basic.softmax_cross_entropy(
            one_hot_labels,
            discriminator_real_classification_logits,
            weights=real_weights,
            label_smoothing=label_smoothing,
            scope=inner,
            loss_collection=None,
            reduction=reduction,
        )
        return _sum_of_parts(of_real, of_generated, "ac", loss_collection, add_summaries)


def acgan_generator_loss(
    discriminator_gen_classification_logits: TensorLike,
    one_hot_labels: TensorLike,
    weights: TensorLike = 1.0,
    scope: Any = None,
    loss_collection: Any = GraphKeys.LOSSES,
    reduction: str = _MEAN,
    add_summaries: bool = False,
) -> Any:
    """The cross-entropy of the classes of generated data; tensors of shape [batch, classes]."""
    with name_scope(scope, "acgan_generator_loss") as inner:
        loss = basic.softmax_cross_entropy(
            one_hot_labels,
            discriminator_gen_classification_logits,
            weights=weights,
            scope=inner,
            loss_collection=loss_collection,
            reduction=reduction,
        )
        if add_summaries:
            scalar("generator_ac_loss", loss)
    return loss


def minimax_discriminator_loss(
    discriminator_real_outputs: Any,
    discriminator_gen_outputs: Any,
    label_smoothing: float = 0.25,
    real_weights: TensorLike = 1.0,
    generated_weights: TensorLike = 1.0,
    scope: Any = None,
    loss_collection: Any = GraphKeys.LOSSES,
    reduction: str = _MEAN,
    add_summaries: bool = False,
) -> Any:
    """The cross-entropies of logits of real data with ones, and of generated data with zeros, added.

    The ones are smoothed. I. Goodfellow et al., "Generative Adversarial Nets", 2014.
    """
    with name_scope(scope, "discriminator_minimax_loss") as inner:
        of_real = basic.sigmoid_cross_entropy(
            ones_like(discriminator_real_outputs),
            discriminator_real_outputs,
            real_weights,
            label_smoothing,
            inner,
            None,
            reduction,
        )
        of_generated = basic.sigmoid_cross_entropy(
            zeros_like(discriminator_gen_outputs),
            discriminator_gen_outputs,
            generated_weights,
            scope=inner,
            loss_collection=None,
            reduction=reduction,
        )
        return _sum_of_parts(of_real, of_generated, "minimax", loss_collection, add_summaries)


def minimax_generator_loss(
    discriminator_gen_outputs: Any,
    label_smoothing: float = 0.0,
    weights: TensorLike = 1.0,
    scope: Any = None,
    loss_collection: Any = GraphKeys.LOSSES,
    reduction: str = _MEAN,
    add_summaries: bool = False,
) -> Any:
    """Minus the discriminator's `minimax_discriminator_loss`, where real outputs are ones."""
    with name_scope(scope, "generator_minimax_loss") as inner:
        loss = -minimax_discriminator_loss(
            ones_like(discriminator_gen_outputs),
            discriminator_gen_outputs,
            label_smoothing,
            weights,
            weights,
            inner,
            loss_collection,
            reduction,
        )
    if add_summaries:
        scalar("generator_minimax_loss", loss)
    return loss


def modified_discriminator_loss(
    discriminator_real_outputs: Any,
    discriminator_gen_outputs: Any,
    label_smoothing: float = 0.25,
    real_weights: TensorLike = 1.0,
    generated_weights: TensorLike = 1.0,
    scope: Any = None,
    loss_collection: Any = GraphKeys.LOSSES,
    reduction: str = _MEAN,
    add_summaries: bool = False,
) -> Any:
    """The same as `minimax_discriminator_loss`."""
    return minimax_discriminator_loss(
        discriminator_real_outputs,
        discriminator_gen_outputs,
        label_smoothing,
        real_weights,
        generated_weights,
        scope or "discriminator_modified_loss",
        loss_collection,
        reduction,
        add_summaries,
    )


def modified_generator_loss(
    discriminator_gen_outputs: Any,
    label_smoothing: float = 0.0,
    weights: TensorLike = 1.0,
    scope: Any = None,
    loss_collection: Any = GraphKeys.LOSSES,
    reduction: str = _MEAN,
    add_summaries: bool = False,
) -> Any:
    """The cross-entropy of generated data's logits with ones: the minimax game with steeper gradients."""
    with name_scope(scope, "generator_modified_loss") as inner:
        loss = basic.sigmoid_cross_entropy(
            ones_like(discriminator_gen_outputs),
            discriminator_gen_outputs,
            weights,
            label_smoothing,
            inner,
            loss_collection,
            reduction,
        )
        if add_summaries:
            scalar("generator_modified_loss", loss)
    return loss


def least_squares_generator_loss(
    discriminator_gen_outputs: TensorLike,
    real_label: float = 1,
    weights: TensorLike = 1.0,
    scope: Any = None,
    loss_collection: Any = GraphKeys.LOSSES,
    reduction: str = _MEAN,
    add_summaries: bool = False,
) -> Any:
    """The mean of (D(G(z)) - real_label)^2 / 2 (Mao et al., "Least Squares GAN", 2016)."""
    with name_scope(scope, "lsq_generator_loss") as inner:
        outputs = cast(discriminator_gen_outputs, dtypes.float32)
        loss = basic.compute_weighted_loss(
            squared_difference(outputs, real_label) / 2.0,
            weights,
            inner,
            loss_collection,
            reduction,
        )
    if add_summaries:
        scalar("generator_lsq_loss", loss)
    return loss


def least_squares_discriminator_loss(
    discriminator_real_outputs: TensorLike,
    discriminator_gen_outputs: TensorLike,
    real_label: float = 1,
    fake_label: float = 0,
    real_weights: TensorLike = 1.0,
    generated_weights: TensorLike = 1.0,
    scope: Any = None,
    loss_collection: Any = GraphKeys.LOSSES,
    reduction: str = _MEAN,
    add_summaries: bool = False,
) -> Any:
    """The means of (D(x) - real_label)^2 / 2 and of (D(G(z)) - fake_label)^2 / 2, added."""
    with name_scope(scope, "lsq_discriminator_loss") as inner:
        real, generated = _floats(discriminator_real_outputs, discriminator_gen_outputs)
        of_real = basic.compute_weighted_loss(
            squared_difference(real, real_label) / 2.0, real_weights, inner, None, reduction
        )
        of_generated = basic.compute_weighted_loss(
            squared_difference(generated, fake_label) / 2.0,
            generated_weights,
            inner,
            None,
            reduction,
        )
        loss = _sum_of_parts(of_real, of_generated, "lsq", loss_collection, add_summaries=False)
    if add_summaries:
        _write(loss, of_real, of_generated, "lsq")
    return loss
