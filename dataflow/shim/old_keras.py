"""What the package ``keras`` took and `tf.keras` does not: its own defaults, and the arguments of Keras 1.

Programs of 2016 and 2017 wrote ``Convolution2D(32, 3, 3, border_mode="same")`` and ``fit(nb_epoch=5)``;
the package translated them up to its last version (2.3.1), and so does `mend`: `dataflow.python.keras1_arguments`.
"""

from __future__ import annotations

import functools
import importlib
import types
from collections.abc import Callable
from typing import Any

from dataflow.python import keras1_arguments

#: The layer of each mode of ``merge``.
_MODES = {
    "sum": "Add",
    "mul": "Multiply",
    "ave": "Average",
    "max": "Maximum",
    "concat": "Concatenate",
    "dot": "Dot",
    "cos": "Dot",
}


#: What Keras's backend imported for itself and so gave away: ``K.tf``, ``K.control_flow_ops.while_loop``.
_BEHIND_THE_BACKEND = {
    "tf": "tensorflow",
    "tf_ops": "dataflow.python.framework.ops",
    "control_flow_ops": "dataflow.python.ops.control_flow_ops",
    "ctc": "dataflow.python.ops.ctc_ops",
    "device_lib": "dataflow.python.client.device_lib",
    "functional_ops": "dataflow.python.ops.functional_ops",
    "moving_averages": "dataflow.python.training.moving_averages",
    "tensor_array_ops": "dataflow.python.ops.tensor_array_ops",
}


def mend(keras: Any) -> None:
    """Makes ``keras``, the `tf.keras` of this engine, what a program that imports the package expects."""
    from dataflow.keras.backend_settings import settings
    from dataflow.keras.training import Training
    from dataflow.python import keras_legacy_layers, keras_package as package

    keras.optimizers.default_as_package_keras()
    settings["seeds_of_numpy"] = True
    keras.layers.Layer.as_package_keras = True
    keras.layers.Layer.add_weight = _shape_first(keras.layers.Layer.add_weight)
    for name in keras1_arguments.CLASSES:
        cls = getattr(keras.layers, name)
        cls.__init__ = keras1_arguments.of_class(cls.__init__, name)
    keras.Model.__init__ = keras1_arguments.of_model(keras.Model.__init__)
    for name in ("fit", "fit_generator", "evaluate_generator", "predict_generator"):
        setattr(Training, name, keras1_arguments.of_method(getattr(Training, name)))
    orders = {new: old for old, new in keras1_arguments.ORDERINGS.items()}
    backend = keras.backend
    backend.image_dim_ordering = lambda: orders[backend.image_data_format()]
    backend.set_image_dim_ordering = lambda order: backend.set_image_data_format(
        keras1_arguments.ORDERINGS[order]
    )
    keras.layers.merge.__class__ = _Merging
    for name in ("is_tensor", "is_placeholder", "logsumexp", "slice", "get_variable_shape"):
        setattr(backend, name, getattr(package, name))
    backend.normalize_data_format = package.normalize_data_format
    for name, path in _BEHIND_THE_BACKEND.items():
        setattr(backend, name, importlib.import_module(path))
    for name in ("advanced_activations", "convolutional_recurrent", "cudnn_recurrent", "local"):
        setattr(keras.layers, name, importlib.import_module(f"dataflow.keras.layers.{name}"))
    keras.engine = importlib.import_module("dataflow.keras.engine")
    backend.tensorflow_backend = importlib.import_module(
        "dataflow.keras.backend.tensorflow_backend"
    )
    for name in ("SGD", "RMSprop", "Adagrad", "Adadelta", "Adam", "Adamax", "Nadam"):
        setattr(keras.optimizers, name.lower(), getattr(keras.optimizers, name))
    keras.optimizers.clip_norm = package.clip_norm
    keras.optimizers.deserialize = package.deserialize_optimizer
    for name in ("Highway", "MaxoutDense"):
        setattr(keras.layers, name, getattr(keras_legacy_layers, name))
    optimizer = keras.optimizers.Optimizer
    optimizer.get_updates = keras1_arguments.updates_of_loss(optimizer.get_updates)
    keras.callbacks.CallbackList = package.CallbackList
    keras.utils.print_summary = package.print_summary
    _mend_metrics_and_tensors(keras, package)
    for name in ("AtrousConvolution1D", "AtrousConvolution2D"):
        setattr(keras.layers, name, getattr(package, name))


def _shape_first(function: Callable[..., Any]) -> Callable[..., Any]:
    """``add_weight`` that takes the shape before the name, too, as Keras 1 had it."""

    @functools.wraps(function)
    def add_weight(self: Any, *args: Any, **kwargs: Any) -> Any:
        if args and isinstance(args[0], (tuple, list)):
            shape, *rest = args
            name = rest.pop(0) if rest and isinstance(rest[0], str) else kwargs.pop("name", None)
            args = (name, shape, *rest)
        return function(self, *args, **kwargs)

    return add_weight


def _mend_metrics_and_tensors(keras: Any, package: Any) -> None:
    from dataflow.graph.tensor import Tensor
    from dataflow.keras import network_order
    from dataflow.runtime.base_session import BaseSession

    keras.metrics.logcosh = keras.losses.logcosh
    for name in ("top_k_categorical_accuracy", "sparse_top_k_categorical_accuracy"):
        setattr(keras.metrics, name, package.averaged(getattr(keras.metrics, name)))
    attributes: dict[str, Callable[[Any], Any]] = {
        "_keras_shape": keras.backend.int_shape,
        "_uses_learning_phase": package.uses_learning_phase,
    }
    for name, read in attributes.items():
        setattr(Tensor, name, package.OfTensor(name, read))
    keras.Model.uses_learning_phase = property(
        lambda model: any(package.uses_learning_phase(tensor) for tensor in model.outputs)
    )
    ends = {"_input_layers": "inputs", "_output_layers": "outputs"}
    for name, tensors in ends.items():
        setattr(keras.Model, name, property(functools.partial(package.layers_of, tensors)))
    depths = property(lambda model: network_order.layers_by_depth(model.inputs, model.outputs))
    run = package.callable_from_options
    private = (keras.Model, "_layers_by_depth", depths), (BaseSession, "_make_callable_from_options", run)  # fmt: skip
    for cls, name, made in private:
        setattr(cls, name, made)
    layer = keras.layers.Layer
    for name in ("input", "output"):
        setattr(layer, name, package.of_one_call(name, getattr(layer, name).fget))
    package.mend_losses_and_updates(keras.Model)


class _Merging(types.ModuleType):
    """The module ``keras.layers.merge``, which was a function too: ``merge([a, b], mode="concat")``."""

    def __call__(
        self,
        inputs: list[Any],
        mode: Any = "sum",
        concat_axis: int = -1,
        dot_axes: Any = -1,
        output_shape: Any = None,
        output_mask: Any = None,
        arguments: dict[str, Any] | None = None,
        name: str | None = None,
    ) -> Any:
        from dataflow.keras import layers
        from dataflow.keras.layers.core import Lambda

        if callable(mode):
            return Lambda(mode, output_shape, output_mask, arguments, name=name)(inputs)
        if mode not in _MODES:
            raise ValueError(
                f"merge: mode is one of {', '.join(_MODES)} or a function of the list of inputs, got {mode!r}."
            )
        options = {"concat": {"axis": concat_axis}, "dot": {"axes": dot_axes}}
        options["cos"] = {"axes": dot_axes, "normalize": True}
        return getattr(layers, _MODES[mode])(**options.get(mode, {}), name=name)(inputs)
