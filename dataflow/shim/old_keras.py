"""What the package ``keras`` took and `tf.keras` does not: its own defaults, and the arguments of Keras 1.

Programs of 2016 and 2017 wrote ``Convolution2D(32, 3, 3, border_mode="same")`` and ``fit(nb_epoch=5)``;
the package translated them up to its last version (2.3.1), and so does `mend`.
"""

from __future__ import annotations

import functools
import importlib
import types
from collections.abc import Callable, Mapping
from typing import Any

_WEIGHTS = {
    "init": "kernel_initializer",
    "W_regularizer": "kernel_regularizer",
    "b_regularizer": "bias_regularizer",
    "W_constraint": "kernel_constraint",
    "b_constraint": "bias_constraint",
    "bias": "use_bias",
}
_IMAGE = {"border_mode": "padding", "dim_ordering": "data_format"}
_FILTERS = {**_WEIGHTS, **_IMAGE, "nb_filter": "filters", "subsample": "strides"}
_LINE = {"filter_length": "kernel_size", "subsample_length": "strides"}
_RECURRENT = {
    **_WEIGHTS,
    "output_dim": "units",
    "inner_init": "recurrent_initializer",
    "inner_activation": "recurrent_activation",
    "U_regularizer": "recurrent_regularizer",
    "dropout_W": "dropout",
    "dropout_U": "recurrent_dropout",
    "consume_less": "",
}
_EMBEDDING = {
    "init": "embeddings_initializer",
    "W_regularizer": "embeddings_regularizer",
    "W_constraint": "embeddings_constraint",
    "dropout": "",
}
_RATE = {"p": "rate"}
_POOLING_OF_A_LINE = {"pool_length": "pool_size", "stride": "strides", "border_mode": "padding"}

#: Each class, and what its arguments were called; "" for one that has nothing to say any more.
_ARGUMENTS: dict[str, dict[str, str]] = {
    "Dense": {**_WEIGHTS, "output_dim": "units"},
    "Conv1D": {**_FILTERS, **_LINE},
    **dict.fromkeys(("Conv2D", "Conv3D", "Conv2DTranspose"), _FILTERS),
    **dict.fromkeys(("LSTM", "GRU", "SimpleRNN"), _RECURRENT),
    "Embedding": _EMBEDDING,
    **dict.fromkeys(("MaxPooling1D", "AveragePooling1D"), _POOLING_OF_A_LINE),
    **dict.fromkeys(("MaxPooling2D", "AveragePooling2D", "MaxPooling3D"), _IMAGE),
    **dict.fromkeys(("ZeroPadding2D", "UpSampling2D", "Cropping2D"), _IMAGE),
    **dict.fromkeys(("GlobalMaxPooling2D", "GlobalAveragePooling2D"), _IMAGE),
    "UpSampling1D": {"length": "size"},
    **dict.fromkeys(("Dropout", "GaussianDropout", "SpatialDropout2D"), _RATE),
    "GaussianNoise": {"sigma": "stddev"},
    "BatchNormalization": {"beta_init": "beta_initializer", "gamma_init": "gamma_initializer", "mode": ""},
}  # fmt: skip
#: How many sizes of the kernel stand after the filters: ``Conv2D(32, 3, 3)``.
_SIZES = {"Conv2D": ("nb_row", "nb_col"), "Conv3D": ("kernel_dim1", "kernel_dim2", "kernel_dim3")}

_FITTING = {
    "nb_epoch": "epochs",
    "samples_per_epoch": "steps_per_epoch",
    "nb_val_samples": "validation_steps",
    "val_samples": "steps",
    "nb_worker": "workers",
    "pickle_safe": "use_multiprocessing",
    "max_q_size": "max_queue_size",
}
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
_ORDERINGS = {"tf": "channels_last", "th": "channels_first"}


def mend(keras: Any) -> None:
    """Makes ``keras``, the `tf.keras` of this engine, what a program that imports the package expects."""
    from dataflow.keras.training import Training
    from dataflow.python import keras_package as package

    keras.optimizers.default_as_package_keras()
    keras.layers.Layer.as_package_keras = True
    keras.layers.Layer.add_weight = _shape_first(keras.layers.Layer.add_weight)
    for name, names in _ARGUMENTS.items():
        cls = getattr(keras.layers, name)
        cls.__init__ = _taking(cls.__init__, names, _SIZES.get(name, ()))
    keras.Model.__init__ = _taking(keras.Model.__init__, {"input": "inputs", "output": "outputs"})
    for name in ("fit", "fit_generator", "evaluate_generator", "predict_generator"):
        setattr(Training, name, _taking(getattr(Training, name), _FITTING))
    orders = {new: old for old, new in _ORDERINGS.items()}
    backend = keras.backend
    backend.image_dim_ordering = lambda: orders[backend.image_data_format()]
    backend.set_image_dim_ordering = lambda order: backend.set_image_data_format(_ORDERINGS[order])
    keras.layers.merge.__class__ = _Merging
    for name in ("is_tensor", "is_placeholder", "logsumexp", "slice", "get_variable_shape"):
        setattr(backend, name, getattr(package, name))
    backend.normalize_data_format = package.normalize_data_format
    for name in ("advanced_activations", "convolutional_recurrent", "cudnn_recurrent", "local"):
        setattr(keras.layers, name, importlib.import_module(f"dataflow.keras.layers.{name}"))
    keras.engine = importlib.import_module("dataflow.keras.engine")
    backend.tensorflow_backend = importlib.import_module(
        "dataflow.keras.backend.tensorflow_backend"
    )
    for name in ("SGD", "RMSprop", "Adagrad", "Adadelta", "Adam", "Adamax", "Nadam"):
        setattr(keras.optimizers, name.lower(), getattr(keras.optimizers, name))
    keras.optimizers.clip_norm = package.clip_norm
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


def _taking(
    function: Callable[..., Any], names: Mapping[str, str], sizes: tuple[str, ...] = ()
) -> Callable[..., Any]:
    """``function`` that takes its arguments by their old ``names``, too, and a kernel's ``sizes`` apart."""

    @functools.wraps(function)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        makes = type(self).__init__ is call  # and not a class of its own that passes arguments on
        if makes and sizes and all(name in kwargs for name in sizes):
            kwargs["kernel_size"] = tuple(kwargs.pop(name) for name in sizes)
        elif makes and len(args) == 1 + len(sizes) and all(isinstance(n, int) for n in args[1:]):
            args = (args[0], args[1:]) if sizes else args
        if "samples_per_epoch" in kwargs:  # of an iterator over images; others count steps already
            generator = args[0] if args else kwargs.get("generator")
            kwargs["samples_per_epoch"] //= getattr(generator, "batch_size", 1)
        kwargs = _renamed(kwargs, names)
        if makes:
            object.__setattr__(self, "_arguments", (args, kwargs))  # what `get_config` tells
        return function(self, *args, **kwargs)

    return call


def _renamed(arguments: dict[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    renamed = {}
    for old, value in arguments.items():
        new = names.get(old, old)
        if old == "dim_ordering":
            value = _ORDERINGS.get(value)
        if new in renamed or (new != old and new in arguments):
            raise TypeError(f"{old} is the older name of {new}: give one of them")
        if new:
            renamed[new] = value
    return renamed


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
