"""`tf.contrib.learn.Estimator`: `tf.estimator.Estimator` with ``fit(x, y)`` and older returns."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from dataflow.contrib.feature_columns import UNNAMED, infer_real_valued_columns
from dataflow.contrib.learn.data_feeder import is_iterator, setup_train_data_feeder
from dataflow.contrib.learn.exports import as_receiver_fn
from dataflow.contrib.learn.keys import MetricKey
from dataflow.contrib.learn.metric_spec import averaged, metric_ops
from dataflow.contrib.learn.model_fn import ModelFnOps
from dataflow.contrib.learn.modes import ModeKeys
from dataflow.contrib.learn.monitors import replace_monitors_with_hooks
from dataflow.contrib.learn.roles import Evaluable, Trainable
from dataflow.contrib.learn.run_config import RunConfig
from dataflow.estimator import estimator as core
from dataflow.estimator.cluster_training import device_function
from dataflow.estimator.head_estimators import add_metrics
from dataflow.estimator.inputs import numpy_input_fn
from dataflow.estimator.model_fn import EstimatorSpec
from dataflow.graph import nest
from dataflow.graph.collections import GraphKeys
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops.sources import placeholder
from dataflow.ops.sparse_tensor import SparseTensor, sparse_placeholder
from dataflow.train.checkpoint_management import latest_checkpoint
from dataflow.train.hooks import FeedFnHook
from dataflow.train.session_run_hook import SessionRunHook


class NotFittedError(ValueError, AttributeError):
    """An estimator was asked for what it learns before it was trained."""


class Estimator(Trainable, Evaluable):
    """A model function with `fit`, `evaluate` and `predict`, on arrays or input functions.

    ``model_fn(features, labels, mode, params, config, model_dir)`` (all after ``labels`` may be left
    out) returns `ModelFnOps`, or a tuple (predictions, loss, train_op). Arrays ``x`` and ``y`` come
    in batches of ``batch_size``, all rows at once by default, each as one tensor of its own dtype.
    """

    def __init__(
        self,
        model_fn: Callable[..., Any] | None = None,
        model_dir: str | None = None,
        config: Any = None,
        params: Any = None,
        feature_engineering_fn: Callable[..., Any] | None = None,
    ) -> None:
        if model_fn is None:
            raise ValueError("model_fn must be provided to Estimator.")
        names = set(inspect.signature(model_fn).parameters)
        if params is not None and "params" not in names:
            raise ValueError(
                f"Estimator's model_fn ({model_fn}) has less than 4 arguments, but not None params "
                f"({params}) are passed."
            )

        signatures: list[Any] = []

        def adapted(
            features: Any, labels: TensorLike | None, mode: str, config: Any
        ) -> EstimatorSpec:
            if labels is not None:
                signatures[:] = [nest.map_structure(_placeholder_like, labels)]
            elif signatures:  # many a model function builds its loss for predictions, too
                labels = nest.map_structure(lambda make: make(), signatures[0])
            if feature_engineering_fn is not None:
                features, labels = feature_engineering_fn(features, labels)
            extra = {
                "mode": mode,
                "params": params,
                "config": config,
                "model_dir": config.model_dir,
            }
            found = model_fn(features, labels, **{k: v for k, v in extra.items() if k in names})
            return found if isinstance(found, EstimatorSpec) else _spec(mode, found)

        self.params = params
        self.core = core.Estimator(adapted, model_dir, config or RunConfig())

    # ---- reading --------------------------------------------------------------------------

    @property
    def model_dir(self) -> str:
        """Where checkpoints and summaries are."""
        return self.core.model_dir

    @property
    def config(self) -> Any:
        """The configuration, with ``model_dir`` set."""
        return self.core.config

    def get_variable_names(self) -> list[str]:
        """Names of all variables of the latest checkpoint."""
        return self.core.get_variable_names()

    def get_variable_value(self, name: str) -> Any:
        """The value of a variable in the latest checkpoint: ``linear//weight`` of a column without a name."""
        return self.core.get_variable_value(name)

    # ---- working --------------------------------------------------------------------------

    def fit(
        self,
        x: Any = None,
        y: Any = None,
        input_fn: Any = None,
        steps: int | None = None,
        batch_size: int | None = None,
        monitors: Any = None,
        max_steps: int | None = None,
    ) -> Estimator:
        """Trains on arrays, iterators of examples or an ``input_fn``; ``monitors`` are monitors or hooks.

        Returns itself. With ``steps`` 0 it takes one, as TensorFlow's: it stops after a step.
        """
        steps = None if steps is None else max(steps, 1)
        hooks = replace_monitors_with_hooks(monitors, self)
        if is_iterator(x):
            chosen, feed = _fed(x, y, batch_size)
            hooks = [*hooks, feed]
        else:
            chosen = _input_fn(x, y, input_fn, batch_size, epochs=None, shuffle=True)
        self.core.train(chosen, hooks, steps, max_steps)
        return self

    partial_fit = fit

    def evaluate(
        self,
        x: Any = None,
        y: Any = None,
        input_fn: Any = None,
        feed_fn: Any = None,
        batch_size: int | None = None,
        steps: int | None = None,
        metrics: Any = None,
        name: str | None = None,
        checkpoint_path: Any = None,
        hooks: Sequence[Any] | None = None,
        log_progress: bool = True,
    ) -> dict[str, Any]:
        """The metrics by name, with "loss" and "global_step".

        ``metrics``: name to `MetricSpec`, or to a function of (predictions, labels).
        """
        if feed_fn is not None:
            raise ValueError("evaluate: feed_fn is not part of dataflow; give an input_fn.")
        if is_iterator(x):
            chosen, feed = _fed(x, y, batch_size)
            hooks = [*(hooks or ()), feed]
        else:
            chosen = _input_fn(x, y, input_fn, batch_size, epochs=1, shuffle=False)
        self._check_fitted(checkpoint_path)
        estimator = self.core
        if metrics:
            estimator = add_metrics(
                estimator,
                lambda features, labels, predictions: metric_ops(
                    metrics, features, labels, predictions
                ),
            )
        return estimator.evaluate(chosen, steps, hooks, checkpoint_path, name)

    def predict(
        self,
        x: Any = None,
        input_fn: Any = None,
        batch_size: int | None = None,
        outputs: Any = None,
        as_iterable: bool = True,
        iterate_batches: bool = False,
    ) -> Any:
        """The predictions of each example: an iterator, or with ``as_iterable=False`` arrays.

        Arrays are those of all of ``x``, but of one batch of ``input_fn``, which may never end. An
        ``input_fn`` of constants, without queues and data sets, gives one batch, as in TensorFlow.
        """
        self._check_fitted(None)
        chosen = _input_fn(x, None, input_fn, batch_size, epochs=1, shuffle=False)
        if input_fn is not None and not as_iterable:
            batches: Any = self.core.predict(chosen, outputs, yield_single_examples=False)
            with contextlib.closing(batches):
                return next(batches)
        found = self.core.predict(
            chosen, outputs, [_OneBatchOfConstants()], yield_single_examples=not iterate_batches
        )
        return found if as_iterable else _gathered(list(found), iterate_batches)

    def _check_fitted(self, checkpoint_path: Any) -> None:
        if checkpoint_path is None and latest_checkpoint(self.model_dir) is None:
            raise NotFittedError(
                f"Couldn't find trained model at {self.model_dir}: call fit first."
            )

    def export_savedmodel(
        self,
        export_dir_base: Any,
        serving_input_fn: Any,
        default_output_alternative_key: Any = None,
        assets_extra: Any = None,
        as_text: bool = False,
        checkpoint_path: Any = None,
        graph_rewrite_specs: Any = None,
        strip_default_attrs: bool = False,
    ) -> bytes:
        """`tf.estimator.Estimator.export_savedmodel`; ``serving_input_fn`` may return `InputFnOps`."""
        receiver = as_receiver_fn(serving_input_fn)
        return self.core.export_savedmodel(
            export_dir_base, receiver, assets_extra, as_text, checkpoint_path, strip_default_attrs
        )


