"""``tf.estimator.tpu`` on machines without TPUs: what ``use_tpu=False`` means in TensorFlow 1.15.

BERT, tensor2tensor and many others train with a `TPUEstimator` on any machine. Without a TPU it is an
`Estimator` whose functions are told the size of a batch in ``params["batch_size"]``.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, NamedTuple

from dataflow.estimator import estimator, model_fn, run_config
from dataflow.estimator.model_fn import EstimatorSpec, ModeKeys
from dataflow.namespaces import explain_absent
from dataflow.summary.writers import flush, summary_writer_initializer_op
from dataflow.train.session_run_hook import SessionRunArgs, SessionRunContext, SessionRunHook

__all__ = ["InputPipelineConfig", "RunConfig", "TPUConfig", "TPUEstimator", "TPUEstimatorSpec"]

_BATCH_SIZE = "batch_size"
_RESERVED = (_BATCH_SIZE, "context")
NO_TPU = "there are no TPUs here; devices are CPUs and GPUs, so pass use_tpu=False"


class InputPipelineConfig:
    """How input is handed to TPUs; kept, and without effect."""

    PER_SHARD_V1 = 1
    PER_HOST_V1 = 2
    PER_HOST_V2 = 3
    BROADCAST = 4
    SLICED = 5


class TPUConfig(NamedTuple):
    """Options of a TPU's loop; kept, and without effect."""

    iterations_per_loop: int = 2
    num_shards: int | None = None
    num_cores_per_replica: int | None = None
    per_host_input_for_training: Any = True
    tpu_job_name: str | None = None
    initial_infeed_sleep_secs: int | None = None
    input_partition_dims: Any = None
    eval_training_input_configuration: int = InputPipelineConfig.PER_HOST_V1
    experimental_host_call_every_n_steps: int = 1


