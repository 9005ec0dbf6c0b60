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
    ExportOutput,
    PredictOutput,
    RegressionOutput,
)
from dataflow.estimator.model_fn import ModeKeys
from dataflow.ops.parsing import parse_example
from dataflow.ops.sources import placeholder

__all__ = [
    "ClassificationOutput",
    "ExportOutput",
    "PredictOutput",
    "RegressionOutput",
    "ServingInputReceiver",
    "TensorServingInputReceiver",
    "build_parsing_serving_input_receiver_fn",
    "build_raw_serving_input_receiver_fn",
    "export_estimator",
]


class _Receiver(NamedTuple):
    features: Any
    receiver_tensors: Any
    receiver_tensors_alternatives: Any


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
        received = {}
        for name, like in features.items():
            dims = getattr(like.shape, "_dims", like.shape)
            shape = None if dims is None else [default_batch_size, *dims[1:]]
            received[name] = placeholder(like.dtype, shape, name=name)
        return ServingInputReceiver(dict(received), received)

    return serving_input_receiver_fn


def export_estimator(
    estimator: Any,
    export_dir_base: Any,
    receiver_fn: Callable[[], Any],
    assets_extra: dict[str, Any] | None,
    as_text: bool,
    checkpoint: str,
) -> bytes:
    """Builds the model for PREDICT, restores the checkpoint, and writes a SavedModel."""
    from dataflow.ops.lookup import tables_initializer
    from dataflow.runtime.session import Session
    from dataflow.saved_model.builder import SavedModelBuilder
    from dataflow.train.global_step import create_global_step
    from dataflow.train.saver import Saver

    with estimator._new_graph() as graph:
        create_global_step(graph)
        receiver = receiver_fn()
        spec = estimator._call_model_fn(receiver.features, None, ModeKeys.PREDICT)
        outputs = spec.export_outputs
        if outputs is None:
            raise ValueError(
                "export_outputs must be defined to export: give them to EstimatorSpec, for example "
                "{'predict': tf.estimator.export.PredictOutput(predictions)}."
            )
        signatures = _signatures(outputs, receiver.receiver_tensors)
        saver = Saver()
        with Session(graph=graph) as session:
            saver.restore(session, checkpoint)
            folder = _timestamped(os.fspath(export_dir_base))
            builder = SavedModelBuilder(folder)
            builder.add_meta_graph_and_variables(
                session,
                ["serve"],
                signature_def_map=signatures,
                main_op=tables_initializer(),
                saver=saver,
            )
            builder.save(as_text)
    for name, source in (assets_extra or {}).items():
        target = os.path.join(folder, "assets.extra", name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copyfile(source, target)
    return folder.encode()


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
