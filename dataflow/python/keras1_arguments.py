"""The arguments of Keras 1, under their names of Keras 2: ``Convolution2D(8, 3, 3, border_mode="same")``.

A call with old names works, and warns with the call as Keras 2 has it.
"""

from __future__ import annotations

import functools
import inspect
import warnings
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
_ORDER = {"dim_ordering": "data_format"}
_IMAGE = {"border_mode": "padding", **_ORDER}
_FILTERS = {**_WEIGHTS, **_IMAGE, "nb_filter": "filters", "subsample": "strides"}
_LINE = {"filter_length": "kernel_size", "subsample_length": "strides"}
_GATES = {
    "inner_init": "recurrent_initializer",
    "inner_activation": "recurrent_activation",
    "U_regularizer": "recurrent_regularizer",
    "dropout_W": "dropout",
    "dropout_U": "recurrent_dropout",
}
_RECURRENT = {**_WEIGHTS, **_GATES, "output_dim": "units", "consume_less": "implementation"}
_EMBEDDING = {
    "init": "embeddings_initializer",
    "W_regularizer": "embeddings_regularizer",
    "W_constraint": "embeddings_constraint",
    "dropout": "",
}
_RATE = {"p": "rate"}
_RATE_OF_IMAGE = {**_RATE, **_ORDER}
_POOLING_OF_A_LINE = {"pool_length": "pool_size", "stride": "strides", "border_mode": "padding"}
_CONVOLUTIONS = ("Conv2D", "Conv3D", "Conv2DTranspose", "SeparableConv2D")

#: Each class, and what its arguments were called; "" for one that has nothing to say any more.
CLASSES: dict[str, dict[str, str]] = {
    "Dense": {**_WEIGHTS, "output_dim": "units"},
    "Conv1D": {**_FILTERS, **_LINE},
    **dict.fromkeys(_CONVOLUTIONS, _FILTERS),
    "ConvLSTM2D": {**_FILTERS, **_GATES},
    **dict.fromkeys(("LSTM", "GRU", "SimpleRNN"), _RECURRENT),
    "Embedding": _EMBEDDING,
    "PReLU": {"init": "alpha_initializer"},
    **dict.fromkeys(("MaxPooling1D", "AveragePooling1D"), _POOLING_OF_A_LINE),
    **dict.fromkeys(("MaxPooling2D", "AveragePooling2D"), _IMAGE),
    **dict.fromkeys(("MaxPooling3D", "AveragePooling3D"), _IMAGE),
    **dict.fromkeys(("ZeroPadding2D", "ZeroPadding3D", "Cropping2D", "Cropping3D"), _ORDER),
    **dict.fromkeys(("UpSampling2D", "UpSampling3D"), _ORDER),
    **dict.fromkeys(("GlobalMaxPooling2D", "GlobalAveragePooling2D"), _ORDER),
    **dict.fromkeys(("GlobalMaxPooling3D", "GlobalAveragePooling3D"), _ORDER),
    "UpSampling1D": {"length": "size"},
    **dict.fromkeys(("Dropout", "GaussianDropout", "SpatialDropout1D"), _RATE),
    **dict.fromkeys(("SpatialDropout2D", "SpatialDropout3D"), _RATE_OF_IMAGE),
    "GaussianNoise": {"sigma": "stddev"},
    "BatchNormalization": {"beta_init": "beta_initializer", "gamma_init": "gamma_initializer", "mode": ""},
}  # fmt: skip
#: The sizes of the kernel stood one by one after the filters: ``Conv2D(32, 3, 3)``.
_SIZES = {
    **dict.fromkeys((*_CONVOLUTIONS, "ConvLSTM2D"), ("nb_row", "nb_col")),
    "Conv3D": ("kernel_dim1", "kernel_dim2", "kernel_dim3"),
}
_MODEL = {"input": "inputs", "output": "outputs"}
_FITTING = {
    "nb_epoch": "epochs",
    "samples_per_epoch": "steps_per_epoch",
    "nb_val_samples": "validation_steps",
    "val_samples": "steps",
    "nb_worker": "workers",
    "pickle_safe": "use_multiprocessing",
    "max_q_size": "max_queue_size",
}
ORDERINGS = {"tf": "channels_last", "th": "channels_first"}
#: Old names of values.
_VALUES: dict[str, dict[Any, Any]] = {
    "dim_ordering": {**ORDERINGS, "default": None},
    "consume_less": {"cpu": 0, "mem": 1, "gpu": 2},
}
_SIDES = (("top_pad", "bottom_pad"), ("left_pad", "right_pad"))


def of_class(initialize: Callable[..., Any], name: str) -> Callable[..., Any]:
    """The ``__init__`` of a layer, which takes its arguments by their old names, too."""

    @functools.wraps(initialize)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if type(self).__init__ is not call:  # a class of a program's own passes arguments on
            return initialize(self, *args, **_renamed(kwargs, CLASSES[name]))
        given, names = args, set(kwargs)
        args = _prepared(name, args, kwargs)
        kwargs = _renamed(kwargs, CLASSES[name])
        object.__setattr__(self, "_arguments", (args, kwargs))  # what `get_config` tells
        if args is not given or names != kwargs.keys():
            _warn(type(self).__name__, args, kwargs)
        return initialize(self, *args, **kwargs)

    return call


