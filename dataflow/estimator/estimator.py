"""`Estimator`: trains, evaluates, predicts with and exports what a ``model_fn`` builds.

Each call builds a graph of its own; what lasts between calls are the checkpoints in ``model_dir``.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

from dataflow import errors, logging
from dataflow.data.dataset import Dataset
from dataflow.estimator.arguments import (
    WarmStartSettings,
    argument_names,
    check_model_fn,
    checked_hooks,
    checked_listeners,
    picked,
    rows_of,
)
from dataflow.estimator.evaluations import (
    Evaluation,
    evaluation_of,
    run_evaluation,
    write_results,
)
from dataflow.estimator.input_results import split_result
from dataflow.estimator.model_fn import EstimatorSpec, ModeKeys
from dataflow.estimator.replicated import replicated_spec, scope_of, settings_for
from dataflow.estimator.run_config import RunConfig, config_text
from dataflow.formats.local_paths import local_path
from dataflow.graph.collections import GraphKeys
from dataflow.graph.graph import Graph
from dataflow.ops.seeds import count_left_out, set_random_seed
from dataflow.ops.summary import scalar
from dataflow.train.checkpoint_initializers import warm_start
from dataflow.train.checkpoint_management import latest_checkpoint, list_variables, load_variable
from dataflow.train.global_step import create_global_step
from dataflow.train.hooks import LoggingTensorHook, NanTensorHook, StopAtStepHook
from dataflow.train.monitored_session import MonitoredSession, MonitoredTrainingSession
from dataflow.train.saver import Saver
from dataflow.train.saving_hooks import CheckpointSaverHook
from dataflow.train.scaffold import ChiefSessionCreator, Scaffold


class Estimator:
    """A model, given as a function, with everything around it.

    ``model_fn(features, labels, mode, params, config)`` returns an `EstimatorSpec`; all but
    ``features`` may be left out. Checkpoints, the graph and summaries go to ``model_dir`` (a
    temporary folder where none is named); a later estimator with the same folder goes on from
    there.
    """

    def __init__(
        self,
        model_fn: Any,
        model_dir: str | None = None,
        config: RunConfig | None = None,
        params: Any = None,
        warm_start_from: Any = None,
    ) -> None:
        if model_fn is None:
            raise ValueError("model_fn must be provided to Estimator.")
        self._names = check_model_fn(model_fn, params)
        if config is not None and not isinstance(config, RunConfig):
            raise ValueError(f"config must be an instance of RunConfig, but provided {config}.")
        if config is None:
            config = RunConfig()
            logging.info("Using default config.")
        folder = None if model_dir is None else local_path(model_dir)
        if folder and config.model_dir and folder != config.model_dir:
            raise ValueError(
                "`model_dir` are set both in constructor and `RunConfig`, but with different "
                f"values. In constructor: '{folder}', in `RunConfig`: '{config.model_dir}'"
            )
        folder = folder or config.model_dir
        if folder is None:
            folder = tempfile.mkdtemp(prefix="dataflow_estimator_")
            logging.warning("Using temporary folder as model directory: %s", folder)
        self._model_dir = folder
        self._config = config.replace(model_dir=folder)
        logging.info("Using config: %s", config_text(self._config))
        self._model_fn = model_fn
        self._params = dict(params) if isinstance(params, dict) else (params or {})
        if warm_start_from is not None and not isinstance(warm_start_from, WarmStartSettings):
            warm_start_from = WarmStartSettings(local_path(warm_start_from))
        self._warm_start = warm_start_from

    # ---- reading --------------------------------------------------------------------------

    @property
    def model_dir(self) -> str:
        """Where checkpoints and summaries are."""
        return self._model_dir

    @property
    def config(self) -> RunConfig:
        """The configuration, with ``model_dir`` set."""
        return self._config

    @property
    def params(self) -> Any:
        """A copy of the parameters that ``model_fn`` is given."""
        return dict(self._params) if isinstance(self._params, dict) else self._params

    @property
    def model_fn(self) -> Any:
        """The model function, of features, labels, mode and config."""

        def public(features: Any, labels: Any, mode: str, config: Any) -> EstimatorSpec:
            return self._call_model_fn(features, labels, mode)

        return public

    def latest_checkpoint(self) -> str | None:
        """The prefix of the latest checkpoint; ``None`` before training."""
        return latest_checkpoint(self._model_dir)

    def _trained(self) -> str:
        found = self.latest_checkpoint()
        if found is None:
            raise ValueError(
                f"Estimator has not been trained yet: there is no checkpoint in {self._model_dir!r}."
            )
        return found

    def get_variable_names(self) -> list[str]:
        """Names of all variables of the latest checkpoint; `ValueError` before training."""
        return [name for name, _ in list_variables(self._trained())]

    def get_variable_value(self, name: str) -> Any:
        """The value in the latest checkpoint; `ValueError` before training."""
        return load_variable(self._trained(), name)

    def eval_dir(self, name: str | None = None) -> str:
        """Where the summaries of evaluations are."""
        return os.path.join(self._model_dir, "eval" if not name else f"eval_{name}")

    # ---- building -------------------------------------------------------------------------

    def _call_input_fn(self, input_fn: Callable[..., Any], mode: str) -> Any:
        given: dict[str, Any] = {}
        names = argument_names(input_fn)
        for name, value in (("params", self.params), ("config", self._config), ("mode", mode)):
            if name in names:
                given[name] = value
        return input_fn(**given)

    def _features_and_labels(self, input_fn: Callable[..., Any], mode: str) -> tuple[Any, Any]:
        """Features and labels as tensors; a dataset's iterator starts with the tables."""
        result = self._call_input_fn(input_fn, mode)
        if isinstance(result, Dataset):
            iterator = result.make_initializable_iterator()
            _graph().add_to_collection(GraphKeys.TABLE_INITIALIZERS, iterator.initializer)
            result = iterator.get_next()
        return split_result(result)

    def _call_model_fn(self, features: Any, labels: Any, mode: str) -> EstimatorSpec:
        given: dict[str, Any] = {}
        if "labels" in self._names:
            given["labels"] = labels
        elif labels is not None:
            raise ValueError("model_fn does not take labels, but input_fn returns labels.")
        for name, value in (("mode", mode), ("params", self.params), ("config", self._config)):
            if name in self._names:
                given[name] = value
        logging.info("Calling model_fn.")
        spec = self._model_fn(features=features, **given)
        logging.info("Done calling model_fn.")
        if not isinstance(spec, EstimatorSpec):
            raise ValueError(
                f"model_fn should return an EstimatorSpec, it returned {type(spec).__name__}."
            )
        return spec

    @contextlib.contextmanager
    def _new_graph(self, device_fn: Any = None) -> Iterator[Graph]:
        with (
            Graph().as_default() as graph,
            graph.device(device_fn or self._config.device_fn),
        ):
            set_random_seed(self._config.tf_random_seed)
            yield graph

    def _create_and_assert_global_step(self, graph: Graph) -> Any:
        """The step of a graph that is about to train, under TensorFlow's name: AdaNet's estimators call it."""
        return create_global_step(graph)

    # ---- training -------------------------------------------------------------------------

    def train(
        self,
        input_fn: Callable[..., Any],
        hooks: Any = None,
        steps: int | None = None,
        max_steps: int | None = None,
        saving_listeners: Any = None,
    ) -> Estimator:
        """Trains until the input ends, for ``steps`` more steps, or up to step ``max_steps``.

        ``input_fn()`` returns features and labels (tensors, or dicts of them), or a dataset of such
        pairs. Returns the estimator. Raises `ValueError` for both ``steps`` and ``max_steps``, and
        for numbers that are not positive; `NanLossDuringTrainingError` for a loss that is NaN.
        """
        if steps is not None and max_steps is not None:
            raise ValueError("Can not provide both steps and max_steps.")
        for name, value in (("steps", steps), ("max_steps", max_steps)):
            if value is not None and value <= 0:
                raise ValueError(f"Must specify {name} > 0, given: {value}")
        hooks = checked_hooks(hooks)
        if max_steps is not None:
            found = self.latest_checkpoint()
            start = 0 if found is None else int(load_variable(found, GraphKeys.GLOBAL_STEP))
            if max_steps <= start:
                logging.info("Skipping training since max_steps has already saved.")
                return self
        if steps is not None or max_steps is not None:
            hooks.append(StopAtStepHook(steps, max_steps))
        loss = self._train(input_fn, hooks, checked_listeners(saving_listeners))
        logging.info("Loss for final step: %s.", loss)
        return self

    def _train(self, input_fn: Callable[..., Any], hooks: list[Any], listeners: list[Any]) -> Any:
        from dataflow.estimator.cluster_training import device_function

        config = self._config
        strategy = config.train_distribute
        devices = device_function(config) if strategy is None else None
        with self._new_graph(devices) as graph, scope_of(strategy):
            step = self._create_and_assert_global_step(graph)
            if strategy is None:
                count_left_out(11)  # the step is read there, for the hooks
                features, labels = self._features_and_labels(input_fn, ModeKeys.TRAIN)
                spec = self._call_model_fn(features, labels, ModeKeys.TRAIN)
            else:
                spec = replicated_spec(
                    strategy,
                    lambda: self._call_input_fn(input_fn, ModeKeys.TRAIN),
                    lambda x, y: self._call_model_fn(x, y, ModeKeys.TRAIN),
                )
            if self._warm_start is not None and self.latest_checkpoint() is None:
                logging.info("Warm-starting with WarmStartSettings: %s", self._warm_start)
                warm_start(*self._warm_start)
            if not any(x.op.name == "loss" for x in graph.get_collection(GraphKeys.SUMMARIES)):
                scalar("loss", spec.loss)
            graph.add_to_collection(GraphKeys.LOSSES, spec.loss)
            scaffold = self._scaffold_with_saver(spec)
            all_hooks, chief_hooks = self._training_hooks(spec, step, hooks, scaffold, listeners)
            loss = None
            with MonitoredTrainingSession(
                master=config.master,
                is_chief=config.is_chief,
                checkpoint_dir=self._model_dir,
                scaffold=scaffold,
                hooks=all_hooks,
                chief_only_hooks=chief_hooks,
                save_checkpoint_secs=0,
                save_summaries_steps=config.save_summary_steps,
                config=settings_for(strategy, config.session_config),
                max_wait_secs=config.session_creation_timeout_secs,
                log_step_count_steps=config.log_step_count_steps,
            ) as session:
                while not session.should_stop():
                    _, loss = session.run([spec.train_op, spec.loss])
            if loss is None:
                logging.warning(
                    "Training with estimator made no steps. Perhaps input is empty or misspecified."
                )
            return loss

    def _training_hooks(
        self,
        spec: EstimatorSpec,
        step: Any,
        hooks: list[Any],
        scaffold: Scaffold,
        listeners: list[Any],
    ) -> tuple[list[Any], list[Any]]:
        """The hooks of all workers and those of the chief, one of which saves checkpoints."""
        config = self._config
        every = config.log_step_count_steps
        all_hooks = [*hooks, NanTensorHook(spec.loss)]
        if every:
            all_hooks.append(
                LoggingTensorHook({"loss": spec.loss, "step": step}, every_n_iter=every)
            )
        all_hooks += spec.training_hooks
        chief_hooks = list(spec.training_chief_hooks)
        savers = [h for h in all_hooks + chief_hooks if isinstance(h, CheckpointSaverHook)]
        if savers:
            for listener in listeners:
                savers[0].listeners.append(listener)
        elif config.save_checkpoints_secs or config.save_checkpoints_steps:
            chief_hooks.append(
                CheckpointSaverHook(
                    self._model_dir,
                    save_secs=config.save_checkpoints_secs,
                    save_steps=config.save_checkpoints_steps,
                    scaffold=scaffold,
                    listeners=listeners,
                    save_graph_def=config.checkpoint_save_graph_def,
                )
            )
        return all_hooks, chief_hooks

    def _scaffold_with_saver(self, spec: EstimatorSpec) -> Scaffold:
        scaffold = spec.scaffold or Scaffold()
        if not (scaffold.saver or _graph().get_collection(GraphKeys.SAVERS)):
            saver = Saver(
                max_to_keep=self._config.keep_checkpoint_max,
                keep_checkpoint_every_n_hours=self._config.keep_checkpoint_every_n_hours,
                defer_build=True,
                save_relative_paths=True,
            )
            _graph().add_to_collection(GraphKeys.SAVERS, saver)
        return scaffold

    # ---- evaluating -----------------------------------------------------------------------

    def evaluate(
        self,
        input_fn: Callable[..., Any],
        steps: int | None = None,
        hooks: Any = None,
        checkpoint_path: Any = None,
        name: str | None = None,
    ) -> dict[str, Any]:
        """The metrics over ``steps`` batches, or all: a dict with "loss" and "global_step" too.

        ``checkpoint_path`` names another checkpoint than the latest; without any the variables are
        as they start. ``name`` keeps the summaries of several data sets apart. Raises `ValueError`
        for ``steps`` that are not positive.
        """
        if steps is not None and steps <= 0:
            raise ValueError(f"Must specify steps > 0, given: {steps}")
        checkpoint = checkpoint_path or self.latest_checkpoint()
        if checkpoint is None:
            logging.info(
                "Could not find trained model in model_dir: %s, running initialization to evaluate.",
                self._model_dir,
            )
        with self._new_graph():
            evaluation = self.build_evaluation(input_fn, steps, hooks)
            return self.run_evaluation(evaluation, evaluation.scaffold, checkpoint, name)

    def build_evaluation(self, input_fn: Any, steps: int | None, hooks: Any) -> Evaluation:
        """The model with its metrics in the current graph, to be run by `run_evaluation`."""
        set_random_seed(self._config.tf_random_seed)
        step = create_global_step(_graph())
        features, labels = self._features_and_labels(input_fn, ModeKeys.EVAL)
        return evaluation_of(
            self._call_model_fn(features, labels, ModeKeys.EVAL), step, steps, checked_hooks(hooks)
        )

    def run_evaluation(
        self, evaluation: Evaluation, scaffold: Scaffold | None, checkpoint: Any, name: str | None
    ) -> dict[str, Any]:
        """The metrics of a model built in the current graph; they are written for TensorBoard, too."""
        creator = ChiefSessionCreator(
            scaffold,
            config=self._config.session_config,
            checkpoint_filename_with_path=checkpoint,
        )
        results = run_evaluation(evaluation, creator)
        write_results(self.eval_dir(name), results)
        return results

    # ---- predicting -----------------------------------------------------------------------

    def predict(
        self,
        input_fn: Callable[..., Any],
        predict_keys: Any = None,
        hooks: Any = None,
        checkpoint_path: Any = None,
        yield_single_examples: bool = True,
    ) -> Iterator[Any]:
        """Yields the predictions of each example: a dict of arrays (or an array).

        With ``yield_single_examples=False`` whole batches. ``predict_keys`` picks keys of the dict.
        Raises `ValueError` where predictions differ in their number of rows.
        """
        hooks = checked_hooks(hooks)
        checkpoint = checkpoint_path or self.latest_checkpoint()
        if checkpoint is None:
            logging.info(
                "Could not find trained model in model_dir: %s, running initialization to predict.",
                self._model_dir,
            )
        # The graph must not stay the default one while the caller works between two examples.
        with self._new_graph() as graph:
            create_global_step(graph)
            features, _ = self._features_and_labels(input_fn, ModeKeys.PREDICT)
            spec = self._call_model_fn(features, None, ModeKeys.PREDICT)
            predictions = picked(spec.predictions, predict_keys)
            creator = ChiefSessionCreator(
                spec.scaffold,
                config=self._config.session_config,
                checkpoint_filename_with_path=checkpoint,
            )
            session = MonitoredSession(creator, [*hooks, *spec.prediction_hooks])
        try:
            while not session.should_stop():
                try:
                    values = session.run(predictions)
                except (errors.OutOfRangeError, StopIteration):
                    break
                if yield_single_examples:
                    yield from rows_of(values)
                else:
                    yield values
        finally:
            with graph.as_default():
                session.close()

    # ---- exporting ------------------------------------------------------------------------

    def export_savedmodel(
        self,
        export_dir_base: Any,
        serving_input_receiver_fn: Any,
        assets_extra: Any = None,
        as_text: bool = False,
        checkpoint_path: Any = None,
        strip_default_attrs: bool = False,
    ) -> bytes:
        """Writes a SavedModel for serving into a new folder below ``export_dir_base``.

        Returns its path. ``serving_input_receiver_fn()`` gives a `ServingInputReceiver`. Raises
        `ValueError` before training.
        """
        return self.export_saved_model(
            export_dir_base, serving_input_receiver_fn, assets_extra, as_text, checkpoint_path
        )

    def export_saved_model(
        self,
        export_dir_base: Any,
        serving_input_receiver_fn: Any,
        assets_extra: Any = None,
        as_text: bool = False,
        checkpoint_path: Any = None,
        experimental_mode: str = ModeKeys.PREDICT,
    ) -> bytes:
        """`export_savedmodel` under its later name, for another mode too.

        For TRAIN and EVAL the function gives a `SupervisedInputReceiver`, see
        `experimental_export_all_saved_models`.
        """
        return self.experimental_export_all_saved_models(
            export_dir_base,
            {experimental_mode: serving_input_receiver_fn},
            assets_extra,
            as_text,
            checkpoint_path,
        )

    def experimental_export_all_saved_models(
        self,
        export_dir_base: Any,
        input_receiver_fn_map: dict[str, Any],
        assets_extra: Any = None,
        as_text: bool = False,
        checkpoint_path: Any = None,
    ) -> bytes:
        """Writes a SavedModel with a graph for each mode: ``{ModeKeys.TRAIN: receiver_fn, ...}``.

        Their tags are "train", "eval" and "serve"; they share their variables. Features and labels
        of the first two come from
        `tf.estimator.experimental.build_raw_supervised_input_receiver_fn`; their signatures "train"
        and "eval" have the loss, the predictions and the metrics. Returns the folder. Raises
        `ValueError` before training and for an unknown mode.
        """
        from dataflow.estimator.export import export_estimator

        return export_estimator(
            self,
            export_dir_base,
            input_receiver_fn_map,
            assets_extra,
            as_text,
            checkpoint_path or self._trained(),
        )


def _graph() -> Graph:
    from dataflow.graph.default_stacks import default_graph

    return default_graph()
