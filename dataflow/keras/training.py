"""`fit`, `evaluate`, `predict`."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from dataflow.data.experimental import cardinality
from dataflow.graph import nest
from dataflow.graph.eager import executing_eagerly
from dataflow.graph.graph import Graph
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.keras import backend as K, training_data as data, training_tensors as tensors
from dataflow.keras.backend_settings import settings
from dataflow.keras.batch_results import concatenated
from dataflow.keras.callback_list import CallbackList, StageCallbacks, print_evaluation, train_info
from dataflow.keras.compiling import Compiling, loss_of, reached_from
from dataflow.keras.eager_steps import EagerStep
from dataflow.keras.logs import Logs, LogValue
from dataflow.keras.sparse_rows import fed_tensors, fed_values
from dataflow.tensorflow_numbers import draws_as_tensorflow

_FED = ("Placeholder", "PlaceholderWithDefault")


class Training(Compiling):
    """The part of `Model` that trains."""

    as_package_keras: bool

    # ---- one batch ------------------------------------------------------------------------

    def _function(self, kind: str, is_fed: bool = True) -> Callable[..., Any]:
        """A callable of arrays for this session; "train", "test" or "predict".

        Not ``is_fed``: the inputs and targets are tensors that have values by themselves.
        """
        train_ops = self._make_train_operations() if kind == "train" else []
        if self.run_eagerly:
            return EagerStep(self, kind, loss_of)
        session = K.get_session()
        found = self._functions.get((kind, id(session), is_fed))
        if found is not None:
            return found
        fetches = list(self.outputs) if kind == "predict" else list(self._reported)
        feeds = [t for t, _ in self._fed_inputs()] if is_fed else []
        if kind != "predict" and is_fed:
            feeds += [*self.targets, *self.sample_weights]
        phase = K.learning_phase()
        fed_phase = isinstance(phase, Tensor)
        counters = [] if kind == "predict" else self._metric_objects
        counting = [op for m in counters for op in getattr(m, "counting_updates", ())]
        fetched = [fetches, [*train_ops, *self._state_operations(), *counting]]
        fed_last = [phase] if fed_phase else []
        calls = {len(feeds): session.make_callable(fetched, [*fed_tensors(feeds), *fed_last])}
        extra = [np.asarray(kind == "train")] if fed_phase else []
        types = [t.dtype.base_dtype.as_numpy_dtype for t in feeds]

        def run(arrays: list[Any]) -> list[Any]:
            count = len(arrays)
            if count not in calls:  # of inputs that are tensors there are none
                given = feeds[len(feeds) - count :]
                calls[count] = session.make_callable(fetched, [*fed_tensors(given), *fed_last])
            own = types[len(types) - count :]
            return calls[count](*fed_values(arrays, own), *extra)[0]  # type: ignore[no-any-return]

        self._functions[(kind, id(session), is_fed)] = run
        return run

    def _make_predict_function(self) -> None:
        """Compiles `predict`, and gives the weights values: programs call it before they start threads."""
        self.predict_function = self._function("predict")

    def _make_test_function(self) -> None:
        """Compiles `evaluate`."""
        self._need_compiled()
        self._ready(None)
        self.test_function = self._function("test")

    def _make_train_function(self) -> None:
        """Compiles `fit`, which makes the optimizer's variables."""
        self._need_compiled()
        self._ready(None)
        self.train_function = self._function("train")

    def _fed_inputs(self) -> list[tuple[Any, str]]:
        """The inputs that need data, and their names: placeholders where there are any, else all."""
        pairs = list(zip(self.inputs, self.input_names, strict=True))  # type: ignore[attr-defined]
        return [pair for pair in pairs if pair[0].op.type in _FED] or pairs

    def _input_arrays(self, x: Any) -> list[Any]:
        """``x`` as checked arrays; none of it where the inputs are tensors with values of their own."""
        pairs = self._fed_inputs()
        if isinstance(x, (list, tuple, dict)) and not x:
            x = None
        if x is None and self.inputs and not any(t.op.type in _FED for t, _ in pairs):
            return []
        names = [name for _, name in pairs]
        tensors = [tensor for tensor, _ in pairs]
        arrays = data.as_arrays(x, names, "input", tensors)
        return data.check_shapes(arrays, tensors, names, "input")

    def _state_operations(self) -> list[Any]:
        """What keeps the states of stateful layers, of the calls on this model's own inputs."""
        fed = {tensor.op for tensor in self.inputs}
        return [u for u in self.state_updates if reached_from(u, fed)]  # type: ignore[attr-defined]

    def _size(self, batch_size: int | None) -> int:
        """The batch size, which the inputs' shape may fix; raises `ValueError` for another one."""
        fixed = self.inputs[0].dims[0] if self.inputs and self.inputs[0].dims else None
        if fixed is not None and batch_size not in (None, fixed):
            raise ValueError(
                f"The `batch_size` argument value {batch_size} is incompatible with the specified "
                f"batch size of your Input Layer: {fixed}"
            )
        return fixed or batch_size or 32

    def _need_compiled(self) -> None:
        if self.optimizer is None:
            raise RuntimeError(
                "You must compile your model before training/testing. Use `model.compile(optimizer, loss)`."
            )

    def _ready(self, x: Any) -> None:
        """Makes inputs for a model that waits for data, and the loss when it was compiled before."""
        if not self.inputs and x is not None:
            from dataflow.keras.layers.core import Input

            if "training" in self._call_arguments() and not K.is_package_keras():  # type: ignore[attr-defined]
                K.learning_phase()  # made first, as TensorFlow does: seeds of weights count nodes
            if isinstance(x, dict):
                named = {k: _input_of(k, v) for k, v in x.items()}
                self._build_from_inputs(named, [np.asarray(x[k]) for k in named])  # type: ignore[attr-defined]
                return self._ready(None)
            # A list of arrays is an input for each, vectors too; one of numbers or of rows is an array.
            several = isinstance(x, (list, tuple)) and (
                isinstance(x[0], np.ndarray) or np.ndim(x[0]) > 1
            )
            arrays = [np.asarray(v) for v in (x if several else [x])]
            arrays = [v[:, None] if v.ndim == 1 else v for v in arrays]
            kinds = ["int32" if a.dtype.kind in "iu" and _embeds(self) else None for a in arrays]
            tensors = [
                Input(shape=a.shape[1:], dtype=k) for a, k in zip(arrays, kinds, strict=True)
            ]
            self._build_from_inputs(tensors if len(tensors) > 1 else tensors[0], arrays)  # type: ignore[attr-defined]
            self._load_awaited()  # type: ignore[attr-defined]
        if self.optimizer is not None and self._trained is None:
            self._make_training()

    def _set_inputs(self, inputs: Any, outputs: Any = None, training: Any = None) -> None:
        """Has a class of one's own meet its inputs, arrays or tensors: programs call it before they save one.

        Raises `ValueError` where the model has inputs.
        """
        if self.inputs:
            raise ValueError(f"{self.name}._set_inputs: the inputs are set already.")  # type: ignore[attr-defined]
        with self._graph.as_default():
            self._ready(nest.map_structure(_like, inputs))

    def _standard(
        self, x: Any, y: Any, sample_weight: Any = None, class_weight: Any = None
    ) -> list[Any]:
        """Inputs, targets and weights as checked arrays of the same length."""
        ins = self._input_arrays(x)
        if y is None and self.targets:
            raise ValueError("Targets are missing: fit(x, y), or a dataset of pairs (x, y).")
        names = self._target_names
        outs = data.as_arrays(y, names, "target")
        self._accept_ranks(outs)
        outs = data.check_shapes(outs, self.targets, names, "target")
        count = data.check_lengths([*ins, *outs])
        if isinstance(sample_weight, tuple) and len(names) > 1 and K.is_package_keras():
            raise TypeError("sample_weight is a list or a dict where there are several outputs.")
        if isinstance(sample_weight, dict):
            unfed = self._unfed_names
            sample_weight = {k: w for k, w in sample_weight.items() if k not in unfed} or None
        given = data.per_output(sample_weight, names, "sample_weight")
        classes = data.per_output(class_weight, names, "class_weight")
        weights = [
            data.weights_of(out, one, per_class, tensor.shape.ndims)
            for out, one, per_class, tensor in zip(
                outs, given, classes, self.sample_weights, strict=True
            )
        ]
        if count == 0 and (ins or outs):
            raise ValueError("The arrays are empty.")
        data.check_lengths([*ins, *weights])
        data.check_whole_batches(count, self.inputs)
        return [*ins, *outs, *weights]

    def _batch(self, element: Any, class_weight: Any = None) -> list[Any]:
        if not isinstance(element, (tuple, list)) or len(element) not in (2, 3):
            raise data.not_a_batch(element)
        self._ready(element[0])
        x, y, *more = element
        return self._standard(x, y, more[0] if more else None, class_weight)

    def _inputs_of(self, element: Any) -> list[Any]:
        """The inputs of a batch that comes with targets, or without."""
        if isinstance(element, tuple) and len(element) > 3:
            raise data.not_a_batch(element)
        x = element[0] if isinstance(element, tuple) else element
        self._ready(x)
        return self._input_arrays(x)

    def _unfed(self, what: str, steps: int | None, steps_name: str = "steps") -> list[list[Any]]:
        """Batches of a model whose inputs and targets are tensors; raises `ValueError` for others."""
        if not self.inputs or any(t.op.type == "Placeholder" for t in self.inputs):
            raise ValueError(f"{what}: x is missing.")
        self._ready(None)
        if what != "predict" and self.targets:
            raise ValueError(
                f"{what}: y is missing. Where the inputs are tensors, so are the targets: "
                "compile(target_tensors=[...])."
            )
        if steps is None:
            raise ValueError(
                f"{what}: when the inputs are tensors, you should specify the `{steps_name}` "
                "argument: nobody knows how many batches they have."
            )
        return [[] for _ in range(steps)]

    def train_on_batch(
        self,
        x: Any,
        y: Any = None,
        sample_weight: TensorLike | None = None,
        class_weight: Any = None,
        reset_metrics: bool = True,
    ) -> Any:
        """One step; returns the loss, or [loss, metrics...]."""
        self._need_compiled()
        with self._graph.as_default():
            if tensors.are_tensors(x):
                x, y, sample_weight = tensors.values_of((x, y, sample_weight), K.get_session())
            self._ready(x)
            arrays = self._standard(x, y, sample_weight, class_weight)
            return self._on_batch("train", arrays, reset_metrics)

    def test_on_batch(
        self,
        x: Any,
        y: Any = None,
        sample_weight: TensorLike | None = None,
        reset_metrics: bool = True,
    ) -> Any:
        """The loss (and metrics) of a batch."""
        self._need_compiled()
        with self._graph.as_default():
            if tensors.are_tensors(x):
                x, y, sample_weight = tensors.values_of((x, y, sample_weight), K.get_session())
            self._ready(x)
            return self._on_batch("test", self._standard(x, y, sample_weight), reset_metrics)

    def _on_batch(self, kind: str, arrays: list[Any], reset_metrics: bool) -> Any:
        """The results of a batch. What the metrics counted before it (in `evaluate`, say) counts, and is then forgotten.

        So in tf.keras; in the package Keras 2.2 a metric is a number of its batch.
        """
        self._reset_metrics(reset_metrics and K.is_package_keras())
        found = _scalars(self._function(kind)(arrays))
        self._reset_metrics(reset_metrics)
        return found

    def predict_on_batch(self, x: Any) -> Any:
        """The outputs for a batch."""
        with self._graph.as_default():
            self._ready(x)
            found = self._function("predict")(self._input_arrays(x))
            return found[0] if len(found) == 1 else found

    # ---- many batches ---------------------------------------------------------------------

    def fit(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: int | None = None,
        epochs: int = 1,
        verbose: int = 1,
        callbacks: Any = None,
        validation_split: float = 0.0,
        validation_data: Any = None,
        shuffle: bool = True,
        class_weight: Any = None,
        sample_weight: TensorLike | None = None,
        initial_epoch: int = 0,
        steps_per_epoch: int | None = None,
        validation_steps: int | None = None,
        validation_freq: Any = 1,
        max_queue_size: int = 10,
        workers: int = 1,
        use_multiprocessing: bool = False,
        **kwargs: Any,
    ) -> Any:
        """Trains, and returns a `History` whose ``history`` has a list per loss and metric.

        ``x`` and ``y``: arrays (lists or dicts of them for several inputs), or ``x`` a `tf.data`
        dataset or a generator of pairs; none where the model reads tensors (`Input(tensor=)`,
        ``compile(target_tensors=)``), with ``steps_per_epoch``. Of tensors (of an iterator, say) each run is a batch, with
        ``steps_per_epoch`` too. ``validation_split`` takes the last part, unshuffled.
        ``validation_freq``: after every so many epochs, or after those in a list (from 1).
        ``verbose``: 0 silent, 1 a bar, 2 a line per epoch. ``max_queue_size``, ``workers`` and
        ``use_multiprocessing`` are accepted; batches are made in this thread.

        Raises `ValueError` for data that does not fit, `RuntimeError` before `compile`.
        """
        self._need_compiled()
        _refuse_unknown("fit", kwargs)
        with self._graph.as_default():
            if tensors.are_tensors(x):
                session = K.get_session()
                x = tensors.batches_of(x, y, sample_weight, session, steps_per_epoch)
                y = sample_weight = batch_size = None
            given = self._examples(x, y, batch_size, steps_per_epoch, sample_weight, class_weight)
            if validation_split:
                given.split_off(validation_split)
            has_validation = given.held is not None or validation_data is not None
            every = CallbackList(
                callbacks,
                self,
                {
                    "epochs": epochs,
                    "steps": given.steps,
                    "verbose": verbose,
                    "samples": None if given.arrays is None else len(given.arrays[0]),
                    "batch_size": given.batch_size,
                    "do_validation": has_validation,
                    "metrics": self._reported_names(has_validation),
                    "train_info": None
                    if data.is_generator(x)
                    else train_info(
                        given.arrays, given.steps, given.held, validation_data, validation_steps
                    ),
                },
            )
            self.stop_training = False
            if self._trained is not None:
                self._make_train_operations()  # callbacks find the optimizer's variables
            if has_validation:
                every.set_validation_data(self._validation_arrays(given, validation_data))
            every.on_train_begin()
            random = _orders(self._graph)
            of_source = functools.partial(self._batch, class_weight=class_weight)
            for epoch in range(initial_epoch, epochs):
                every.on_epoch_begin(epoch)
                self._reset_metrics()
                stream = given.epoch(of_source, steps_per_epoch, random if shuffle else None)
                logs = self._run("train", stream, every, may_be_empty=epoch > initial_epoch)
                self.stop_training |= given.has_ended
                if has_validation and data.is_due(epoch + 1, validation_freq):
                    found = self._validate(given, validation_data, validation_steps, every)
                    logs.update({f"val_{k}": v for k, v in found.items()})
                every.on_epoch_end(epoch, logs)
                if self.stop_training:
                    break
            every.on_train_end()
            return self.history

    def _examples(
        self,
        x: Any,
        y: Any,
        batch_size: int | None,
        steps_per_epoch: int | None,
        sample_weight: Any,
        class_weight: Any,
    ) -> data.Examples:
        """What `fit` is given, checked."""
        if data.check_alone(x, batch_size, y, sample_weight):
            source, steps = self._source(x, trains=True), steps_per_epoch
            if data.is_dataset(x) and steps is None:
                size = int(K.get_session().run(cardinality(x)))
                steps = None if size < 0 else size
            return data.Examples(self._size(batch_size), steps, source=source)
        if x is None and (y is None or not self.inputs):
            unfed = self._unfed("fit", steps_per_epoch, "steps_per_epoch")
            return data.Examples(self._size(batch_size), steps_per_epoch, unfed=unfed)
        self._ready(x)
        arrays = self._standard(x, y, sample_weight, class_weight)
        if K.is_package_keras() and self.stateful:  # type: ignore[attr-defined]  # where the inputs' shape gives no batch size
            data.check_divisible(len(arrays[0]), batch_size or 32)
        return data.Examples(self._size(batch_size), None, arrays=arrays)

    def _validation_arrays(self, given: data.Examples, others: Any) -> list[Any] | None:
        """Inputs, targets and weights to validate on, for callbacks; None where they are not arrays."""
        if given.held is not None:
            return given.held
        if (
            not isinstance(others, (tuple, list))
            or len(others) < 2
            or tensors.are_tensors(others[0])
        ):
            return None
        self._ready(others[0])
        return self._standard(*others)

    def _validate(
        self, given: data.Examples, validation_data: Any, steps: int | None, every: CallbackList
    ) -> Logs:
        """The loss and metrics of the part that was held back, or of the data for it."""
        if draws_as_tensorflow() and not settings["seeds_of_numpy"]:
            _shuffle_rows(given.held or validation_data)
        if given.held is not None:
            batches = data.batches(given.held, given.batch_size)
            return self._test(batches, every.of_tests, reset=True)
        return self._evaluate(validation_data, given.batch_size, steps, every.of_tests)

    def fit_generator(
        self,
        generator: Any,
        steps_per_epoch: int | None = None,
        epochs: int = 1,
        verbose: int = 1,
        callbacks: Any = None,
        validation_data: Any = None,
        validation_steps: int | None = None,
        validation_freq: Any = 1,
        class_weight: Any = None,
        max_queue_size: int = 10,
        workers: int = 1,
        use_multiprocessing: bool = False,
        shuffle: bool = True,
        initial_epoch: int = 0,
    ) -> Any:
        """As `fit` with a generator."""
        return self.fit(
            generator,
            epochs=epochs,
            verbose=verbose,
            callbacks=callbacks,
            validation_data=validation_data,
            shuffle=shuffle,
            class_weight=class_weight,
            initial_epoch=initial_epoch,
            steps_per_epoch=steps_per_epoch,
            validation_steps=validation_steps,
            validation_freq=validation_freq,
        )

    def _reported_names(self, has_validation: bool) -> list[str]:
        names = self.metrics_names
        return [*names, *(f"val_{name}" for name in names)] if has_validation else list(names)

    def _source(self, x: Any, trains: bool = False) -> Any:
        if data.is_dataset(x):
            return data.DatasetBatches(x, K.get_session())
        return data.GeneratorBatches(x, trains)

    def reset_metrics(self) -> None:
        """Counts all metrics from the start."""
        self._reset_metrics()

    def _reset_metrics(self, wanted: bool = True) -> None:
        for metric in self._metric_objects if wanted else []:
            metric.reset_states()

    def _run(
        self, kind: str, stream: Any, every: Any, reset: bool = False, may_be_empty: bool = False
    ) -> Logs:
        """Mean losses over the batches' examples, and what the metrics have counted."""
        if reset:
            self._reset_metrics()
        sums: Any = None
        count, last, run = 0, [], None
        for number, arrays in enumerate(stream):
            run = run or self._function(kind, bool(arrays))
            size = len(arrays[0]) if arrays else 1  # batches of tensors count alike
            if every is not None:
                every.on_batch_begin(number, {"batch": number, "size": size})
            last = [v if np.ndim(v) else LogValue(v) for v in run(arrays)]
            values = np.asarray(last[: self._num_losses]) * size
            sums = values if sums is None else sums + values
            count += size
            if every is not None:
                pairs = zip(self.metrics_names, last, strict=True)
                every.on_batch_end(number, Logs(pairs) | {"batch": number, "size": size})
                if kind == "train" and self.stop_training:
                    break
        if sums is None and may_be_empty:
            return Logs()
        if sums is None:
            raise ValueError("There was no batch: the data is empty (or its iterator has ended).")
        means = [LogValue(mean) for mean in sums / count]
        return Logs(zip(self.metrics_names, [*means, *last[self._num_losses :]], strict=True))

    def _test(self, stream: Any, every: Any, reset: bool = False) -> Logs:
        """`_run` over batches that are not trained on, with the callbacks around it."""
        every.on_begin()
        logs = self._run("test", stream, every, reset)
        every.on_end(logs)
        return logs

    def _evaluate(self, pair: Any, batch_size: int, steps: int | None, every: Any) -> Logs:
        if data.is_dataset(pair) or data.is_generator(pair):
            if self._tested is None or self._tested[0] is not pair:
                self._tested = (pair, self._source(pair))  # kept: the next validation reads it too
            self._reset_metrics()
            batches = self._tested[1].again(steps)
            return self._test((self._batch(e) for e in batches), every)
        if isinstance(pair, (tuple, list)) and pair and tensors.are_tensors(pair[0]):
            pair, batch_size = tensors.joined(pair, K.get_session(), steps, "validation_steps")
        if not isinstance(pair, (tuple, list)) or len(pair) not in (2, 3):
            raise ValueError(
                "validation_data must be (x, y) or (x, y, sample_weights), or a dataset; got "
                f"{type(pair).__name__}."
            )
        return self._test(data.batches(self._standard(*pair), batch_size), every, reset=True)

    def evaluate(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: int | None = None,
        verbose: int = 1,
        sample_weight: TensorLike | None = None,
        steps: int | None = None,
        callbacks: Any = None,
        max_queue_size: int = 10,
        workers: int = 1,
        use_multiprocessing: bool = False,
        **kwargs: Any,
    ) -> Any:
        """The loss, or [loss, metrics...] in the order of ``metrics_names``."""
        self._need_compiled()
        _refuse_unknown("evaluate", kwargs)
        every = StageCallbacks("test", callbacks, self)
        number, start = steps, time.monotonic()
        with self._graph.as_default():
            if data.check_alone(x, batch_size, y, sample_weight):
                logs = self._evaluate(x, 32, steps, every)
            elif x is None and y is None:
                logs = self._test(self._unfed("evaluate", steps), every, reset=True)
            else:
                given = (x, y) if sample_weight is None else (x, y, sample_weight)
                if tensors.are_tensors(x):
                    given, batch_size = tensors.joined(given, K.get_session(), steps, "steps")
                else:
                    number = np.shape(nest.flatten(y if x is None else x)[0])[0]
                self._ready(given[0])
                logs = self._evaluate(given, self._size(batch_size), steps, every)
            if number is not None:
                unit = "step" if number == steps else "sample"
                print_evaluation(verbose, number, unit, start, logs)
            values = [logs[name] for name in self.metrics_names]
            return values[0] if len(values) == 1 else values

    def predict(
        self,
        x: Any = None,
        batch_size: int | None = None,
        verbose: int = 0,
        steps: int | None = None,
        callbacks: Any = None,
        max_queue_size: int = 10,
        workers: int = 1,
        use_multiprocessing: bool = False,
        **kwargs: Any,
    ) -> Any:
        """The outputs as arrays, batch by batch."""
        _refuse_unknown("predict", kwargs)
        every = StageCallbacks("predict", callbacks, self)
        if executing_eagerly():  # only there, as in TensorFlow 1.15
            self._reset_metrics()
        with self._graph.as_default():
            if tensors.are_tensors(x):
                (x,), batch_size = tensors.joined((x,), K.get_session(), steps, "steps")
            if data.check_alone(x, batch_size):
                elements = self._source(x).epoch(steps)
                stream: Any = map(self._inputs_of, elements)
            elif x is None:
                stream = self._unfed("predict", steps)
            else:
                self._ready(x)
                arrays = self._input_arrays(x)
                count = (
                    len(arrays[0]) if arrays else 0
                )  # the others' lengths nobody checks, as in Keras
                if self.as_package_keras:
                    arrays = [array[:count] for array in arrays]
                data.check_whole_batches(count, self.inputs)
                stream = data.batches(arrays, self._size(batch_size))
            parts: list[list[Any]] = []
            every.on_begin()
            for number, batch in enumerate(stream):
                logs = {"batch": number, "size": len(batch[0]) if batch else 1}
                every.on_batch_begin(number, dict(logs))
                parts.append(self._function("predict", bool(batch))(batch))
                every.on_batch_end(number, {**logs, "outputs": parts[-1]})
            every.on_end({})
            if not parts:
                return np.zeros([0, *(d or 0 for d in self.outputs[0].dims[1:])], "float32")
            results = [concatenated(p) for p in zip(*parts, strict=True)]
            return results[0] if len(results) == 1 else results

    def evaluate_generator(
        self,
        generator: Any,
        steps: int | None = None,
        callbacks: Any = None,
        max_queue_size: int = 10,
        workers: int = 1,
        use_multiprocessing: bool = False,
        verbose: int = 0,
    ) -> Any:
        """As `evaluate` with a generator."""
        return self.evaluate(generator, steps=steps, callbacks=callbacks, verbose=verbose)

    def predict_generator(
        self,
        generator: Any,
        steps: int | None = None,
        callbacks: Any = None,
        max_queue_size: int = 10,
        workers: int = 1,
        use_multiprocessing: bool = False,
        verbose: int = 0,
    ) -> Any:
        """As `predict` with a generator."""
        return self.predict(generator, steps=steps, callbacks=callbacks, verbose=verbose)


