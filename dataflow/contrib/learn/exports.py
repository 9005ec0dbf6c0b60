"""What `Experiment` exports: serving input functions of contrib, and export strategies."""

from __future__ import annotations

import inspect
import os
import shutil
from collections.abc import Callable
from typing import Any, NamedTuple

from dataflow.dtypes import string
from dataflow.estimator.export import ServingInputReceiver
from dataflow.ops.parsing import parse_example
from dataflow.ops.sources import placeholder


class InputFnOps(NamedTuple):
    """What a serving input function of contrib returns; `tf.estimator.export.ServingInputReceiver` came after."""

    features: Any
    labels: Any
    default_inputs: Any


def build_parsing_serving_input_fn(
    feature_spec: dict[str, Any], default_batch_size: int | None = None
) -> Callable[[], InputFnOps]:
    """An input function that is fed serialized ``tf.train.Example``s, and parses them by ``feature_spec``."""

    def input_fn() -> InputFnOps:
        examples = placeholder(string, [default_batch_size], name="input_example_tensor")
        return InputFnOps(parse_example(examples, feature_spec), None, {"examples": examples})

    return input_fn


def build_default_serving_input_fn(
    features: dict[str, Any], default_batch_size: int | None = None
) -> Callable[[], InputFnOps]:
    """An input function that is fed each of ``features`` (tensors): dtype and shape, with another batch axis."""

    def input_fn() -> InputFnOps:
        fed = {
            name: placeholder(
                tensor.dtype,
                [default_batch_size, *tensor.get_shape().as_list()[1:]],
                name=tensor.op.name,
            )
            for name, tensor in features.items()
        }
        return InputFnOps(fed, None, fed)

    return input_fn


def as_receiver_fn(serving_input_fn: Callable[[], Any]) -> Callable[[], Any]:
    """The same for an estimator of today, whether it returns `InputFnOps` or a receiver."""

    def receiver() -> Any:
        made = serving_input_fn()
        if isinstance(made, InputFnOps):
            return ServingInputReceiver(made.features, made.default_inputs)
        return made

    return receiver


class _Strategy(NamedTuple):
    name: str
    export_fn: Callable[..., Any]
    strip_default_attrs: bool | None = None


class ExportStrategy(_Strategy):
    """How a model is exported: ``export_fn(estimator, export_path)``, below ``model_dir/export/name``.

    The function gets ``checkpoint_path``, ``eval_result`` and ``strip_default_attrs`` where it has
    arguments of these names; it returns the path, or None where it exports nothing.
    """

    __slots__ = ()

    def export(
        self,
        estimator: Any,
        export_path: Any,
        checkpoint_path: Any = None,
        eval_result: Any = None,
    ) -> Any:
        """Exports; `ValueError` for a function of ``eval_result`` that does not take ``checkpoint_path``."""
        wanted = inspect.signature(self.export_fn).parameters
        if "eval_result" in wanted and "checkpoint_path" not in wanted:
            raise ValueError("An export_fn accepting eval_result must also accept checkpoint_path.")
        known = {
            "checkpoint_path": checkpoint_path,
            "eval_result": eval_result,
            "strip_default_attrs": self.strip_default_attrs,
        }
        chosen = {key: value for key, value in known.items() if key in wanted}
        return self.export_fn(estimator, export_path, **chosen)


def garbage_collect_exports(export_dir_base: Any, exports_to_keep: int | None) -> None:
    """Removes all but the newest exports of a folder, named by their seconds; None keeps all."""
    folder = os.fsdecode(export_dir_base)
    if exports_to_keep is None or not os.path.isdir(folder):
        return
    stamps = sorted((d for d in os.listdir(folder) if len(d) == 10 and d.isdigit()), key=int)
    for stamp in stamps[: max(len(stamps) - exports_to_keep, 0)]:
        shutil.rmtree(os.path.join(folder, stamp))


def make_export_strategy(
    serving_input_fn: Callable[[], Any],
    default_output_alternative_key: str | None = None,
    assets_extra: Any = None,
    as_text: bool = False,
    exports_to_keep: int | None = 5,
    strip_default_attrs: bool | None = None,
) -> ExportStrategy:
    """A strategy "Servo" that writes a SavedModel with the inputs of ``serving_input_fn``.

    That returns `InputFnOps`, or a `tf.estimator.export.ServingInputReceiver`. The newest
    ``exports_to_keep`` stay (None: all). ``default_output_alternative_key`` (str) chooses the head of an
    estimator that has several; it is not for a `tf.estimator.Estimator`, which raises `ValueError`.
    """

    def export_fn(estimator: Any, export_dir_base: Any, checkpoint_path: Any = None) -> Any:
        if default_output_alternative_key is not None and not hasattr(estimator, "fit"):
            raise ValueError(
                "default_output_alternative_key is not supported in core Estimator. Given: "
                f"{default_output_alternative_key}"
            )
        result = estimator.export_savedmodel(
            export_dir_base,
            as_receiver_fn(serving_input_fn),
            assets_extra=assets_extra,
            as_text=as_text,
            checkpoint_path=checkpoint_path,
        )
        garbage_collect_exports(export_dir_base, exports_to_keep)
        return result

    return ExportStrategy("Servo", export_fn, strip_default_attrs)