class RunConfig(run_config.RunConfig):
    """A `tf.estimator.RunConfig` that also takes ``tpu_config``, ``cluster`` and the names of masters."""

    def __init__(
        self,
        tpu_config: TPUConfig | None = None,
        evaluation_master: str | None = None,
        master: str | None = None,
        cluster: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.tpu_config = tpu_config or TPUConfig()
        self.cluster = cluster
        if master is not None:
            self.master = master
            self.evaluation_master = master
        if evaluation_master is not None:
            self.evaluation_master = evaluation_master


class _Fields(NamedTuple):
    mode: str
    predictions: Any
    loss: Any
    train_op: Any
    eval_metrics: Any
    export_outputs: Any
    scaffold_fn: Any
    host_call: Any
    training_hooks: tuple[Any, ...]
    evaluation_hooks: tuple[Any, ...]
    prediction_hooks: tuple[Any, ...]


class TPUEstimatorSpec(_Fields):
    """The ops of a model for one mode, where metrics come as a function and its tensors.

    ``eval_metrics`` and ``host_call`` are pairs (function, list or dict of tensors); the first function
    returns what ``eval_metric_ops`` of an `EstimatorSpec` is, the second an operation that each training
    step runs. Raises `TypeError` or `ValueError` for something else.
    """

    __slots__ = ()

    def __new__(
        cls,
        mode: str,
        predictions: Any = None,
        loss: Any = None,
        train_op: Any = None,
        eval_metrics: Any = None,
        export_outputs: Any = None,
        scaffold_fn: Callable[[], Any] | None = None,
        host_call: Any = None,
        training_hooks: Any = None,
        evaluation_hooks: Any = None,
        prediction_hooks: Any = None,
    ) -> TPUEstimatorSpec:
        for name, call in (("eval_metrics", eval_metrics), ("host_call", host_call)):
            if call is None:
                continue
            if not isinstance(call, (tuple, list)):
                raise ValueError(f"{name} should be tuple or list")
            if len(call) != 2:
                raise ValueError(f"{name} should have two elements.")
            if not callable(call[0]):
                raise TypeError(f"{name}[0] should be callable.")
            if not isinstance(call[1], (tuple, list, dict)):
                raise ValueError(f"{name}[1] should be tuple or list, or dict.")
        return super().__new__(
            cls,
            mode,
            predictions,
            loss,
            train_op,
            eval_metrics,
            export_outputs,
            scaffold_fn,
            host_call,
            tuple(training_hooks or ()),
            tuple(evaluation_hooks or ()),
            tuple(prediction_hooks or ()),
        )

    def as_estimator_spec(self) -> EstimatorSpec:
        """The same as an `EstimatorSpec`, with the functions called."""
        hooks = () if self.host_call is None else (_HostCallHook(_called(self.host_call)),)
        return EstimatorSpec(
            mode=self.mode,
            predictions=self.predictions,
            loss=self.loss,
            train_op=self.train_op,
            eval_metric_ops=None if self.eval_metrics is None else _called(self.eval_metrics),
            export_outputs=self.export_outputs,
            scaffold=self.scaffold_fn() if self.scaffold_fn else None,
            training_hooks=self.training_hooks + hooks,
            evaluation_hooks=self.evaluation_hooks + hooks,
            prediction_hooks=self.prediction_hooks + hooks,
        )


def _called(call: Any) -> Any:
    function, tensors = call
    return function(**tensors) if isinstance(tensors, dict) else function(*tensors)


class _HostCallHook(SessionRunHook):
    """Runs what a host call returned in every step; makes the writers of `tf.contrib.summary` first."""

    def __init__(self, tensors: Any) -> None:
        self._tensors = tensors

    def begin(self) -> None:
        self._init_ops = summary_writer_initializer_op()
        self._flush_ops = [flush(op.inputs[0]) for op in self._init_ops]

    def after_create_session(self, session: Any, coord: Any) -> None:
        session.run(self._init_ops)

    def end(self, session: Any) -> None:
        session.run(self._flush_ops)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(self._tensors)


class TPUEstimator(estimator.Estimator):
    """An `Estimator` whose model and input functions find the size of a batch in ``params``.

    ``config`` is this module's `RunConfig`. ``params`` is a dict or `HParams` without "batch_size"; the
    functions get a copy with "batch_size" (``train_batch_size``, ``eval_batch_size`` or
    ``predict_batch_size``; left out where that is None), ``model_fn`` also with "use_tpu", False.
    ``model_fn`` returns a `TPUEstimatorSpec` or an `EstimatorSpec`. Raises `ValueError` for another
    ``config``, for reserved parameters, and where ``use_tpu`` is true, as it is unless it is given.
    """

    def __init__(
        self,
        model_fn: Any = None,
        model_dir: str | None = None,
        config: RunConfig | None = None,
        params: Any = None,
        use_tpu: bool = True,
        train_batch_size: int | None = None,
        eval_batch_size: int | None = None,
        predict_batch_size: int | None = None,
        batch_axis: Any = None,
        eval_on_tpu: bool = True,
        export_to_tpu: bool = True,
        export_to_cpu: bool = True,
        warm_start_from: Any = None,
        experimental_export_device_assignment: bool = False,
        embedding_config_spec: Any = None,
        export_saved_model_api_version: Any = None,
    ) -> None:
        if not isinstance(config, RunConfig):
            raise ValueError("`config` must be provided with type `tpu_config.RunConfig`")
        if params is not None and any(name in params for name in _RESERVED):
            raise ValueError(f"{_RESERVED} are reserved keys but existed in params {params}.")
        if use_tpu:
            raise ValueError(f"use_tpu=True: {NO_TPU}.")
        if embedding_config_spec is not None:
            raise ValueError(f"embedding_config_spec is for TPUs: {NO_TPU}, and leave it out.")
        super().__init__(model_fn, model_dir, config, params, warm_start_from)
        if "params" not in self._names:
            raise ValueError(
                f"model_fn ({model_fn}) does not include params argument, required by TPUEstimator to "
                "pass batch size as params['batch_size']."
            )
        self._batch_sizes = {
            ModeKeys.TRAIN: train_batch_size,
            ModeKeys.EVAL: eval_batch_size,
            ModeKeys.PREDICT: predict_batch_size,
        }
        self._mode = ModeKeys.TRAIN

    @property
    def params(self) -> Any:
        """A copy of the caller's parameters, with the batch size that the functions are told."""
        params = copy.deepcopy(self._params)
        if (size := self._batch_sizes[self._mode]) is not None:
            _set(params, _BATCH_SIZE, size)
        return params

    def _call_input_fn(self, input_fn: Callable[..., Any], mode: str) -> Any:
        self._mode = mode
        return super()._call_input_fn(input_fn, mode)

    def _call_model_fn(self, features: Any, labels: Any, mode: str) -> EstimatorSpec:
        self._mode = mode
        params = self.params
        _set(params, "use_tpu", False)
        given = {"labels": labels, "mode": mode, "params": params, "config": self._config}
        spec = self._model_fn(
            features=features, **{name: v for name, v in given.items() if name in self._names}
        )
        if isinstance(spec, TPUEstimatorSpec):
            return spec.as_estimator_spec()
        if not isinstance(spec, model_fn.EstimatorSpec):
            raise ValueError(
                "estimator_spec used by TPUEstimator must have type `TPUEstimatorSpec`. Got "
                f"{type(spec)}"
            )
        return spec


def _set(params: Any, name: str, value: Any) -> None:
    if not hasattr(params, "set_hparam"):
        params[name] = value
    elif name in params:
        params.set_hparam(name, value)
    else:
        params.add_hparam(name, value)


__getattr__ = explain_absent(__name__)