def _refuse_unknown(what: str, kwargs: dict[str, Any]) -> None:
    """Raises `TypeError` for an argument that there is not."""
    for key in kwargs:
        advice = " It is called epochs." if key == "nb_epoch" else ""
        raise TypeError(f"{what}: unexpected argument {key!r}.{advice}")


def _scalars(values: list[Any]) -> Any:
    return values[0] if len(values) == 1 else list(values)


def _orders(graph: Graph) -> Any:
    """What the orders of batches are drawn from: by the graph's seed, so that they repeat, or by NumPy's.

    A program that runs as TensorFlow's has the order that Keras draws from NumPy.
    """
    if draws_as_tensorflow():
        return np.random
    seed = getattr(graph, "seed", None)
    return np.random.RandomState(np.random.randint(2**31) if seed is None else seed)


def _shuffle_rows(arrays: Any) -> None:
    """Takes from NumPy's generator the order in which tf.keras reads the arrays of a validation."""
    first = nest.flatten(arrays)[0]
    if isinstance(first, np.ndarray) and first.ndim:
        np.random.shuffle(np.arange(len(first)))


def _embeds(model: Any) -> bool:
    from dataflow.keras.layers.embeddings import Embedding

    return any(isinstance(layer, Embedding) for layer in model.layers)


def _like(value: Any) -> Any:
    """An array that stands for a tensor, by its sizes and its dtype; an array as it is."""
    if not hasattr(value, "op") and not hasattr(value, "dims"):
        return value
    sizes = [1 if size is None else size for size in value.shape.as_list()]
    return np.zeros(sizes, value.dtype.base_dtype.as_numpy_dtype)


def _input_of(name: str, values: Any) -> Any:
    """The input of a model for a feature of a dict: vectors are columns, whole numbers and text stay."""
    from dataflow.keras.layers.core import Input

    array = np.asarray(values)
    kind = (
        "string" if array.dtype.kind in "OSU" else None if array.dtype.kind == "f" else array.dtype
    )
    return Input(shape=array.shape[1:] or (1,), dtype=kind, name=name)
