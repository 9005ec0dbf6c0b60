"""`compile`, `fit`, `evaluate`, `predict`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dataflow.graph import nest
from dataflow.graph.tensor import Tensor
from dataflow.keras import (
    backend as K,
    callbacks as callbacks_module,
    losses as losses_module,
    metrics as metrics_module,
    optimizers,
    training_data as data,
)
from dataflow.keras.base_metric import MeanMetricWrapper, Metric, weights_like
from dataflow.ops import array
from dataflow.ops.math import cast
from dataflow.ops.reduce import reduce_mean
from dataflow.ops.sources import placeholder


class Logs(dict[str, Any]):
    """Values by name; ``accuracy`` and ``acc`` are the same one, as both spellings are in use."""

    def __missing__(self, key: str) -> Any:
        for long, short in (("accuracy", "acc"), ("acc", "accuracy")):
            if key.endswith(long):
                other = key[: -len(long)] + short
                if dict.__contains__(self, other):
                    return dict.__getitem__(self, other)
        raise KeyError(key)

    def get(self, key: str, default: Any = None) -> Any:
        try:
            return self[key]
        except KeyError:
            return default


class Training:
    """The part of `Model` that trains."""

    _graph: Any
    inputs: list[Any]
    outputs: list[Any]

    def _init_training(self) -> None:
        self.optimizer: Any = None
        self.stop_training = False
        self.history: Any = None
        self.metrics_names: list[str] = []
        self._compile_arguments: dict[str, Any] = {}
        self._stale()

    def _stale(self) -> None:
        self._trained: Any = None
        self._functions: dict[Any, Callable[..., Any]] = {}

    # ---- compile --------------------------------------------------------------------------

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
        (`Input(tensor=...)`).

        Raises `ValueError` for unknown names.
        """
        if distribute is not None:
            raise NotImplementedError("compile(distribute=...) is not supported.")
        if kwargs:
            raise TypeError(f"compile: unexpected argument {next(iter(kwargs))!r}.")
        with self._graph.as_default():
            self.optimizer = optimizers.get(optimizer)
        self.loss = loss
        self._metrics, self._weighted_metrics = metrics or [], weighted_metrics or []
        self.loss_weights = loss_weights
        self.sample_weight_mode = sample_weight_mode
        self._target_tensors = target_tensors
        self._compile_arguments = {
            "loss": loss,
            "metrics": metrics,
            "loss_weights": loss_weights,
            "sample_weight_mode": sample_weight_mode,
            "weighted_metrics": weighted_metrics,
        }
        for one in nest.flatten(loss) if isinstance(loss, (list, tuple, dict)) else [loss]:
            losses_module.get(one)
        self._stale()
        if self.outputs:
            with self._graph.as_default():
                self._make_training()

    def _per_output(self, value: Any, what: str) -> list[Any]:
        names = self.output_names  # type: ignore[attr-defined]
        if isinstance(value, dict):
            unknown = [k for k in value if k not in names]
            if unknown:
                raise ValueError(
                    f"Unknown entries in {what} dictionary: {unknown}. Only expected: {names}"
                )
            return [value.get(n) for n in names]
        if isinstance(value, (list, tuple)):
            if len(value) != len(names):
                raise ValueError(
                    f"When passing a list as {what}, it should have one entry per model output. "
                    f"The model has {len(names)} outputs, but you passed {what}={value}"
                )
            return list(value)
        return [value] * len(names)

    def _make_training(self) -> None:
        names = self.output_names  # type: ignore[attr-defined]
        functions = [losses_module.get(x) for x in self._per_output(self.loss, "loss")]
        weights = self._per_output(self.loss_weights, "loss_weights")
        given = self._per_output(self._target_tensors, "target_tensors")
        modes = self._per_output(self.sample_weight_mode, "sample_weight_mode")
        watched = self._watched(self._metrics, "metrics")
        weighted = self._watched(self._weighted_metrics, "weighted_metrics")
        targets, sample_weights, terms, each, values, titles = [], [], [], [], [], []
        objects: list[Any] = []
        trained: list[str] = []
        fed: list[str] = []
        for number, (name, output, function, weight) in enumerate(
            zip(names, self.outputs, functions, weights, strict=True)
        ):
            if function is None:
                continue
            trained.append(name)
            kind = getattr(function, "__name__", getattr(function, "name", ""))
            if given[number] is None:
                target, sample_weight = self._placeholders(name, output, kind, modes[number])
                targets.append(target)
                sample_weights.append(sample_weight)
                fed.append(name)
            else:
                target, sample_weight = given[number], None
                if target.shape.ndims == 1 and output.shape.ndims == 2 and "sparse" not in kind:
                    target = array.expand_dims(target, -1)
            with self._graph.name_scope(f"loss/{name}_loss"):
                raw = function.call if isinstance(function, losses_module.Loss) else function
                term = _weighted_mean(raw(target, output), sample_weight, _mask(output))
            each.append(term)
            terms.append(term if weight is None else float(weight) * term)
            mask = _mask(output)
            for metric, counted, prefix in (
                *((m, mask, "") for m in watched[number]),
                *((m, _masked(sample_weight, mask), "weighted_") for m in weighted[number]),
            ):
                title, value, made = self._metric(metric, function, target, output, counted)
                title = prefix + title
                titles.append(title if len(names) == 1 else f"{name}_{title}")
                values.append(value)
                objects.append(made)
        if not terms:
            raise RuntimeError("The model has no loss to train with: compile(optimizer, loss=...).")
        inputs = {t.op for t in self.inputs} | {t.op for t in [*targets, *sample_weights]}
        total = terms[0]
        for term in terms[1:]:
            total = total + term
        for penalty in self.losses:  # type: ignore[attr-defined]
            if _reached_from(penalty, inputs):
                total = total + penalty
        self.total_loss = total
        named = [f"{n}_loss" for n in trained] if len(each) > 1 else []
        self.metrics_names = ["loss", *named, *titles]
        self.targets, self.sample_weights, self._target_names = targets, sample_weights, fed
        self._reported = [total, *(each if named else []), *values]
        self._metric_objects = objects
        self._num_losses = 1 + len(named)
        self._trained = "compiled"
        self._train_ops: Any = None

    def _placeholders(self, name: str, output: Any, kind: str, mode: Any) -> tuple[Any, Any]:
        """What an output is compared with, and the weights of its examples (or steps)."""
        dims = None if output.dims is None else list(output.dims)
        if "sparse" in kind and dims is not None:
            dims = [*dims[:-1], 1]
        elif kind not in losses_module.BY_NAME and dims is not None:
            dims = [None] * len(dims) if len(dims) else dims
        if mode not in (None, "temporal"):
            raise ValueError(f"sample_weight_mode is None or 'temporal', got {mode!r}.")
        dtype = "int64" if "sparse" in kind else output.dtype.base_dtype
        rank = 2 if mode == "temporal" else 1
        return (
            placeholder(dtype, dims, name=f"{name}_target"),
            placeholder(K.floatx(), [None] * rank, name=f"{name}_sample_weights"),
        )

    def _watched(self, metrics: Any, what: str) -> list[list[Any]]:
        """The metrics of each output; a flat list is for all of them."""
        names = self.output_names  # type: ignore[attr-defined]
        if isinstance(metrics, dict) or any(isinstance(m, (list, tuple)) for m in metrics):
            wanted = self._per_output(metrics, what)
            return [list(w) if isinstance(w, (list, tuple)) else [w] if w else [] for w in wanted]
        return [list(metrics) for _ in names]

    def _metric(
        self, metric: Any, loss: Any, target: Any, output: Any, sample_weight: Any
    ) -> tuple[str, Any, Any]:
        """A metric's title, its value after a batch, and the object that counts it."""
        if metric in ("acc", "accuracy", "ce", "crossentropy"):
            title = "acc" if metric in ("acc", "accuracy") else "ce"
            made = MeanMetricWrapper(metrics_module.of_name(metric, loss, output), title)
        else:
            made = metrics_module.get(metric)
            if not isinstance(made, Metric):
                title = getattr(made, "__name__", getattr(made, "name", "metric"))
                function = made.call if isinstance(made, losses_module.Loss) else made
                made = MeanMetricWrapper(function, title)
        with self._graph.name_scope(f"metrics/{made.name}"):
            value = made(target, output, sample_weight=sample_weight)
        return made.name, value, made

    def _make_train_operations(self) -> Any:
        """The ops of one step, made once."""
        if self._train_ops is None:
            with self._graph.as_default(), self._graph.name_scope("training"):
                weights = self.trainable_weights  # type: ignore[attr-defined]
                if not weights:
                    raise ValueError("Nothing to train: the model has no trainable weights.")
                fed = {t.op for t in [*self.inputs, *self.targets, *self.sample_weights]}
                updates = [u for u in self.updates if _reached_from(u, fed)]  # type: ignore[attr-defined]
                steps = self.optimizer.get_updates(self.total_loss, weights)
                self._train_ops = [*steps, *updates]
        return self._train_ops

    # ---- one batch ------------------------------------------------------------------------

    def _function(self, kind: str) -> Callable[..., Any]:
        """A callable of arrays for this session; "train", "test" or "predict"."""
        frozen = tuple(w.name for w in self.trainable_weights) if kind == "train" else ()  # type: ignore[attr-defined]
        if kind == "train" and frozen != getattr(self, "_trained_names", frozen):
            self._train_ops = None  # layers were frozen or freed since
            self._functions.clear()
        train_ops = self._make_train_operations() if kind == "train" else []
        if kind == "train":
            self._trained_names = frozen
        session = K.get_session()
        found = self._functions.get((kind, id(session)))
        if found is not None:
            return found
        fetches = list(self.outputs) if kind == "predict" else list(self._reported)
        feeds = list(self.inputs)
        if kind != "predict":
            feeds += [*self.targets, *self.sample_weights]
        phase = K.learning_phase()
        fed_phase = isinstance(phase, Tensor)
        call = session.make_callable(
            [fetches, [*train_ops, *self._state_operations()]],
            [*feeds, *([phase] if fed_phase else [])],
        )
        extra = [np.asarray(kind == "train")] if fed_phase else []
        types = [t.dtype.base_dtype.as_numpy_dtype for t in feeds]

        def run(arrays: list[Any]) -> list[Any]:
            values = [np.asarray(a, t) for a, t in zip(arrays, types, strict=True)]
            return call(*values, *extra)[0]  # type: ignore[no-any-return]

        self._functions[(kind, id(session))] = run
        return run

    def _state_operations(self) -> list[Any]:
        """What keeps the states of stateful layers, of the calls on this model's own inputs."""
        fed = {tensor.op for tensor in self.inputs}
        return [u for u in self.state_updates if _reached_from(u, fed)]  # type: ignore[attr-defined]

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
                "The model needs to be compiled before being used: model.compile(optimizer, loss)."
            )

    def _ready(self, x: Any) -> None:
        """Makes inputs for a model that waits for data, and the loss when it was compiled before."""
        if not self.inputs:
            from dataflow.keras.layers.core import Input

            given = list(x) if isinstance(x, (list, tuple)) and np.ndim(x[0]) > 1 else [x]
            arrays = [np.asarray(v) for v in given]
            kinds = ["int32" if a.dtype.kind in "iu" and _embeds(self) else None for a in arrays]
            tensors = [
                Input(shape=a.shape[1:], dtype=k) for a, k in zip(arrays, kinds, strict=True)
            ]
            self._build_from_inputs(tensors if len(tensors) > 1 else tensors[0])  # type: ignore[attr-defined]
        if self.optimizer is not None and self._trained is None and self.loss is not None:
            self._make_training()

    def _standard(
        self, x: Any, y: Any, sample_weight: Any = None, class_weight: Any = None
    ) -> list[Any]:
        """Inputs, targets and weights as checked arrays of one length."""
        ins = data.as_arrays(x, self.input_names, "input")  # type: ignore[attr-defined]
        ins = data.check_shapes(ins, self.inputs, self.input_names, "input")  # type: ignore[attr-defined]
        if y is None and self.targets:
            raise ValueError("Targets are missing: fit(x, y), or a dataset of pairs (x, y).")
        names = self._target_names
        outs = data.check_shapes(data.as_arrays(y, names, "target"), self.targets, names, "target")
        count = data.check_lengths([*ins, *outs])
        given = data.per_output(sample_weight, names, "sample_weight")
        classes = data.per_output(class_weight, names, "class_weight")
        weights = [
            data.weights_of(out, one, per_class, tensor.shape.ndims)
            for out, one, per_class, tensor in zip(
                outs, given, classes, self.sample_weights, strict=True
            )
        ]
        if count == 0:
            raise ValueError("The arrays are empty.")
        data.check_lengths([*ins, *weights])
        data.check_whole_batches(count, self.inputs)
        return [*ins, *outs, *weights]

    def _batch(self, element: Any) -> list[Any]:
        if not isinstance(element, (tuple, list)) or len(element) not in (2, 3):
            raise ValueError(
                "Each element of a dataset or generator must be (inputs, targets) or (inputs, "
                f"targets, sample_weights); got {type(element).__name__}."
            )
        self._ready(element[0])
        return self._standard(*element)

    def train_on_batch(
        self,
        x: Any,
        y: Any = None,
        sample_weight: Any = None,
        class_weight: Any = None,
        reset_metrics: bool = True,
    ) -> Any:
        """One step; returns the loss, or [loss, metrics...]."""
        self._need_compiled()
        with self._graph.as_default():
            self._ready(x)
            arrays = self._standard(x, y, sample_weight, class_weight)
            self._reset_metrics(reset_metrics)
            return _scalars(self._function("train")(arrays))

    def test_on_batch(
        self, x: Any, y: Any = None, sample_weight: Any = None, reset_metrics: bool = True
    ) -> Any:
        """The loss (and metrics) of a batch."""
        self._need_compiled()
        with self._graph.as_default():
            self._ready(x)
            self._reset_metrics(reset_metrics)
            return _scalars(self._function("test")(self._standard(x, y, sample_weight)))

    def predict_on_batch(self, x: Any) -> Any:
        """The outputs for a batch."""
        with self._graph.as_default():
            self._ready(x)
            names = self.input_names  # type: ignore[attr-defined]
            arrays = data.as_arrays(x, names, "input")
            found = self._function("predict")(
                data.check_shapes(arrays, self.inputs, names, "input")
            )
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
        sample_weight: Any = None,
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
        dataset or a generator of pairs. ``validation_split`` takes the last part, unshuffled.
        ``validation_freq``: after every so many epochs, or after those in a list (from 1).
        ``verbose``: 0 silent, 1 a bar, 2 a line per epoch. ``max_queue_size``, ``workers`` and
        ``use_multiprocessing`` are accepted; batches are made in this thread.

        Raises `ValueError` for data that does not fit, `RuntimeError` before `compile`.
        """
        self._need_compiled()
        _refuse_unknown("fit", kwargs)
        with self._graph.as_default():
            held: Any = None
            if data.is_dataset(x) or data.is_generator(x):
                if validation_split:
                    raise ValueError("validation_split needs arrays; give validation_data.")
                source, arrays = self._source(x), None
            else:
                if x is None:
                    raise ValueError("fit: x is missing.")
                self._ready(x)
                source, arrays = None, self._standard(x, y, sample_weight, class_weight)
                if validation_split:
                    arrays, held = data.split_off(arrays, validation_split)
            has_validation = held is not None or validation_data is not None
            size = self._size(batch_size)
            steps = steps_per_epoch
            if arrays is not None:
                steps = -(-len(arrays[0]) // size)
                if steps == 0:
                    raise ValueError("fit: the arrays are empty.")
            every = callbacks_module.CallbackList(
                callbacks,
                self,
                {
                    "epochs": epochs,
                    "steps": steps,
                    "verbose": verbose,
                    "samples": None if arrays is None else len(arrays[0]),
                    "batch_size": size,
                    "do_validation": has_validation,
                },
            )
            self.stop_training = False
            every.on_train_begin()
            random = np.random.RandomState(_seed(self._graph))
            for epoch in range(initial_epoch, epochs):
                every.on_epoch_begin(epoch)
                self._reset_metrics()
                if arrays is None:
                    stream: Any = (self._batch(e) for e in source.epoch(steps_per_epoch))
                else:
                    order = random.permutation(len(arrays[0])) if shuffle else None
                    stream = data.batches(arrays, size, order)
                logs = self._run("train", stream, every)
                if has_validation and data.is_due(epoch + 1, validation_freq):
                    if held is not None:
                        batches = data.batches(held, size)
                        found = self._test(batches, every.of_tests, reset=True)
                    else:
                        found = self._evaluate(
                            validation_data, size, validation_steps, every.of_tests
                        )
                    logs.update({f"val_{k}": v for k, v in found.items()})
                every.on_epoch_end(epoch, logs)
                if self.stop_training:
                    break
            every.on_train_end()
            return self.history

    def fit_generator(self, generator: Any, steps_per_epoch: int | None = None, epochs: int = 1, **kwargs: Any) -> Any:  # fmt: skip
        """As `fit` with a generator."""
        return self.fit(generator, steps_per_epoch=steps_per_epoch, epochs=epochs, **kwargs)

    def _source(self, x: Any) -> Any:
        if data.is_dataset(x):
            return data.DatasetBatches(x, K.get_session())
        return data.GeneratorBatches(x)

    def reset_metrics(self) -> None:
        """Counts all metrics from the start."""
        self._reset_metrics()

    def _reset_metrics(self, wanted: bool = True) -> None:
        for metric in getattr(self, "_metric_objects", []) if wanted else []:
            metric.reset_states()

    def _run(self, kind: str, stream: Any, every: Any, reset: bool = False) -> Logs:
        """Mean losses over the batches' examples, and what the metrics have counted."""
        if reset:
            self._reset_metrics()
        sums: Any = None
        count, last, run = 0, [], None
        for number, arrays in enumerate(stream):
            run = run or self._function(kind)
            size = len(arrays[0])
            if every is not None:
                every.on_batch_begin(number, {"batch": number, "size": size})
            last = [v if np.ndim(v) else float(v) for v in run(arrays)]
            values = np.asarray(last[: self._num_losses]) * size
            sums = values if sums is None else sums + values
            count += size
            if every is not None:
                pairs = zip(self.metrics_names, last, strict=True)
                every.on_batch_end(number, Logs(pairs) | {"batch": number, "size": size})
                if kind == "train" and self.stop_training:
                    break
        if sums is None:
            raise ValueError("There was no batch: the data is empty (or its iterator has ended).")
        means = [float(mean) for mean in sums / count]
        return Logs(zip(self.metrics_names, [*means, *last[self._num_losses :]], strict=True))

    def _test(self, stream: Any, every: Any, reset: bool = False) -> Logs:
        """`_run` over batches that are not trained on, with the callbacks around it."""
        every.on_begin()
        logs = self._run("test", stream, every, reset)
        every.on_end(logs)
        return logs

    def _evaluate(self, pair: Any, batch_size: int, steps: int | None, every: Any) -> Logs:
        if data.is_dataset(pair) or data.is_generator(pair):
            key = ("source", id(pair))
            source: Any = self._functions.get(key)
            if source is None:
                source = self._functions[key] = self._source(pair)
            self._reset_metrics()
            return self._test((self._batch(e) for e in source.epoch(steps)), every)
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
        sample_weight: Any = None,
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
        every = callbacks_module.StageCallbacks("test", callbacks, self)
        with self._graph.as_default():
            if data.is_dataset(x) or data.is_generator(x):
                logs = self._evaluate(x, 32, steps, every)
            else:
                self._ready(x)
                given = (x, y) if sample_weight is None else (x, y, sample_weight)
                logs = self._evaluate(given, self._size(batch_size), steps, every)
            values = [logs[name] for name in self.metrics_names]
            return values[0] if len(values) == 1 else values

    def predict(
        self,
        x: Any,
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
        every = callbacks_module.StageCallbacks("predict", callbacks, self)
        with self._graph.as_default():
            if data.is_dataset(x) or data.is_generator(x):
                elements = self._source(x).epoch(steps)
                stream: Any = ([e[0]] if isinstance(e, tuple) else [e] for e in elements)
            else:
                self._ready(x)
                names = self.input_names  # type: ignore[attr-defined]
                arrays = data.check_shapes(
                    data.as_arrays(x, names, "input"), self.inputs, names, "input"
                )
                data.check_whole_batches(data.check_lengths(arrays), self.inputs)
                stream = data.batches(arrays, self._size(batch_size))
            parts: list[list[Any]] = []
            every.on_begin()
            for number, batch in enumerate(stream):
                self._ready(batch[0])
                logs = {"batch": number, "size": len(batch[0])}
                every.on_batch_begin(number, dict(logs))
                parts.append(self._function("predict")(batch))
                every.on_batch_end(number, {**logs, "outputs": parts[-1]})
            every.on_end({})
            if not parts:
                return np.zeros([0, *(d or 0 for d in self.outputs[0].dims[1:])], "float32")
            results = [np.concatenate(p) for p in zip(*parts, strict=True)]
            return results[0] if len(results) == 1 else results

    evaluate_generator = evaluate
    predict_generator = predict


def _refuse_unknown(what: str, kwargs: dict[str, Any]) -> None:
    """Raises `TypeError` for an argument that there is not."""
    for key in kwargs:
        advice = " It is called epochs." if key == "nb_epoch" else ""
        raise TypeError(f"{what}: unexpected argument {key!r}.{advice}")


def _scalars(values: list[Any]) -> Any:
    return values[0] if len(values) == 1 else list(values)


def _seed(graph: Any) -> Any:
    """The graph's seed, so that the order of batches repeats; else NumPy's generator decides."""
    seed = getattr(graph, "seed", None)
    return np.random.randint(2**31) if seed is None else seed


def _embeds(model: Any) -> bool:
    from dataflow.keras.layers.embeddings import Embedding

    return any(isinstance(layer, Embedding) for layer in model.layers)


def _mask(output: Any) -> Any:
    return (getattr(output, "extras", None) or {}).get("mask")


def _masked(weights: Any, mask: Any) -> Any:
    """Weights that are 0 where the mask is not set."""
    if mask is None or weights is None:
        return weights if mask is None else mask
    return weights_like(weights, mask) * cast(mask, K.floatx())


def _weighted_mean(values: Any, weights: Any, mask: Any) -> Any:
    """The mean over the values that the mask leaves, each times its weight."""
    values = cast(values, K.floatx())
    if values.shape.ndims == 0:
        return values
    if mask is not None and mask.shape.ndims == values.shape.ndims:
        kept = cast(mask, K.floatx())
        values = values * kept / reduce_mean(kept)
    if weights is None:
        return reduce_mean(values)
    return reduce_mean(values * weights_like(weights, values))


def _reached_from(target: Any, fed: set[Any]) -> bool:
    """Whether ``target`` needs no placeholder beyond ``fed``: it belongs to this model's graph."""
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
