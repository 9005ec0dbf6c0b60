"""Summaries of a model of ``tf.contrib.gan``: its images, its variables, its regularization."""

from __future__ import annotations

from typing import Any

from dataflow import dtypes
from dataflow.contrib.gan.eval.grids import image_grid, image_reshaper
from dataflow.contrib.gan.namedtuples import CycleGANModel
from dataflow.losses import get_regularization_loss
from dataflow.ops import array
from dataflow.ops.casts import cast
from dataflow.ops.elementary import abs_ as absolute
from dataflow.ops.functional import map_fn
from dataflow.ops.gather_scatter import one_hot
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.summary import histogram, image as image_summary, scalar
from dataflow.ops.variable_scope import variable_scope


def _check_images(*tensors: Any) -> None:
    """`ValueError` unless each is of shape [batch, height, width, channels], all known but the batch."""
    for tensor in tensors:
        tensor.shape.assert_has_rank(4)
        tensor.shape[1:].assert_is_fully_defined()


def add_gan_model_image_summaries(
    gan_model: Any, grid_size: int = 4, model_summaries: bool = True
) -> None:
    """A grid of ``grid_size`` squared real images, and one of generated ones.

    With ``model_summaries`` also `add_gan_model_summaries`. Data of another shape than [batch, height,
    width, channels], or a `CycleGANModel`, is a `ValueError`.
    """
    if isinstance(gan_model, CycleGANModel):
        raise ValueError(
            "`add_gan_model_image_summaries` does not take CycleGANModels. Please use "
            "`add_cyclegan_image_summaries` instead."
        )
    _check_images(gan_model.real_data, gan_model.generated_data)
    for name, data in (
        ("real_data", gan_model.real_data),
        ("generated_data", gan_model.generated_data),
    ):
        *size, channels = data.shape.as_list()[1:]
        grid = image_grid(data[: grid_size**2], (grid_size, grid_size), size, channels)
        image_summary(name, grid, max_outputs=1)
    if model_summaries:
        add_gan_model_summaries(gan_model)


def add_cyclegan_image_summaries(cyclegan_model: Any) -> None:
    """For each direction an image, what became of it, and what came back; `ValueError` as above."""
    if not isinstance(cyclegan_model, CycleGANModel):
        raise ValueError(
            f"`cyclegan_model` was not a CycleGANModel. Instead, was {type(cyclegan_model)}"
        )
    ways = (
        ("x2y", cyclegan_model.model_x2y, cyclegan_model.reconstructed_x),
        ("y2x", cyclegan_model.model_y2x, cyclegan_model.reconstructed_y),
    )
    for way, model, reconstructed in ways:
        shown = (model.generator_inputs, model.generated_data, reconstructed)
        _check_images(*shown)
        with name_scope(f"{way}_image_comparison_summaries"):
            row = [image for data in shown for image in array.unstack(data[:1])]
            image_summary("image_comparison", image_reshaper(row, len(row)), max_outputs=1)


def add_image_comparison_summaries(
    gan_model: Any, num_comparisons: int = 2, display_diffs: bool = False
) -> None:
    """Rows of inputs, generated and real images, and the difference of the last two if so asked.

    All are of one shape [batch, height, width, channels] (`ValueError`).
    """
    inputs, generated = gan_model.generator_inputs, gan_model.generated_data
    real = gan_model.real_data
    _check_images(inputs, generated, real)
    generated.shape.assert_is_compatible_with(inputs.shape)
    real.shape.assert_is_compatible_with(generated.shape)
    rows = [array.unstack(data[:num_comparisons]) for data in (inputs, generated, real)]
    if display_diffs:
        rows.append(
            [
                absolute(cast(one, dtypes.float32) - cast(other, dtypes.float32))
                for one, other in zip(rows[1], rows[2], strict=True)
            ]
        )
    grid = image_reshaper([image for row in rows for image in row], num_comparisons)
    image_summary("image_comparison", grid, max_outputs=1)


def add_stargan_image_summaries(
    stargan_model: Any, num_images: int = 2, display_diffs: bool = False
) -> None:
    """Each of the first images, and what the generator makes of it for each domain."""
    _check_images(stargan_model.input_data)
    stargan_model.input_data_domain_label.shape.assert_has_rank(2)
    stargan_model.input_data_domain_label.shape[1:].assert_is_fully_defined()
    domains = stargan_model.input_data_domain_label.shape.as_list()[-1]

    def in_all_domains(image: Any) -> Any:
        images = array.tile(array.expand_dims(image, 0), [domains, 1, 1, 1])
        with variable_scope(stargan_model.generator_scope, reuse=True):
            made = stargan_model.generator_fn(images, one_hot(list(range(domains)), domains))
            shown = [image, *array.unstack(made, domains)]
            if display_diffs:
                shown += [array.zeros_like(image), *array.unstack(made - images, domains)]
            return array.squeeze(image_reshaper(shown, domains + 1), axis=[0])

    image_summary(
        "stargan_image_generation",
        map_fn(
            in_all_domains,
            stargan_model.input_data[:num_images],
            parallel_iterations=num_images,
            back_prop=False,
            swap_memory=True,
        ),
        max_outputs=num_images,
    )


def add_gan_model_summaries(gan_model: Any) -> None:
    """Histograms of the variables of both networks; of a `CycleGANModel`, of both models."""
    if isinstance(gan_model, CycleGANModel):
        with name_scope("cyclegan_x2y_summaries"):
            add_gan_model_summaries(gan_model.model_x2y)
        with name_scope("cyclegan_y2x_summaries"):
            add_gan_model_summaries(gan_model.model_y2x)
        return
    with name_scope("generator_variables"):
        for variable in gan_model.generator_variables:
            histogram(variable.name, variable)
    with name_scope("discriminator_variables"):
        for variable in gan_model.discriminator_variables:
            histogram(variable.name, variable)


def add_regularization_loss_summaries(gan_model: Any) -> None:
    """The regularization of each network's scope, as a scalar."""
    if isinstance(gan_model, CycleGANModel):
        with name_scope("cyclegan_x2y_regularization_loss_summaries"):
            add_regularization_loss_summaries(gan_model.model_x2y)
        with name_scope("cyclegan_y2x_regularization_loss_summaries"):
            add_regularization_loss_summaries(gan_model.model_y2x)
        return
    for name, scope in (
        ("generator", gan_model.generator_scope),
        ("discriminator", gan_model.discriminator_scope),
    ):
        if scope:
            scalar(f"{name}_regularization_loss", get_regularization_loss(scope.name))
