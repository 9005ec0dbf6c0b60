"""An estimator of a `StarGANModel`, whose features are data and whose labels are their domains."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dataflow.contrib.gan.estimator.gan_estimator import (
    SummaryType,
    check_arguments,
    spec_of_losses,
    with_mode,
    write_summaries,
)
from dataflow.contrib.gan.eval import summaries
from dataflow.contrib.gan.models import GENERATOR, stargan_model, tensors_of
from dataflow.contrib.gan.train import GetHooks
from dataflow.estimator.estimator import Estimator
from dataflow.estimator.model_fn import EstimatorSpec, ModeKeys
from dataflow.ops.variable_scope import variable_scope

_WRITERS: Mapping[SummaryType, Callable[[Any], None]] = {
    SummaryType.VARIABLES: summaries.add_gan_model_summaries,
    SummaryType.IMAGES: summaries.add_stargan_image_summaries,
}


class StarGANEstimator(Estimator):
    """Trains, evaluates and samples a `StarGANModel`.

    The functions are those of `stargan_model`; one with an argument ``mode`` is given
    `tf.estimator.ModeKeys`. ``loss_fn`` takes the model and gives a `GANLoss`. An ``input_fn`` gives
    (data, labels of domains), to predict ((data, labels of the target domains), None).
    """

    def __init__(
        self,
        model_dir: str | None = None,
        generator_fn: Any = None,
        discriminator_fn: Any = None,
        loss_fn: Any = None,
        generator_optimizer: Any = None,
        discriminator_optimizer: Any = None,
        get_hooks_fn: GetHooks | None = None,
        get_eval_metric_ops_fn: Callable[[Any], Any] | None = None,
        add_summaries: Any = None,
        use_loss_summaries: bool | None = True,
        config: Any = None,
    ) -> None:
        check_arguments(use_loss_summaries, get_hooks_fn, loss_fn=loss_fn)

        def model_fn(features: Any, labels: Any, mode: str) -> EstimatorSpec:
            generator = with_mode(generator_fn, mode)
            if mode == ModeKeys.PREDICT:
                data, target = (tensors_of(value) for value in features)
                with variable_scope(GENERATOR):
                    return EstimatorSpec(mode=mode, predictions=generator(data, target))
            model = stargan_model(generator, with_mode(discriminator_fn, mode), features, labels)
            write_summaries(model, add_summaries, _WRITERS)
            return spec_of_losses(
                mode,
                model,
                loss_fn(model),
                (generator_optimizer, discriminator_optimizer),
                get_hooks_fn,
                get_eval_metric_ops_fn,
            )

        super().__init__(model_fn, model_dir=model_dir, config=config)
