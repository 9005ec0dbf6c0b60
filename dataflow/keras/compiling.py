"""`compile`: losses, metrics and the ops of a training step, as nodes of a model's graph."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable
from typing import Any

from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.eager_tensor import EagerTensor
from dataflow.graph.tensor import Tensor
from dataflow.keras import (
    backend as K,
    losses as losses_module,
    metrics as metrics_module,
    optimizers,
    package_losses,
)
from dataflow.keras.base_metric import Mean, MeanMetricWrapper, Metric, weights_like
from dataflow.keras.call_nodes import tag_of
from dataflow.keras.eager_steps import runs_eagerly
from dataflow.keras.loss_scale_optimizer import LossScaleOptimizer
from dataflow.keras.strategy_checks import check_compiled
from dataflow.ops import array
from dataflow.ops.control_flow import group
from dataflow.ops.math import cast
from dataflow.ops.sources import placeholder
from dataflow.ops.variables import Variable


@dataclasses.dataclass
class _Trained:
    """An output that has a loss: what it is compared with, and the loss."""

    number: int
    name: str
    output: Any
    function: Any
    target: Any
    #: None where the target is a tensor of the program's own.
    sample_weight: Any
    term: Any
    #: What the loss counts among those of the other outputs.
    share: Any

    @property
    def mask(self) -> Any:
        return tag_of(self.output, "mask")

    @property
    def masked_weights(self) -> Any:
        """The sample weights, 0 where the mask is not set."""
        if self.mask is None:
            return self.sample_weight
        kept = cast(self.mask, K.floatx())
        weights = self.sample_weight
        return kept if weights is None else weights_like(weights, kept) * kept


class Compiling:
    """The part of `Model` that says how to train."""

    _graph: Any
    inputs: list[Any]
    outputs: list[Any]

    #: Attributes that hold metrics and variables, and make them no parts of the model.
    not_parts = frozenset(
        {"_metrics", "_weighted_metrics", "_metric_objects", "_counted", "_compile_arguments"}
        | {"_collected_weights", "_compiled_metrics", "_target_ranks", "optimizer"}
        | {"trained_outputs", "watched_metrics", "loss_means", "layer_metrics"}
    )

    def _init_training(self) -> None:
        self.optimizer: Any = None
        self.stop_training = False
        self.history: Any = None
        self._run_eagerly: bool | None = None
        self.metrics_names: list[str] = []
        self._compile_arguments: dict[str, Any] = {}
        self._compiled_metrics: list[Any] = []
        self._metric_objects: list[Any] = []
        #: The metrics that the program asked for, each with its value after a batch.
        self._counted: list[tuple[Any, Any]] = []
        #: Of targets of a program's own loss that have other ranks than the outputs, in eager code.
        self._target_ranks: dict[str, int] = {}
        #: Of steps in eager code: the outputs that have a loss, the metrics of `compile` as (metric, number
        #: of its output, whether sample weights count), those of the outputs' losses, and those of layers.
        self.trained_outputs: list[Any] = []
        self.watched_metrics: list[tuple[Any, int, bool]] = []
        self.loss_means: list[Any] = []
        self.layer_metrics: list[Any] = []
        self._stale()

    #: Gives the optimizer the variables that were saved with the weights, once it has its own.
    awaited_optimizer: Callable[[], None] | None = None

    def _stale(self) -> None:
        self._trained: Any = None
        self._functions: dict[Any, Callable[..., Any]] = {}
        #: The data that was last tested on, and its batches.
        self._tested: tuple[Any, Any] | None = None

    @property
    def run_eagerly(self) -> bool:
        """Whether steps run line by line in eager code, not as a graph: as `compile` was told, for dynamic layers always.

        Raises `ValueError` where that cannot be.
        """
        return runs_eagerly(self, self._run_eagerly)

    @run_eagerly.setter
    def run_eagerly(self, value: bool | None) -> None:
        self._run_eagerly = value

    def compile(
        self,
        optimizer: Any = "rmsprop",
        loss: Any = None,
        metrics: Any = None,
        loss_weights: Any = None,
        sample_weight_mode: Any = None,
        weighted_metrics: Any = None,
        target_tensors: Any = None,
        distribute: Any = None,
        **kwargs: Any,
    ) -> None:
        """Says how to train: an optimizer, a loss, and metrics to watch, by name or object.

        ``metrics=["accuracy"]`` is the accuracy that fits the loss. For several outputs, lists or
        dicts by output name. ``weighted_metrics`` count sample weights, ``metrics`` do not;
        ``sample_weight_mode="temporal"`` takes a weight for each step. ``target_tensors`` are
        tensors to compare with, in place of placeholders for ``y``; the inputs must be tensors too
        (`Input(tensor=...)`). Without a ``loss``, what `add_loss` was given is minimized, and
        `fit` needs no ``y``.

        The weights that are trained are those that are ``trainable`` now: a layer that is frozen
        later is trained until `compile` is called again. ``run_eagerly=True`` runs each step line by line,
        in eager code: to look at values with print or a debugger.

        Raises `ValueError` for unknown names, `RuntimeError` where there is nothing to minimize.
        """
        if distribute is not None:
            raise NotImplementedError("compile(distribute=...) is not supported.")
        self._run_eagerly = kwargs.pop("run_eagerly", None)
        _ = self.run_eagerly
        # How TensorFlow's training runs inside.
        is_tf_function = kwargs.pop("experimental_run_tf_function", True)
        if kwargs:
            raise TypeError(f"compile: unexpected argument {next(iter(kwargs))!r}.")
        check_compiled(self, self._run_eagerly, is_tf_function)
        with self._graph.as_default():
            self.optimizer = self._scaled(optimizers.get(optimizer))
        self.loss = loss
        self._metrics, self._weighted_metrics = metrics or [], weighted_metrics or []
        self.loss_weights = loss_weights
        self.sample_weight_mode = sample_weight_mode
        self._target_tensors = target_tensors
        self._target_ranks.clear()
        self._compile_arguments = {
            "loss": loss,
            "metrics": metrics,
            "loss_weights": loss_weights,
            "sample_weight_mode": sample_weight_mode,
            "weighted_metrics": weighted_metrics,
        }
        for one in _each_loss(loss):
            losses_module.get(one)
        self._stale()
        if self.outputs:
            with self._graph.as_default():
                self._make_training()

    def _scaled(self, optimizer: Any) -> Any:
        """The optimizer, with its loss scaled where the model's policy has a scale."""
        scale = getattr(self._policy, "loss_scale", None)  # type: ignore[attr-defined]
        if scale is None or isinstance(optimizer, LossScaleOptimizer):
            return optimizer
        return LossScaleOptimizer(optimizer, scale)

    @property
    def compile_settings(self) -> dict[str, Any]:
        """What `compile` was given beside the optimizer and the target tensors; empty before."""
        return dict(self._compile_arguments)

    def compiled_metrics(self) -> list[tuple[str, Any]]:
        """(name as reported, metric) of what `compile` was given."""
        self._ready(None)  # type: ignore[attr-defined]
        metrics = self._compiled_metrics
        end = len(self.metrics_names) - len(self.layer_metrics)
        names = self.metrics_names[end - len(metrics) : end]
        return list(zip(names, metrics, strict=True))

    def _per_output(self, value: Any, what: str) -> list[Any]:
        names = self.output_names  # type: ignore[attr-defined]
        if isinstance(value, dict) and "class_name" not in value:
            unknown = [k for k in value if k not in names]
            if unknown:
                raise ValueError(
                    f"Unknown entries in {what} dictionary: {unknown}. Only expected: {names}"
                )
            left_out = [n for n in names if n not in value]
            if left_out and what == "sample_weight_mode" and K.is_package_keras():
                raise ValueError(f"Outputs missing from sample_weight_mode: {left_out}")
            return [value.get(n) for n in names]
        if isinstance(value, tuple) and what == "loss_weights":
            raise TypeError(f"loss_weights must be a list or a dict of numbers, got {value!r}.")
        if isinstance(value, (list, tuple)):
            if len(value) != len(names):
                raise ValueError(
                    f"When passing a list as {what}, it should have one entry per model output. "
                    f"The model has {len(names)} outputs, but you passed {what.strip('`')}={value}"
                )
            return list(value)
        return [value] * len(names)

    # ---- losses ---------------------------------------------------------------------------

    def _make_training(self) -> None:
        trained = self._trained_outputs()
        fed = [t for t in trained if t.sample_weight is not None]
        self.targets = [t.target for t in fed]
        self.sample_weights = [t.sample_weight for t in fed]
        self._target_names = [t.name for t in fed]
        #: Outputs that are compared with tensors of the program's own: weights do not count there.
        self._unfed_names = [t.name for t in trained if t.sample_weight is None]
        terms = [t.term if t.share is None else float(t.share) * t.term for t in trained]
        sources = {t.op for t in [*self.inputs, *self.targets, *self.sample_weights]}
        terms += [p for p in self.losses if reached_from(p, sources)]  # type: ignore[attr-defined]
        if not terms and not self.run_eagerly:
            raise RuntimeError(
                "The model has no loss to train with: compile(optimizer, loss=...), or add_loss."
            )
        total = sum(terms[1:], terms[0]) if terms else None
        self.total_loss = total
        each = trained if len(self.outputs) > 1 else []
        values, objects = _losses_of_each(each)
        self._num_losses = 1 if objects else 1 + len(values)
        titles, metrics, metric_objects = self._metrics_of(trained)
        self.trained_outputs, self.loss_means = trained, objects
        self.layer_metrics = []
        for metric, value in self.metric_values():  # type: ignore[attr-defined]
            if isinstance(value, EagerTensor) or reached_from(value, sources):
                self.layer_metrics.append(metric)
                titles.append(metric.name)
                metrics.append(value)
                metric_objects.append(metric)
        self.metrics_names = ["loss", *[f"{one.name}_loss" for one in each], *titles]
        self._reported = [total, *values, *metrics]
        self._metric_objects = [*objects, *metric_objects]
        self._counted = list(zip(metric_objects, metrics, strict=True))
        self._collected_weights = self.trainable_weights  # type: ignore[attr-defined]
        self._trained = "compiled"
        self._train_ops: Any = None

    @property
    def metrics_tensors(self) -> list[Any]:
        """What is reported beside the loss, in the order of ``metrics_names``."""
        self._ready(None)  # type: ignore[attr-defined]
        return list(self._reported[1:])

    def _trained_outputs(self) -> list[_Trained]:
        """The outputs that have a loss, with new placeholders for what they are compared with."""
        names = self.output_names  # type: ignore[attr-defined]
        functions = [losses_module.get(x) for x in self._per_output(self.loss, "loss")]
        shares = self._per_output(self.loss_weights, "loss_weights")
        given = self._given_targets()
        modes = self._per_output(self.sample_weight_mode, "sample_weight_mode")
        found = []
        for number, (name, output, function) in enumerate(
            zip(names, self.outputs, functions, strict=True)
        ):
            if function is None:
                continue
            kind = getattr(function, "__name__", getattr(function, "name", ""))
            target, sample_weight = given[number], None
            if target is None or target.op.type == "Placeholder":
                made, sample_weight = self._placeholders(name, output, kind, modes[number])
                target = made if target is None else target
            elif target.shape.ndims == 1 and output.shape.ndims == 2 and "sparse" not in kind:
                target = array.expand_dims(target, -1)
            one = _Trained(
                number, name, output, function, target, sample_weight, None, shares[number]
            )
            with self._graph.name_scope(f"loss/{name}_loss"):
                one.term = loss_of(one)
            found.append(one)
        return found

    def _accept_ranks(self, arrays: list[Any]) -> None:
        """Lets targets have other ranks than the outputs, where the loss is a program's own.

        In eager code TensorFlow calls it with whatever it is given: labels, say, for rows of logits.
        """
        if not self._graph.variables_are_eager or len(arrays) != len(self._target_names):
            return
        pairs = zip(self._target_names, arrays, self.targets, strict=True)
        others = {n: a.ndim for n, a, t in pairs if t.dims and a.ndim not in (1, len(t.dims))}
        if not others:
            return
        self._target_ranks.update(others)
        self._stale()
        with self._graph.as_default():
            self._make_training()

    def _given_targets(self) -> list[Any]:
        """The tensor of each output to compare it with, None for a placeholder; raises for others."""
        given: Any = self._target_tensors
        if given is None or isinstance(given, (list, tuple, dict)):
            found = self._per_output(given, "`target_tensors`")
        elif not isinstance(given, (Tensor, Variable)):
            raise TypeError(
                f"Expected `target_tensors` to be a list or tuple or dict or a single tensor, got: {given}"
            )
        elif len(self.outputs) > 1:
            raise ValueError(
                f"The model has {len(self.outputs)} outputs, but you passed a single tensor as "
                "`target_tensors`. Expected a list or a dict of tensors."
            )
        else:
            found = [given]
        return [convert_to_tensor(t) if isinstance(t, Variable) else t for t in found]

    def _placeholders(self, name: str, output: Any, kind: str, mode: Any) -> tuple[Any, Any]:
        """What an output is compared with, and the weights of its examples (or steps)."""
        dims = None if output.dims is None else list(output.dims)
        if "sparse" in kind and dims is not None:
            dims = [*dims[:-1], 1]
        elif kind not in losses_module.BY_NAME and dims is not None:
            rank = self._target_ranks.get(name, len(dims))
            dims = [None] * rank if len(dims) else None  # one number: a loss that a layer computed
        if dims:
            dims[0] = (
                None  # an output of one row, a mean of the batch say, is compared with each example
            )
        if mode not in (None, "temporal"):
            raise ValueError(f"sample_weight_mode must be None or 'temporal', got {mode!r}.")
        dtype = output.dtype.base_dtype
        rank = 2 if mode == "temporal" else 1
        return (
            placeholder(dtype, dims, name=f"{name}_target"),
            placeholder(K.floatx(), [None] * rank, name=f"{name}_sample_weights"),
        )

    # ---- metrics --------------------------------------------------------------------------

    def _metrics_of(self, trained: list[_Trained]) -> tuple[list[str], list[Any], list[Any]]:
        """Titles, values after a batch, and objects of the metrics that `compile` was given."""
        alone = len(self.outputs) == 1
        watched = self._watched(self._metrics, "metrics")
        weighted = self._watched(self._weighted_metrics, "weighted_metrics")
        titles, values, objects = [], [], []
        self.watched_metrics = []
        for one in trained:
            for metric, is_weighted, prefix in (
                *((m, False, "") for m in watched[one.number]),
                *((m, True, "weighted_") for m in weighted[one.number]),
            ):
                title, value, made = self._metric(metric, one, is_weighted)
                title = prefix + title
                titles.append(title if alone else f"{one.name}_{title}")
                values.append(value)
                objects.append(made)
                self.watched_metrics.append((made, one.number, is_weighted))
        self._compiled_metrics = list(objects)
        return titles, values, objects

    def _watched(self, metrics: Any, what: str) -> list[list[Any]]:
        """The metrics of each output; a flat list is for all of them, each with objects of its own."""
        names = self.output_names  # type: ignore[attr-defined]
        if isinstance(metrics, dict) or any(isinstance(m, (list, tuple)) for m in metrics):
            wanted = self._per_output(metrics, what)
            return [list(w) if isinstance(w, (list, tuple)) else [w] if w else [] for w in wanted]
        if len(names) == 1:
            return [list(metrics)]
        return [
            [type(m).from_config(m.get_config()) if isinstance(m, Metric) else m for m in metrics]
            for _ in names
        ]

    def _metric(self, metric: Any, of: _Trained, is_weighted: bool) -> tuple[str, Any, Any]:
        """A metric's title, its value after a batch, and the object that counts it."""
        if package_losses.is_counting_layer(metric):
            counting = package_losses.CountingLayer(metric)
            return counting.name, counting.value(of.target, of.output), counting
        if metric in ("acc", "accuracy", "ce", "crossentropy"):
            title = "acc" if metric in ("acc", "accuracy") else "ce"
            function = metrics_module.of_name(metric, of.function, of.output)
            made = MeanMetricWrapper(function, title)
        else:
            made = metrics_module.get(metric)
            if not isinstance(made, Metric):
                title = str(getattr(made, "name", None) or getattr(made, "__name__", "metric"))
                function = made.call if isinstance(made, losses_module.Loss) else made
                made = MeanMetricWrapper(function, title)
        with self._graph.name_scope(f"metrics/{made.name}"):
            if K.is_package_keras() and type(made) is MeanMetricWrapper:
                weights = of.sample_weight if is_weighted else None
                value = package_losses.weighed(function(of.target, of.output), of.mask, weights)
                return made.name, *package_losses.mean_of_batches(made.name, value, of.output)
            counted = of.masked_weights if is_weighted else of.mask
            value = made(of.target, of.output, sample_weight=counted)
        return made.name, value, made

    # ---- one step -------------------------------------------------------------------------

    def _warn_of_discrepancy(self) -> None:
        now = {id(w) for w in self.trainable_weights}  # type: ignore[attr-defined]
        if self._trained is not None and now != {id(w) for w in self._collected_weights}:
            warnings.warn(
                "Discrepancy between trainable weights and those at compile: `trainable` was "
                "changed since, which takes effect when `compile` is called again.",
                stacklevel=5,
            )

    def _make_train_operations(self) -> Any:
        """The ops of one step, made once, on the weights that could be trained at `compile`; none in eager code."""
        if not self._functions:
            self._warn_of_discrepancy()
        if self.run_eagerly:
            return []
        if self._train_ops is None:
            with self._graph.as_default(), self._graph.name_scope("training"):
                fed = {t.op for t in [*self.inputs, *self.targets, *self.sample_weights]}
                updates = [u for u in self.updates if hasattr(u, "type") and reached_from(u, fed)]  # type: ignore[attr-defined]
                if self._collected_weights:
                    steps = self.optimizer.get_updates(self.total_loss, self._collected_weights)
                else:
                    warnings.warn(
                        "Nothing to train: the model has no trainable weights, so that its steps "
                        "only compute the loss.",
                        stacklevel=4,
                    )
                    steps = []
            with self._graph.as_default(), self._graph.name_scope("training"):
                self._train_ops = [group(*steps, *updates)]
            restore, self.awaited_optimizer = self.awaited_optimizer, None
            if restore is not None:
                restore()
        return self._train_ops


