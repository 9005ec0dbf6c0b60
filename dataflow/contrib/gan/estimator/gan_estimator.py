"""An estimator of a `GANModel`, whose features are the generator's inputs and whose labels are real data."""

from __future__ import annotations

import enum
import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from dataflow.contrib.gan.eval import summaries
from dataflow.contrib.gan.models import GENERATOR, gan_model, tensors_of
from dataflow.contrib.gan.namedtuples import GANLoss, GANModel
from dataflow.contrib.gan.train import GetHooks, gan_train_ops, get_sequential_train_hooks
from dataflow.contrib.model_variables import get_trainable_variables
from dataflow.estimator.estimator import Estimator
from dataflow.estimator.model_fn import EstimatorSpec, ModeKeys
from dataflow.metrics.means import mean
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.variable_scope import variable_scope


class SummaryType(enum.IntEnum):
    """What an estimator writes about its model."""

    NONE = 0
    VARIABLES = 1
    IMAGES = 2
    IMAGE_COMPARISON = 3


def with_mode(network: Callable[..., Any], mode: str) -> Callable[..., Any]:
    """A network's function, given the mode if it has an argument of that name."""
    if "mode" in inspect.signature(network).parameters:
        return functools.partial(network, mode=mode)
    return network


def write_summaries(
    model: Any, wanted: Any, writers: Mapping[SummaryType, Callable[[Any], None]]
) -> None:
    """Call the writer of each kind in ``wanted``: None, a `SummaryType`, or a list of them."""
    if wanted:
        with name_scope(None):
            for kind in wanted if isinstance(wanted, (list, tuple)) else [wanted]:
                writers[kind](model)


def check_arguments(use_loss_summaries: Any, get_hooks_fn: Any, **functions: Any) -> None:
    """`ValueError` or `TypeError` for what cannot be used."""
    for name, function in functions.items():
        if not callable(function):
            raise ValueError(f"{name} must be callable.")
    if use_loss_summaries not in (True, False, None):
        raise ValueError("use_loss_summaries must be True, False or None.")
    if get_hooks_fn is not None and not callable(get_hooks_fn):
        raise TypeError("get_hooks_fn must be callable.")


def spec_of_losses(
    mode: str,
    model: Any,
    loss: GANLoss,
    optimizers: tuple[Any, Any],
    get_hooks_fn: GetHooks | None,
    get_eval_metric_ops_fn: Callable[[Any], Any] | None,
    is_chief: bool = True,
) -> EstimatorSpec:
    """What trains or evaluates a model; optimizers may be functions that make them.

    The loss that is reported is the sum of both networks'.
    """
    total = loss.generator_loss + loss.discriminator_loss
    if mode == ModeKeys.EVAL:
        with name_scope(None, "metrics"):
            metrics = {
                "generator_loss": mean(loss.generator_loss),
                "discriminator_loss": mean(loss.discriminator_loss),
            }
            if get_eval_metric_ops_fn is not None:
                further = get_eval_metric_ops_fn(model)
                if not isinstance(further, dict):
                    raise TypeError(
                        f"get_eval_metric_ops_fn must return a dict, received: {further}"
                    )
                metrics.update(further)
        return EstimatorSpec(
            mode=mode, predictions=model.generated_data, loss=total, eval_metric_ops=metrics
        )
    generator, discriminator = (made() if callable(made) else made for made in optimizers)
    train_ops = gan_train_ops(model, loss, generator, discriminator, is_chief=is_chief)
    return EstimatorSpec(
        mode=mode,
        loss=total,
        train_op=train_ops.global_step_inc_op,
        training_hooks=(get_hooks_fn or get_sequential_train_hooks())(train_ops),
    )


class GANEstimator(Estimator):
    """Trains, evaluates and samples an adversarial model.

    The functions are those of `gan_model`; one with an argument ``mode`` is given `tf.estimator.ModeKeys`.
    Losses are those of `tf.contrib.gan.losses`, optimizers may be functions that make one. An
    ``input_fn`` gives (generator's inputs, real data), to predict the inputs alone. ``get_hooks_fn`` is
    as in `gan_train`, ``get_eval_metric_ops_fn`` takes the model and gives a dict of metrics.
    """

    def __init__(
        self,
        model_dir: str | None = None,
        generator_fn: Any = None,
        discriminator_fn: Any = None,
        generator_loss_fn: Any = None,
        discriminator_loss_fn: Any = None,
        generator_optimizer: Any = None,
        discriminator_optimizer: Any = None,
        get_hooks_fn: GetHooks | None = None,
        get_eval_metric_ops_fn: Callable[[Any], Any] | None = None,
        add_summaries: Any = None,
        use_loss_summaries: bool | None = True,
        config: Any = None,
        warm_start_from: Any = None,
        is_chief: bool = True,
    ) -> None:
        check_arguments(
            use_loss_summaries,
            get_hooks_fn,
            generator_loss_fn=generator_loss_fn,
            discriminator_loss_fn=discriminator_loss_fn,
        )
        options = {} if use_loss_summaries is None else {"add_summaries": use_loss_summaries}

        def model_fn(features: Any, labels: Any, mode: str) -> EstimatorSpec:
            generator = with_mode(generator_fn, mode)
            if mode == ModeKeys.PREDICT:
                if labels is not None:
                    raise ValueError(
                        f"`labels` must be `None` when mode is `predict`. Instead, found {labels}"
                    )
                model = _generator_alone(features, generator)
                return EstimatorSpec(mode=mode, predictions=model.generated_data)
            model = gan_model(
                generator,
                with_mode(discriminator_fn, mode),
                real_data=labels,
                generator_inputs=features,
                check_shapes=False,
            )
            write_summaries(model, add_summaries, _WRITERS)
            loss = GANLoss(
                generator_loss_fn(model, **options), discriminator_loss_fn(model, **options)
            )
            return spec_of_losses(
                mode,
                model,
                loss,
                (generator_optimizer, discriminator_optimizer),
                get_hooks_fn,
                get_eval_metric_ops_fn,
                is_chief,
            )

        super().__init__(
            model_fn, model_dir=model_dir, config=config, warm_start_from=warm_start_from
        )


_WRITERS = {
    SummaryType.VARIABLES: summaries.add_gan_model_summaries,
    SummaryType.IMAGES: summaries.add_gan_model_image_summaries,
    SummaryType.IMAGE_COMPARISON: summaries.add_image_comparison_summaries,
}


def _generator_alone(inputs: Any, generator_fn: Callable[..., Any]) -> GANModel:
    with variable_scope(GENERATOR) as scope:
        inputs = tensors_of(inputs)
        generated = generator_fn(inputs)
    variables = get_trainable_variables(scope)
    return GANModel(
        inputs, generated, variables, scope, generator_fn, None, None, None, None, None, None
    )
