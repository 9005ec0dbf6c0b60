"""`tf.estimator.export`: how a model that serves receives its input."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from dataflow import dtypes, logging
from dataflow.estimator.export_outputs import (
    ClassificationOutput,
    EvalOutput,
    ExportOutput,
    PredictOutput,
    RegressionOutput,
    TrainOutput,
)
from dataflow.estimator.model_fn import ModeKeys
from dataflow.formats.local_paths import local_path
from dataflow.graph.tensor import Tensor
from dataflow.ops.parsing import parse_example
from dataflow.ops.sources import placeholder
from dataflow.ops.sparse_tensor import SparseTensor

__all__ = [
    "ClassificationOutput",
    "EvalOutput",
    "ExportOutput",
    "PredictOutput",
    "RegressionOutput",
    "ServingInputReceiver",
    "SupervisedInputReceiver",
    "TensorServingInputReceiver",
    "TrainOutput",
    "build_parsing_serving_input_receiver_fn",
    "build_raw_serving_input_receiver_fn",
    "build_raw_supervised_input_receiver_fn",
    "export_estimator",
]


class _Receiver(NamedTuple):
    features: Any
    receiver_tensors: Any
    receiver_tensors_alternatives: Any


def _check_tensors(what: str, tensors: dict[str, Any]) -> None:
    """Raises `ValueError` for a key that is no text, and for what is no tensor."""
    for key, value in tensors.items():
        if not isinstance(key, str):
            raise ValueError(f"{what} keys must be strings: {key!r}.")
        if not isinstance(value, (Tensor, SparseTensor)):
            raise ValueError(f"{what} {key} must be a Tensor or SparseTensor, got {value!r}.")


class ServingInputReceiver(_Receiver):
    """Features for the model, and the placeholders that requests fill (a tensor is "input")."""

    __slots__ = ()

    def __new__(
        cls, features: Any, receiver_tensors: Any, receiver_tensors_alternatives: Any = None
    ) -> ServingInputReceiver:
        if features is None:
            raise ValueError("features must be defined.")
        if receiver_tensors is None:
            raise ValueError("receiver_tensors must be defined.")
        if not isinstance(features, dict):
            features = {"feature": features}
        if not isinstance(receiver_tensors, dict):
            receiver_tensors = {"input": receiver_tensors}
        _check_tensors("feature", features)
        _check_tensors("receiver_tensor", receiver_tensors)
        return super().__new__(cls, features, receiver_tensors, receiver_tensors_alternatives)


class TensorServingInputReceiver(_Receiver):
    """`ServingInputReceiver` for models whose features are one tensor."""

    __slots__ = ()

    def __new__(
        cls, features: Any, receiver_tensors: Any, receiver_tensors_alternatives: Any = None
    ) -> TensorServingInputReceiver:
        if features is None or isinstance(features, dict):
            raise ValueError("features must be a tensor.")
        if not isinstance(receiver_tensors, dict):
            receiver_tensors = {"input": receiver_tensors}
        return super().__new__(cls, features, receiver_tensors, receiver_tensors_alternatives)


class SupervisedInputReceiver(NamedTuple):
    """Features and labels for the model, and the placeholders that requests fill."""

    features: Any
    labels: Any
    receiver_tensors: Any


def build_raw_supervised_input_receiver_fn(
    features: Any, labels: Any, default_batch_size: int | None = None
) -> Callable[[], SupervisedInputReceiver]:
    """A receiver of features and labels: placeholders like the given tensors (or dicts of them).

    Raises `ValueError` for a name that both have.
    """

    def supervised_input_receiver_fn() -> SupervisedInputReceiver:
        named_features = features if isinstance(features, dict) else {"input": features}
        named_labels = labels if isinstance(labels, dict) else {"label": labels}
        both = sorted(set(named_features) & set(named_labels))
        if both:
            raise ValueError(
                f"Features and labels must have distinct keys. Found overlapping keys: {both}"
            )
        x = _placeholders(named_features, default_batch_size)
        y = _placeholders(named_labels, default_batch_size)
        return SupervisedInputReceiver(
            x if isinstance(features, dict) else x["input"],
            y if isinstance(labels, dict) else y["label"],
            {**x, **y},
        )

    return supervised_input_receiver_fn


def _placeholders(like: dict[str, Any], batch_size: int | None) -> dict[str, Any]:
    """Placeholders like these tensors, of any batch size or this one."""
    result = {}
    for name, tensor in like.items():
        dims = getattr(tensor.shape, "_dims", tensor.shape)
        shape = None if dims is None else [batch_size, *dims[1:]]
        result[name] = placeholder(tensor.dtype, shape, name=name)
    return result


def build_parsing_serving_input_receiver_fn(
    feature_spec: dict[str, Any], default_batch_size: int | None = None
) -> Callable[[], ServingInputReceiver]:
    """A receiver of serialized `tf.train.Example`s, parsed by ``feature_spec``."""

    def serving_input_receiver_fn() -> ServingInputReceiver:
        examples = placeholder(dtypes.string, [default_batch_size], name="input_example_tensor")
        return ServingInputReceiver(parse_example(examples, feature_spec), {"examples": examples})

    return serving_input_receiver_fn


def build_raw_serving_input_receiver_fn(
    features: dict[str, Any], default_batch_size: int | None = None
) -> Callable[[], ServingInputReceiver]:
    """A receiver of the features themselves: placeholders like the given tensors."""

    def serving_input_receiver_fn() -> ServingInputReceiver:
        received = _placeholders(features, default_batch_size)
        return ServingInputReceiver(dict(received), received)

    return serving_input_receiver_fn


#: The tag of each mode's graph, in the order in which they are written; the first one's variables
#: are saved, and training has them all.
_TAGS = {ModeKeys.TRAIN: "train", ModeKeys.EVAL: "eval", ModeKeys.PREDICT: "serve"}
#: The collection that holds the training op of an exported graph.
_TRAIN_OP_COLLECTION = "saved_model_train_op"


def export_estimator(
    estimator: Any,
    export_dir_base: Any,
    receiver_fns: dict[str, Callable[[], Any]],
    assets_extra: dict[str, Any] | None,
    as_text: bool,
    checkpoint: str,
) -> bytes:
    """Builds the model for each mode, restores the checkpoint, and writes a SavedModel of them all.

    Raises `ValueError` for no mode or an unknown one.
    """
    from dataflow.saved_model.builder import SavedModelBuilder

    unknown = sorted(set(receiver_fns) - set(_TAGS))
    if unknown or not receiver_fns:
        raise ValueError(
            f"No valid modes for exporting found. Got {sorted(receiver_fns)}, expected keys of "
            f"tf.estimator.ModeKeys: {sorted(_TAGS)}."
        )
    folder = _timestamped(local_path(export_dir_base))
    builder = SavedModelBuilder(folder)
    for i, mode in enumerate(mode for mode in _TAGS if mode in receiver_fns):
        _add_mode(builder, estimator, mode, receiver_fns[mode], checkpoint, is_first=i == 0)
    builder.save(as_text)
    for name, source in (assets_extra or {}).items():
        target = os.path.join(folder, "assets.extra", name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copyfile(source, target)
    return folder.encode()


def _add_mode(
    builder: Any,
    estimator: Any,
    mode: str,
    receiver_fn: Callable[[], Any],
    checkpoint: str,
    is_first: bool,
) -> None:
    from dataflow.ops.control_flow import group
    from dataflow.ops.lookup_tables import tables_initializer
    from dataflow.ops.variable_lists import local_variables_initializer
    from dataflow.runtime.session import Session
    from dataflow.train.global_step import create_global_step
    from dataflow.train.saver import Saver

    with estimator._new_graph() as graph:
        create_global_step(graph)
        receiver = receiver_fn()
        labels = getattr(receiver, "labels", None)
        spec = estimator._call_model_fn(receiver.features, labels, mode)
        if mode == ModeKeys.PREDICT:
            signatures = _signatures(spec.export_outputs, receiver.receiver_tensors)
        else:
            kind: Any = TrainOutput if mode == ModeKeys.TRAIN else EvalOutput
            output = kind(spec.loss, spec.predictions, spec.eval_metric_ops)
            signatures = {_TAGS[mode]: output.as_signature_def(receiver.receiver_tensors)}
        if spec.train_op is not None:
            graph.add_to_collection(_TRAIN_OP_COLLECTION, spec.train_op)
        added = {
            "signature_def_map": signatures,
            "main_op": group(tables_initializer(), local_variables_initializer()),
        }
        saver = Saver()
        if not is_first:
            builder.add_meta_graph([_TAGS[mode]], saver=saver, **added)
            return
        with Session(graph=graph) as session:
            saver.restore(session, checkpoint)
            builder.add_meta_graph_and_variables(session, [_TAGS[mode]], saver=saver, **added)


def _signatures(outputs: dict[str, Any], receiver_tensors: dict[str, Any]) -> dict[str, Any]:
    named = dict(outputs)
    if len(named) == 1:
        named.setdefault("serving_default", next(iter(named.values())))
    result = {}
    for key, output in named.items():
        if not isinstance(output, ExportOutput):
            raise ValueError(f"Values in export_outputs must be ExportOutput, got {output!r}.")
        try:
            result[key] = output.as_signature_def(receiver_tensors)
        except ValueError as e:
            logging.warning("The signature %r is left out of the export: %s", key, e)
    if not result:
        raise ValueError("No signature fits the receiver's tensors: nothing to export.")
    return result


def _timestamped(base: str) -> str:
    """A folder named by seconds since 1970 that does not exist yet."""
    stamp = int(time.time())
    while os.path.exists(os.path.join(base, str(stamp))):
        stamp += 1
    os.makedirs(base, exist_ok=True)
    return os.path.join(base, str(stamp))
