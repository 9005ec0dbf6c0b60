"""Steps of models that run line by line, in eager code: ``compile(run_eagerly=True)``, and layers that are ``dynamic``."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from dataflow.functions.run_eagerly import functions_run_eagerly
from dataflow.graph import nest
from dataflow.graph.default_stacks import use_graph
from dataflow.graph.eager import eager_graph
from dataflow.keras import backend as K
from dataflow.keras.call_nodes import Node
from dataflow.ops.sources import constant, placeholder

_DYNAMIC = (
    "Your model contains layers that can only be successfully run in eager execution (layers constructed "
    "with `dynamic=True`)."
)


def runs_eagerly(model: Any, asked: bool | None) -> bool:
    """Whether the model's steps run in eager code, where its program ``asked`` for it or not (None: said nothing).

    Raises `ValueError` where that cannot be: outside of eager execution, and for dynamic layers that shall
    run as a graph.
    """
    is_eager = model._graph.variables_are_eager
    if asked and not is_eager:
        raise ValueError(
            "You can only set `run_eagerly=True` if eager execution is enabled: call "
            "tf.enable_eager_execution() at the start of the program."
        )
    if not model.dynamic:
        return (is_eager and functions_run_eagerly()) if asked is None else asked
    if not is_eager:
        raise ValueError(f"{_DYNAMIC} You must call tf.enable_eager_execution() first.")
    if asked is False:
        raise ValueError(f"{_DYNAMIC} You cannot set `run_eagerly=False`.")
    return True


def meet_inputs(model: Any, inputs: Any, arrays: list[Any]) -> Any:
    """The outputs of a model of a program's own for symbolic ``inputs``, whose first values are ``arrays``.

    Where its ``call`` only runs eagerly, it is called with the arrays, and tensors without values stand for the
    outputs.
    """
    if not arrays or not model.run_eagerly:
        return model(inputs)
    if not model.dynamic:
        try:
            return model(inputs)
        except (
            Exception
        ):  # its code asks tensors for their values: that is what it runs eagerly for
            pass
    with use_graph(eager_graph()), K.learning_phase_scope(0):
        values = [constant(a, t.dtype) for a, t in zip(arrays, nest.flatten(inputs), strict=True)]
        found = model(nest.pack_like(inputs, values))
    made = [
        placeholder(value.dtype.base_dtype, [None, *value.shape.as_list()[1:]], name=model.name)
        for value in nest.flatten(found)
    ]
    outputs = nest.pack_like(found, made)
    Node(model, inputs, outputs, {})
    return outputs


class EagerStep:
    """What `fit` calls with the arrays of a batch: "train", "test" or "predict", in eager code.

    ``loss_of`` gives the loss of an output that is compared with a target.
    """

    def __init__(self, model: Any, kind: str, loss_of: Callable[[Any], Any]) -> None:
        self._model, self._kind, self._loss_of = model, kind, loss_of
        self._feeds = [tensor for tensor, _ in model._fed_inputs()]
        self._num_inputs = len(self._feeds)
        if kind != "predict":
            self._feeds += [*model.targets, *model.sample_weights]

    def __call__(self, arrays: list[Any]) -> list[Any]:
        """The outputs, or the loss and what is reported beside it, as arrays."""
        with use_graph(eager_graph()), K.learning_phase_scope(int(self._kind == "train")):
            values = [
                constant(np.asarray(array, tensor.dtype.base_dtype.as_numpy_dtype))
                for array, tensor in zip(arrays, self._feeds, strict=True)
            ]
            if self._kind == "predict":
                return [output.numpy() for output in self._outputs(values)]
            return [np.asarray(value) for value in self._reported(values)]

    def _outputs(self, values: list[Any]) -> list[Any]:
        model, more = self._model, {}
        if "training" in model._call_arguments():
            more["training"] = self._kind == "train"
        return nest.flatten(model(nest.pack_like(model.input, values[: self._num_inputs]), **more))

    def _reported(self, values: list[Any]) -> list[Any]:
        """The loss, and what is reported beside it; one step down the loss in training."""
        model = self._model
        trained: list[Any] = []
        total: Any = None

        def loss() -> Any:
            nonlocal trained, total
            trained = self._compared(self._outputs(values), values)
            terms = [t.term if t.share is None else float(t.share) * t.term for t in trained]
            total = sum([*terms[1:], *model.losses], terms[0]) if terms else sum(model.losses)
            return total

        if self._kind == "train" and model._collected_weights:
            model.optimizer.minimize(loss, model._collected_weights)
        else:
            loss()
        return [total, *self._counted(trained)]

    def _compared(self, outputs: list[Any], values: list[Any]) -> list[Any]:
        """The outputs that have a loss, with the tensors of this batch."""
        given = {id(t): value for t, value in zip(self._feeds, values, strict=True)}
        found = []
        for one in self._model.trained_outputs:
            now = dataclasses.replace(
                one,
                output=outputs[one.number],
                target=given.get(id(one.target), one.target),
                sample_weight=given.get(id(one.sample_weight), one.sample_weight),
            )
            now.term = self._loss_of(now)
            found.append(now)
        return found

    def _counted(self, trained: list[Any]) -> list[Any]:
        """The losses of single outputs and the metrics, in the order of ``metrics_names``."""
        model = self._model
        found = [mean(one.term) for mean, one in zip(model.loss_means, trained, strict=False)]
        by_number = {one.number: one for one in trained}
        for metric, number, is_weighted in model.watched_metrics:
            one = by_number[number]
            weights = one.masked_weights if is_weighted else one.mask
            found.append(metric(one.target, one.output, sample_weight=weights))
        latest = {id(metric): value for metric, value in model.metric_values()}
        return found + [
            latest[id(metric)] for metric in model.layer_metrics if id(metric) in latest
        ]