class _OneBatchOfConstants(SessionRunHook):
    """Ends a prediction after its first run where nothing else would: the input is constant."""

    def begin(self) -> None:
        graph = default_graph()
        self._ends = bool(graph.get_collection(GraphKeys.QUEUE_RUNNERS)) or any(
            op.type == "IteratorGetNext" for op in graph.get_operations()
        )

    def after_run(self, run_context: Any, run_values: Any) -> None:
        if not self._ends:
            run_context.request_stop()


def _placeholder_like(tensor: Any) -> Callable[[], Any]:
    """What makes a placeholder of the tensor's dtype and shape in another graph."""
    make = sparse_placeholder if isinstance(tensor, SparseTensor) else placeholder
    return functools.partial(make, tensor.dtype, tensor.shape)


class _Spec(EstimatorSpec):
    """A spec whose "loss" among the metrics is what is reported: heads weigh it by the weights' sum."""

    __slots__ = ()
    reports_loss = True


def _spec(mode: str, found: Any) -> EstimatorSpec:
    if isinstance(found, ModelFnOps):
        ops = found
    elif isinstance(found, tuple) and len(found) == 3:
        ops = ModelFnOps(mode, *found)
    else:
        raise ValueError(
            "Unrecognized value returned by model_fn, please return ModelFnOps or a tuple "
            f"(predictions, loss, train_op); got {found!r}."
        )
    if mode == ModeKeys.INFER:
        ops = ops._replace(loss=None, train_op=None, eval_metric_ops=None)
        several = len(ops.output_alternatives or ()) > 1
        return ops.estimator_spec(next(iter(ops.output_alternatives)) if several else None)
    metrics = {
        name: metric if isinstance(metric, tuple) else averaged(metric, str(name))
        for name, metric in (ops.eval_metric_ops or {}).items()
    }
    ops = ops._replace(eval_metric_ops=metrics)
    spec = ops.estimator_spec()
    reported = (ops.eval_metric_ops or {}).get(MetricKey.LOSS)
    if reported is None:
        return spec
    return _Spec(*spec._replace(eval_metric_ops={**spec.eval_metric_ops, MetricKey.LOSS: reported}))