def of_model(initialize: Callable[..., Any]) -> Callable[..., Any]:
    """The ``__init__`` of `Model`, which takes ``input`` and ``output``, too."""

    @functools.wraps(initialize)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        return initialize(self, *args, **_noted("Model", args, kwargs, _MODEL))

    return call


def of_method(method: Callable[..., Any]) -> Callable[..., Any]:
    """``fit`` or one of its like, which takes ``nb_epoch`` and its like, too."""

    @functools.wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if "samples_per_epoch" in kwargs:  # of an iterator over images; others count steps already
            generator = args[0] if args else kwargs.get("generator")
            kwargs["samples_per_epoch"] //= getattr(generator, "batch_size", 1)
        return method(self, *args, **_noted(method.__name__, args, kwargs, _FITTING))

    return call


def updates_of_loss(get_updates: Callable[..., Any]) -> Callable[..., Any]:
    """An optimizer's ``get_updates(loss, params)``, which takes ``(params, constraints, loss)``, too."""

    @functools.wraps(get_updates)
    def call(self: Any, *given: Any, **kwargs: Any) -> Any:
        args: Any = given
        if len(args) == 3:
            args = args[2], args[0]
        elif len(args) == 2 and isinstance(args[0], (list, tuple)):
            args, kwargs = (), {**kwargs, "params": args[0]}
        return get_updates(self, *args, **kwargs)

    return call


def _prepared(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """Positional arguments as Keras 2 has them; changes ``kwargs`` where names do not say it all."""
    if kwargs.pop("forget_bias_init", None) == "one":
        kwargs["unit_forget_bias"] = True
    if name == "Conv1D" and kwargs.get("input_dim") is not None:
        kwargs["input_shape"] = (kwargs.pop("input_length", None), kwargs.pop("input_dim"))
    if name == "BatchNormalization" and kwargs.get("mode"):
        raise TypeError("BatchNormalization: `mode` no longer exists; 1 and 2 are not supported.")
    if name == "SeparableConv2D" and "init" in kwargs:
        init = kwargs.pop("init")
        kwargs.update(depthwise_initializer=init, pointwise_initializer=init)
    if name == "ZeroPadding2D":
        if args and isinstance(args[0], dict):
            args = (_sides(args[0]), *args[1:])
        if isinstance(kwargs.get("padding"), dict):
            kwargs["padding"] = _sides(kwargs["padding"])
    if name == "Conv2DTranspose":
        kwargs.pop("output_shape", None)
        args = args[:3] if len(args) == 4 and isinstance(args[3], tuple) else args
    return _with_sizes(args, kwargs, _SIZES.get(name, ()))


def _with_sizes(
    args: tuple[Any, ...], kwargs: dict[str, Any], names: tuple[str, ...]
) -> tuple[Any, ...]:
    """The sizes of a kernel, given one by one, as one argument."""
    given = args[1 : 1 + len(names)]
    missing = names[len(given) :]
    if not names or len(args) > 1 + len(names) or not all(isinstance(n, int) for n in given):
        return args
    if (not missing and len(args) > 2) or (missing and all(name in kwargs for name in missing)):
        sizes = (*given, *(kwargs.pop(name) for name in missing))
        if args:
            return (args[0], sizes)
        kwargs["kernel_size"] = sizes
    return args


def _sides(padding: Mapping[str, int]) -> Any:
    return tuple(tuple(padding.get(side, 0) for side in pair) for pair in _SIDES)


def _renamed(arguments: dict[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    renamed = {}
    for old, value in arguments.items():
        new = names.get(old, old)
        if new in renamed or (new != old and new in arguments):
            raise TypeError(f"{old} is the older name of {new}: give one of them")
        if new:
            values = _VALUES.get(old, {}) if new != old else {}
            renamed[new] = values.get(value, value) if isinstance(value, str) else value
    return renamed


def _noted(
    name: str, args: tuple[Any, ...], kwargs: dict[str, Any], names: Mapping[str, str]
) -> dict[str, Any]:
    """Arguments under their new names, with a warning where that changes them."""
    renamed = _renamed(kwargs, names)
    if renamed.keys() != kwargs.keys():
        _warn(name, args, renamed)
    return renamed


def _warn(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    shown = [*map(_short, args), *(f"{key}={_short(value)}" for key, value in kwargs.items())]
    depth = 2 + len([f for f in inspect.stack()[1:4] if f.filename == __file__])
    warnings.warn(
        f"Update your `{name}` call to the Keras 2 API: `{name}({', '.join(shown)})`",
        stacklevel=depth,
    )


def _short(value: Any) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    text = "array" if hasattr(value, "__array__") else str(value)
    return text if len(text) <= 10 else text[:10] + "..."
