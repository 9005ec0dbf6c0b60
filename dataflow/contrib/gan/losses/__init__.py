"""``tf.contrib.gan.losses``: the losses of adversarial networks, of a whole model.

Each takes a model of `tf.contrib.gan` and, by keyword, what the loss of the same name in ``wargs`` takes
and the model does not have.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from dataflow.contrib.gan.losses import wargs
from dataflow.contrib.gan.namedtuples import CycleGANModel
from dataflow.namespaces import explain_absent

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
    "stargan_discriminator_loss_wrapper",
    "stargan_generator_loss_wrapper",
    "stargan_gradient_penalty_wrapper",
    "wargs",
    "wasserstein_discriminator_loss",
    "wasserstein_generator_loss",
    "wasserstein_gradient_penalty",
    "wasserstein_hinge_discriminator_loss",
    "wasserstein_hinge_generator_loss",
]


def _of_model(loss_fn: Callable[..., Any]) -> Callable[..., Any]:
    """``loss_fn`` with the arguments that have the names of a model's fields taken from a model."""
    parameters = inspect.signature(loss_fn).parameters

    def of_model(gan_model: Any, **kwargs: Any) -> Any:
        fields = gan_model._fields
        if twice := set(fields) & set(kwargs):
            raise ValueError(
                "The following args are present in both the tuple and keyword args for "
                f"{loss_fn.__name__}: {twice}"
            )
        for name, parameter in parameters.items():
            if name in fields:
                value = getattr(gan_model, name)
                if value is not None or parameter.default is parameter.empty:
                    kwargs[name] = value
            elif name not in kwargs and parameter.default is parameter.empty:
                raise ValueError(f"`{name}` must be supplied to {loss_fn.__name__} loss function.")
        return loss_fn(**kwargs)

    of_model.__name__ = loss_fn.__name__
    of_model.__doc__ = f"`wargs.{loss_fn.__name__}` of a model; keywords are its other arguments."
    return of_model


acgan_discriminator_loss = _of_model(wargs.acgan_discriminator_loss)
acgan_generator_loss = _of_model(wargs.acgan_generator_loss)
least_squares_discriminator_loss = _of_model(wargs.least_squares_discriminator_loss)
least_squares_generator_loss = _of_model(wargs.least_squares_generator_loss)
minimax_discriminator_loss = _of_model(wargs.minimax_discriminator_loss)
minimax_generator_loss = _of_model(wargs.minimax_generator_loss)
modified_discriminator_loss = _of_model(wargs.modified_discriminator_loss)
modified_generator_loss = _of_model(wargs.modified_generator_loss)
mutual_information_penalty = _of_model(wargs.mutual_information_penalty)
wasserstein_discriminator_loss = _of_model(wargs.wasserstein_discriminator_loss)
wasserstein_generator_loss = _of_model(wargs.wasserstein_generator_loss)
wasserstein_gradient_penalty = _of_model(wargs.wasserstein_gradient_penalty)
wasserstein_hinge_discriminator_loss = _of_model(wargs.wasserstein_hinge_discriminator_loss)
wasserstein_hinge_generator_loss = _of_model(wargs.wasserstein_hinge_generator_loss)


def combine_adversarial_loss(
    gan_loss: Any,
    gan_model: Any,
    non_adversarial_loss: Any,
    weight_factor: Any = None,
    gradient_ratio: Any = None,
    gradient_ratio_epsilon: float = 1e-6,
    scalar_summaries: bool = True,
    gradient_summaries: bool = True,
) -> Any:
    """``gan_loss`` whose generator's loss is `wargs.combine_adversarial_loss` with another loss."""
    combined = wargs.combine_adversarial_loss(
        non_adversarial_loss,
        gan_loss.generator_loss,
        weight_factor,
        gradient_ratio,
        gradient_ratio_epsilon,
        gan_model.generator_variables,
        scalar_summaries,
        gradient_summaries,
    )
    return gan_loss._replace(generator_loss=combined)


def cycle_consistency_loss(
    cyclegan_model: Any, scope: Any = None, add_summaries: bool = False
) -> Any:
    """`wargs.cycle_consistency_loss` of a `CycleGANModel`; `ValueError` for another model."""
    if not isinstance(cyclegan_model, CycleGANModel):
        raise ValueError(
            f"`cyclegan_model` must be a `CycleGANModel`. Instead, was {type(cyclegan_model)}."
        )
    return wargs.cycle_consistency_loss(
        cyclegan_model.model_x2y.generator_inputs,
        cyclegan_model.reconstructed_x,
        cyclegan_model.model_y2x.generator_inputs,
        cyclegan_model.reconstructed_y,
        scope,
        add_summaries,
    )


def stargan_generator_loss_wrapper(loss_fn: Callable[..., Any]) -> Callable[..., Any]:
    """A generator's loss of ``wargs`` as one of a `StarGANModel`."""

    @functools.wraps(loss_fn)
    def of_model(stargan_model: Any, **kwargs: Any) -> Any:
        return loss_fn(stargan_model.discriminator_generated_data_source_predication, **kwargs)

    return of_model


def stargan_discriminator_loss_wrapper(loss_fn: Callable[..., Any]) -> Callable[..., Any]:
    """A discriminator's loss of ``wargs`` as one of a `StarGANModel`."""

    @functools.wraps(loss_fn)
    def of_model(stargan_model: Any, **kwargs: Any) -> Any:
        return loss_fn(
            stargan_model.discriminator_input_data_source_predication,
            stargan_model.discriminator_generated_data_source_predication,
            **kwargs,
        )

    return of_model


def stargan_gradient_penalty_wrapper(loss_fn: Callable[..., Any]) -> Callable[..., Any]:
    """The gradient penalty of ``wargs`` as one of a `StarGANModel`."""

    @functools.wraps(loss_fn)
    def of_model(stargan_model: Any, **kwargs: Any) -> Any:
        return loss_fn(
            real_data=stargan_model.input_data,
            generated_data=stargan_model.generated_data,
            generator_inputs=stargan_model.input_data_domain_label.shape.as_list()[-1],
            discriminator_fn=stargan_model.discriminator_fn,
            discriminator_scope=stargan_model.discriminator_scope,
            **kwargs,
        )

    return of_model


__getattr__ = explain_absent(__name__)
