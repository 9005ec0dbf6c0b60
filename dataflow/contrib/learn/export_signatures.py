"""Which signatures a model of `tf.contrib.learn` is exported with, and the folders of its exports."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from typing import Any

from dataflow import dtypes
from dataflow.contrib.feature_columns import create_feature_spec_for_parsing
from dataflow.contrib.learn.exports import (
    ExportStrategy,
    InputFnOps,
    build_parsing_serving_input_fn,
    make_export_strategy,
)
from dataflow.contrib.learn.keys import ProblemType
from dataflow.contrib.learn.prediction_key import PredictionKey
from dataflow.gfile import IsDirectory, ListDirectory
from dataflow.train.signatures import (
    classification_signature_def,
    predict_signature_def,
    regression_signature_def,
)

#: The one way of input that an input function has.
DEFAULT_INPUT_ALTERNATIVE_KEY = "default_input_alternative"
#: The features as they are; not exported.
FEATURES_INPUT_ALTERNATIVE_KEY = "features_input_alternative"
#: The name of the output of a model without heads' names.
DEFAULT_OUTPUT_ALTERNATIVE = "default_output_alternative"
_SERVING_DEFAULT = "serving_default"


def get_input_alternatives(input_ops: Any) -> tuple[dict[str, Any], Any]:
    """(Ways of input by name, the features) of what a serving input function returned.

    Only `InputFnOps` have a way of input; a pair (features, labels) has none.
    """
    if isinstance(input_ops, InputFnOps) and input_ops.default_inputs:
        return {DEFAULT_INPUT_ALTERNATIVE_KEY: input_ops.default_inputs}, input_ops.features
    return {}, input_ops[0]


def get_output_alternatives(
    model_fn_ops: Any, default_output_alternative_key: str | None = None
) -> tuple[dict[Any, Any], Any]:
    """(Outputs by name: (`ProblemType`, tensors by name), the name of the default).

    A model without alternatives has its predictions. Raises `ValueError` for a default that is not there, and
    for several without a default.
    """
    alternatives = model_fn_ops.output_alternatives
    if not alternatives:
        if default_output_alternative_key:
            raise ValueError(
                f"Requested default_output_alternative: {default_output_alternative_key}, but "
                "available output_alternatives are: []"
            )
        predictions = model_fn_ops.predictions
        if not isinstance(predictions, dict):
            predictions = {"output": predictions}
        default = DEFAULT_OUTPUT_ALTERNATIVE
        return {default: (ProblemType.UNSPECIFIED, predictions)}, default
    if default_output_alternative_key:
        if default_output_alternative_key not in alternatives:
            raise ValueError(
                f"Requested default_output_alternative: {default_output_alternative_key}, but "
                f"available output_alternatives are: {sorted(alternatives)}"
            )
        return alternatives, default_output_alternative_key
    if len(alternatives) == 1:
        return alternatives, next(iter(alternatives))
    raise ValueError(
        "Please specify a default_output_alternative.  Available output_alternatives are: "
        f"{sorted(alternatives)}"
    )


def build_standardized_signature_def(
    input_tensors: dict[str, Any], output_tensors: dict[str, Any], problem_type: int
) -> Any:
    """A signature for regression or classification where there is one input and the problem says so.

    A classification has classes that are texts, and scores (or probabilities) that are floats: what is there of
    them. Anything else has a signature for prediction.
    """
    if not input_tensors or not output_tensors:
        raise ValueError("input_tensors and output_tensors must be provided.")
    if len(input_tensors) == 1:
        (examples,) = input_tensors.values()
        if problem_type == ProblemType.LINEAR_REGRESSION and len(output_tensors) == 1:
            (predictions,) = output_tensors.values()
            return regression_signature_def(examples, predictions)
        if problem_type in (ProblemType.CLASSIFICATION, ProblemType.LOGISTIC_REGRESSION):
            classes, scores = _classes_and_scores(output_tensors)
            if classes is not None or scores is not None:
                return classification_signature_def(examples, classes, scores)
    return predict_signature_def(input_tensors, output_tensors)


def _classes_and_scores(tensors: dict[str, Any]) -> tuple[Any, Any]:
    if len(tensors) == 1:
        (only,) = tensors.values()
        return (only, None) if only.dtype.base_dtype is dtypes.string else (None, only)
    classes = tensors.get(PredictionKey.CLASSES)
    if classes is not None and classes.dtype.base_dtype is not dtypes.string:
        classes = None  # a classification's classes have names
    scores = tensors.get(PredictionKey.SCORES)
    if scores is None:
        scores = tensors.get(PredictionKey.PROBABILITIES)
    return classes, scores


def build_all_signature_defs(
    input_alternatives: dict[str, Any],
    output_alternatives: dict[Any, Any],
    actual_default_output_alternative_key: Any,
) -> dict[str, Any]:
    """A signature for each pair of input and output, ``input:output``, and ``serving_default``.

    Raises `ValueError` without a default way of input.
    """
    if DEFAULT_INPUT_ALTERNATIVE_KEY not in input_alternatives:
        raise ValueError(
            "A default input_alternative must be provided: let serving_input_fn return InputFnOps."
        )
    found = {
        f"{input_key}:{output_key}": build_standardized_signature_def(inputs, outputs, kind)
        for input_key, inputs in input_alternatives.items()
        for output_key, (kind, outputs) in output_alternatives.items()
    }
    kind, outputs = output_alternatives[actual_default_output_alternative_key]
    inputs = input_alternatives[DEFAULT_INPUT_ALTERNATIVE_KEY]
    found[_SERVING_DEFAULT] = build_standardized_signature_def(inputs, outputs, kind)
    return found


def get_timestamped_export_dir(export_dir_base: Any) -> str:
    """The folder of an export that is made now: the seconds since 1970, below ``export_dir_base``.

    It waits for the next second where there is one; raises `RuntimeError` after ten.
    """
    for _ in range(10):
        folder = os.path.join(os.fsdecode(export_dir_base), str(int(time.time())))
        if not IsDirectory(folder):
            return folder
        time.sleep(1)
    raise RuntimeError(
        f"No free name for an export below {os.fsdecode(export_dir_base)!r} in 10 s."
    )


def get_most_recent_export(export_dir_base: Any) -> Any:
    """(Folder, its number) of the newest export; None where there is none."""
    from dataflow.python.checkpoint_gc import Path

    base = os.fsdecode(export_dir_base)
    names = ListDirectory(base) if IsDirectory(base) else []
    stamps = sorted(int(n.strip("/")) for n in names if n.strip("/").isdigit())
    return Path(os.path.join(base, str(stamps[-1])), stamps[-1]) if stamps else None


def make_parsing_export_strategy(
    feature_columns: Iterable[Any],
    default_output_alternative_key: str | None = None,
    assets_extra: Any = None,
    as_text: bool = False,
    exports_to_keep: int | None = 5,
    target_core: bool = False,
    strip_default_attrs: bool | None = None,
) -> ExportStrategy:
    """`make_export_strategy` of serialized Examples that have what the columns need.

    ``target_core``: for a `tf.estimator.Estimator`.
    """
    from dataflow.estimator.export import build_parsing_serving_input_receiver_fn

    spec = create_feature_spec_for_parsing(feature_columns)
    build: Callable[..., Any] = (
        build_parsing_serving_input_receiver_fn if target_core else build_parsing_serving_input_fn
    )
    return make_export_strategy(
        build(spec),
        default_output_alternative_key,
        assets_extra,
        as_text,
        exports_to_keep,
        strip_default_attrs,
    )