def _each_loss(loss: Any) -> list[Any]:
    """The losses of all outputs; the config of a loss counts as one."""
    if isinstance(loss, dict) and "class_name" not in loss:
        return list(loss.values())
    return list(loss) if isinstance(loss, (list, tuple)) else [loss]


def loss_of(one: _Trained) -> Any:
    """The loss of an output, a scalar: weighted, where the mask is a weight of 0 or 1.

    As in TensorFlow 1, a mean divides by all steps, masked ones too; the package Keras divides by those
    that the mask leaves.
    """
    is_object = isinstance(one.function, losses_module.Loss)
    values = (one.function.call if is_object else one.function)(one.target, one.output)
    values = cast(values, K.floatx())
    if K.is_package_keras() and not is_object:
        return package_losses.weighed(values, one.mask, one.sample_weight)
    reduction = one.function.reduction if is_object else "auto"
    reduction = "auto" if reduction == "none" else reduction
    return losses_module.weighted(values, one.masked_weights, reduction)


def _losses_of_each(outputs: list[_Trained]) -> tuple[list[Any], list[Any]]:
    """The losses of outputs beside each other, as they are reported, and the metrics that count them.

    Those of tf.keras are means over batches, each counted once however many examples it has. The
    package Keras counts them as it counts the whole loss, without a metric.
    """
    losses = [one.term for one in outputs]
    if K.is_package_keras():
        return losses, []
    counted = [Mean(f"{one.name}_loss") for one in outputs]
    return [metric(loss) for metric, loss in zip(counted, losses, strict=True)], counted


def reached_from(target: Any, fed: set[Any]) -> bool:
    """Whether ``target`` needs no placeholder beyond ``fed``: it belongs to this model's graph."""
    if isinstance(target, float):  # a number, which a program added as a loss
        return True
    start = target.op if isinstance(target, Tensor) else getattr(target, "op", target)
    stack, seen = [start], set()
    while stack:
        op = stack.pop()
        if op in seen or op in fed:
            continue
        seen.add(op)
        if op.type == "Placeholder":
            return False
        stack.extend(t.op for t in op.inputs)
        stack.extend(op.control_inputs)
    return True
