"""`TensorBoard`: what `fit` writes for TensorBoard."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from dataflow.graph.eager import executing_eagerly
from dataflow.graph.tensor import Tensor
from dataflow.keras import backend as K
from dataflow.keras.callback_list import Callback
from dataflow.ops import array, summary
from dataflow.ops.indexed_slices import IndexedSlices
from dataflow.ops.variables import Variable


class TensorBoard(Callback):
    """Writes the graph, and the logs of each epoch, for TensorBoard.

    ``histogram_freq``: every so many epochs, the values of all weights; where `fit` was given
    ``validation_data``, also of what layers return for its first ``batch_size`` examples, and with
    ``write_grads`` of the gradients. ``write_images`` draws the weights. ``embeddings_freq``: every
    so many epochs, what the layers of ``embeddings_layer_names`` (default: all of type `Embedding`)
    return for ``embeddings_data``, in a checkpoint that TensorBoard's projector reads.
    ``update_freq``: "epoch", or "batch" or a number of examples, after which the losses and metrics
    of a batch are written too.
    """

    def __init__(
        self,
        log_dir: Any = "./logs",
        histogram_freq: int = 0,
        batch_size: int = 32,
        write_graph: bool = True,
        write_grads: bool = False,
        write_images: bool = False,
        embeddings_freq: int = 0,
        embeddings_layer_names: Any = None,
        embeddings_metadata: Any = None,
        embeddings_data: Any = None,
        update_freq: Any = "epoch",
        profile_batch: int = 2,
    ) -> None:
        super().__init__()
        self.update_freq = 1 if update_freq == "batch" else update_freq
        self.batch_size = batch_size
        self.write_grads, self.write_images = write_grads, write_images
        self.embeddings_freq = embeddings_freq
        self.embeddings_layer_names = embeddings_layer_names
        self.embeddings_metadata = embeddings_metadata
        self.embeddings_data = embeddings_data
        self._examples = self._written = self._batches = 0
        self.log_dir = os.fspath(log_dir)
        self.histogram_freq = histogram_freq
        self.write_graph = write_graph
        self.merged: Any = None
        self._embeddings: dict[str, tuple[Any, Any]] = {}

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        from dataflow.summary.file_writer import FileWriter

        if self.histogram_freq and K.is_package_keras() and not self.validation_data:
            raise ValueError(
                "If printing histograms, validation_data must be provided, and cannot be a generator."
            )
        self.writer = FileWriter(self.log_dir, self.model._graph if self.write_graph else None)
        self.merged = None
        self._feeds: list[Any] = []
        if self.histogram_freq and self.model.weights:
            with self.model._graph.as_default():
                self.merged = summary.merge(self._summaries(), collections=[])
        self._embeddings = {}
        if self.embeddings_freq and self.embeddings_data is not None:
            with self.model._graph.as_default():
                self._make_embeddings()

    def _summaries(self) -> list[Tensor]:
        weights = self.model.weights
        found = [summary.histogram(_tag(w), w, collections=[]) for w in weights]
        if self.write_images:
            pictures = [(_tag(w), _picture(w)) for w in weights]
            found += [summary.image(n, p, collections=[]) for n, p in pictures if p is not None]
        if not self.validation_data or executing_eagerly():
            return found
        model = self.model
        self._feeds = [*(t for t, _ in model._fed_inputs()), *model.targets, *model.sample_weights]
        for layer in model.layers:
            outputs = layer.output if hasattr(layer, "output") else []
            if isinstance(outputs, list):
                named = {f"{layer.name}_out_{i}": output for i, output in enumerate(outputs)}
            else:
                named = {f"{layer.name}_out": outputs}
            found += [summary.histogram(n, t, collections=[]) for n, t in named.items()]
        return [*found, *self._gradients()] if self.write_grads else found

    def _gradients(self) -> Iterator[Tensor]:
        weights = self.model.trainable_weights
        gradients = self.model.optimizer.get_gradients(self.model.total_loss, weights)
        for weight, gradient in zip(weights, gradients, strict=True):
            values = gradient.values if isinstance(gradient, IndexedSlices) else gradient
            yield summary.histogram(f"{_tag(weight)}_grad", values, collections=[])

    def _make_embeddings(self) -> None:
        """Variables for what the layers return, and the projector's settings that name them."""
        from dataflow.summary import projector
        from dataflow.train.saver import Saver

        names = self.embeddings_layer_names
        layers = [
            layer
            for layer in self.model.layers
            if (layer.name in names if names else type(layer).__name__ == "Embedding")
        ]
        self._given = self.model._input_arrays(self.embeddings_data)
        config = projector.ProjectorConfig()
        for layer in layers:
            size = int(np.prod(layer.output.shape.as_list()[1:]))
            zeros = np.zeros([len(self._given[0]), size], K.floatx())
            variable = Variable(zeros, trainable=False, name=f"{layer.name}_embedding")
            self._embeddings[layer.name] = layer.output, variable
            described = config.embeddings.add()
            described.tensor_name = variable.name
            metadata = self.embeddings_metadata
            path = metadata.get(layer.name) if isinstance(metadata, dict) else metadata
            if path is not None:
                described.metadata_path = os.fspath(path)
        if self._embeddings:
            self._saver = Saver([variable for _, variable in self._embeddings.values()])
            projector.visualize_embeddings(self.writer, config)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        package = K.is_package_keras()
        by_epoch = not package or self.update_freq == "epoch"
        self._write("" if package else "epoch_", logs, epoch if by_epoch else self._examples)
        if self.merged is not None and epoch % self.histogram_freq == 0:
            values = [
                v[: self.batch_size] for v in (self.validation_data or [])[: len(self._feeds)]
            ]
            feeds: dict[Any, Any] = dict(zip(self._feeds, values, strict=True))
            if self._feeds and isinstance(phase := K.learning_phase(), Tensor):
                feeds[phase] = False
            self.writer.add_summary(K.get_session().run(self.merged, feeds), epoch)
        if self._embeddings and epoch % self.embeddings_freq == 0:
            self._save_embeddings(epoch)
        self.writer.flush()

    def _save_embeddings(self, epoch: int) -> None:
        inputs = [tensor for tensor, _ in self.model._fed_inputs()]
        run = K.function(inputs, [output for output, _ in self._embeddings.values()])
        count = len(self._given[0])
        starts = range(0, count, self.batch_size)
        parts = [run([a[start : start + self.batch_size] for a in self._given]) for start in starts]
        variables = [variable for _, variable in self._embeddings.values()]
        made = [np.concatenate(part).reshape(count, -1) for part in zip(*parts, strict=True)]
        K.batch_set_value(list(zip(variables, made, strict=True)))
        self._saver.save(K.get_session(), os.path.join(self.log_dir, "keras_embedding.ckpt"), epoch)

    def on_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        self._examples += (logs or {}).get("size", 1)
        step = self._examples if K.is_package_keras() else self._batches
        self._batches += 1
        if self.update_freq == "epoch":
            return
        if self.update_freq == 1 or self._examples - self._written >= self.update_freq:
            self._written = self._examples
            numbers = {k: v for k, v in (logs or {}).items() if k not in ("batch", "size")}
            self._write("" if K.is_package_keras() else "batch_", numbers, step)

    def _write(self, prefix: str, logs: dict[str, Any], step: int) -> None:
        self._write_custom_summaries(step, {prefix + k: v for k, v in (logs or {}).items()})

    def _write_custom_summaries(self, step: int, logs: dict[str, Any] | None = None) -> None:
        """Writes numbers by their tags: what callbacks of libraries that derive from this one call."""
        from dataflow.summary import Summary

        written = Summary()
        for name, value in (logs or {}).items():
            written.value.add(tag=name, simple_value=float(value))
        self.writer.add_summary(written, step)

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        self.writer.close()


def _tag(weight: Any) -> str:
    """What a weight is called in events, as in 1.15: ``dense/kernel_0``."""
    return str(weight.name).replace(":", "_")


def _picture(weight: Any) -> Tensor | None:
    """A weight as gray images [images, rows, columns, 1]; None for one of more than 3 axes."""
    image = array.squeeze(weight)
    sizes: list[Any] = image.shape.as_list()
    if len(sizes) == 3 and K.image_data_format() == "channels_last":
        image = array.transpose(image, [2, 0, 1])
        sizes = image.shape.as_list()
    elif len(sizes) == 2:
        if sizes[0] > sizes[1]:
            image, sizes = array.transpose(image), sizes[::-1]
        sizes = [1, *sizes]
    elif len(sizes) == 1:
        sizes = [1, *sizes, 1]
    if len(sizes) != 3:
        return None
    return array.reshape(image, [*sizes, 1])