def _input_fn(
    x: Any, y: Any, input_fn: Any, batch_size: int | None, epochs: int | None, shuffle: bool
) -> Any:
    """The input function, or one of the arrays; raises `ValueError` for both and for neither."""
    if input_fn is not None:
        if x is not None or y is not None:
            raise ValueError("Can not provide both input_fn and x or y.")
        if batch_size is not None:
            raise ValueError("Can not provide both input_fn and batch_size.")
        return input_fn
    if x is None:
        raise ValueError("Either x or input_fn must be provided.")
    if isinstance(x, (Tensor, SparseTensor)) or isinstance(y, (Tensor, SparseTensor)):
        raise ValueError("Inputs cannot be tensors. Please provide input_fn.")
    x = {k: np.asarray(v) for k, v in x.items()} if isinstance(x, dict) else np.asarray(x)
    rows = len(next(iter(x.values())) if isinstance(x, dict) else x)
    return numpy_input_fn(
        x,
        None if y is None else (dict(y) if isinstance(y, dict) else _targets(y)),
        batch_size=batch_size or rows,
        num_epochs=epochs,
        shuffle=shuffle,
    )


def _fed(x: Any, y: Any, batch_size: int | None) -> tuple[Any, Any]:
    """An input function of placeholders, and the hook that feeds them until an iterator ends."""
    feeder = setup_train_data_feeder(x, y, None, batch_size)
    return feeder.input_builder, FeedFnHook(feeder.get_feed_dict_fn())


def _targets(y: Any) -> Any:
    """An array of targets; a column [rows, 1] is [rows]."""
    values = np.asarray(y)
    return values[:, 0] if values.ndim > 1 and values.shape[1] == 1 else values


def _gathered(rows: list[Any], batches: bool) -> Any:
    join: Any = np.concatenate if batches else np.stack
    if rows and isinstance(rows[0], dict):
        return {key: join([row[key] for row in rows]) for key in rows[0]}
    return join(rows) if rows else np.zeros(0)


class SKCompat:
    """An estimator as scikit-learn calls it: arrays in, a dict of arrays out of `predict`."""

    def __init__(self, estimator: Estimator) -> None:
        self._estimator = estimator

    def fit(
        self,
        x: Any,
        y: Any,
        batch_size: int = 128,
        steps: int | None = None,
        max_steps: int | None = None,
        monitors: Any = None,
    ) -> SKCompat:
        """Trains on arrays."""
        self._estimator.fit(x, y, None, steps, batch_size, monitors, max_steps)
        return self

    def score(
        self,
        x: Any,
        y: Any,
        batch_size: int = 128,
        steps: int | None = None,
        metrics: Any = None,
        name: str | None = None,
    ) -> dict[str, Any]:
        """The metrics by name."""
        return self._estimator.evaluate(
            x, y, batch_size=batch_size, steps=steps, metrics=metrics, name=name
        )

    def predict(self, x: Any, batch_size: int = 128, outputs: Any = None) -> Any:
        """Arrays by name."""
        found: Iterator[Any] = Estimator.predict(self._estimator, x, None, batch_size, outputs)
        return _gathered(list(found), False)


_get_replica_device_setter = device_function  # its name in TensorFlow


def infer_real_valued_columns_from_input(x: Any) -> list[Any]:
    """The real-valued columns of an array [rows, n], or of a dict of arrays, of their dtypes.

    Raises `ValueError` for tensors, and as `tf.contrib.layers.infer_real_valued_columns` does.
    """
    if x is None:
        raise ValueError("Either x or input_fn must be provided.")
    parts = x if isinstance(x, dict) else {UNNAMED: x}
    if any(isinstance(part, (Tensor, SparseTensor)) for part in parts.values()):
        raise ValueError("Inputs cannot be tensors. Please provide input_fn.")
    arrays = {name: np.asarray(part) for name, part in parts.items()}
    return infer_real_valued_columns(arrays if isinstance(x, dict) else arrays[UNNAMED])


def infer_real_valued_columns_from_input_fn(input_fn: Callable[[], Any]) -> list[Any]:
    """The real-valued columns of what an input function gives."""
    from dataflow.graph.graph import Graph

    with Graph().as_default():
        features, _ = input_fn()
        return infer_real_valued_columns(features)
