"""Names of the package ``keras`` (2.2) that `tf.keras` does not have, as its modules have them.

`dataflow.shim.old_keras` puts those of public modules where programs look for them;
`dataflow.python.paths` finds the rest below ``keras.engine``, ``keras.backend.tensorflow_backend``, ...
"""

from __future__ import annotations

import contextvars
import functools
from collections.abc import Callable, Iterator
from typing import Any

from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.keras import backend as K, layers, old_weights
from dataflow.keras.call_nodes import tag_of
from dataflow.keras.callback_list import Callback
from dataflow.keras.compiling import reached_from
from dataflow.keras.models import Model
from dataflow.ops import array
from dataflow.ops.conditionals import cond
from dataflow.ops.reduce import reduce_logsumexp
from dataflow.ops.slicing import slice_
from dataflow.ops.variables import Variable
from dataflow.python import layer_sizes
from dataflow.python.layer_sizes import normalize_data_format as normalize_data_format

#: What the graph of layers was called before Keras 2.2, and since.
Container = Network = Model


class CallbackList:
    """Callbacks that are told together: ``keras.callbacks.CallbackList``, for loops of a program's own."""

    def __init__(self, callbacks: Any = None, queue_length: int = 10) -> None:
        self.callbacks: list[Callback] = list(callbacks or [])
        self.queue_length = queue_length

    def append(self, callback: Callback) -> None:
        """One more."""
        self.callbacks.append(callback)

    def set_params(self, params: dict[str, Any]) -> None:
        """Hands ``params`` to each."""
        for callback in self.callbacks:
            callback.set_params(params)

    def set_model(self, model: Any) -> None:
        """Hands the model to each."""
        for callback in self.callbacks:
            callback.set_model(model)

    def __getattr__(self, name: str) -> Any:
        if not (name.startswith("on_") and hasattr(Callback, name)):
            raise AttributeError(f"'CallbackList' object has no attribute {name!r}")

        def tell(*arguments: Any, logs: dict[str, Any] | None = None) -> None:
            of_event = 1 if "_batch_" in name or "_epoch_" in name else 0  # its number
            given = logs if len(arguments) <= of_event else arguments[of_event]
            for callback in self.callbacks:
                getattr(callback, name)(*arguments[:of_event], {} if given is None else given)

        return tell

    def __iter__(self) -> Iterator[Callback]:
        return iter(self.callbacks)


# ---- keras.backend ------------------------------------------------------------------------------


def is_tensor(x: Any) -> bool:
    """Whether ``x`` is a tensor or a variable."""
    return isinstance(x, (Tensor, Variable))


def is_placeholder(x: Any) -> bool:
    """Whether ``x`` is the output of a placeholder."""
    return isinstance(x, Tensor) and x.op.type in ("Placeholder", "PlaceholderWithDefault")


def logsumexp(x: TensorLike, axis: Any = None, keepdims: bool = False) -> Tensor:
    """log(sum(exp(x))) along ``axis``, or of all; without overflow."""
    return reduce_logsumexp(x, axis, keepdims)


def slice(x: TensorLike, start: Any, size: Any) -> Tensor:
    """``size`` elements of each dimension from ``start``; a size of -1 is the rest."""
    return slice_(x, start, size)


def get_variable_shape(x: Any) -> Any:
    """The shape of a variable, as a tuple."""
    return K.int_shape(x)


def _to_tensor(x: Any, dtype: Any) -> Tensor:
    return convert_to_tensor(x, dtype=dtype)


def callable_from_options(session: Any, options: Any) -> Callable[..., list[Any]]:
    """A function of the values to feed, as a message ``CallableOptions`` describes it.

    It returns a list of what is fetched. Raises `NotImplementedError` for connections of tensors.
    """
    if options.tensor_connection:
        raise NotImplementedError("CallableOptions: tensor_connection is not supported.")
    run = session.make_callable(
        [list(options.fetch), [session.graph.as_graph_element(name) for name in options.target]],
        list(options.feed),
        accept_options=True,
    )

    def call(*values: Any, run_metadata: Any = None) -> list[Any]:
        return list(run(*values, options=options.run_options, run_metadata=run_metadata)[0])

    return call


def _get_available_gpus() -> list[str]:
    """The names of the GPUs."""
    return [d.name for d in K.get_session().list_devices() if d.device_type == "GPU"]


class OfTensor:
    """An attribute that tensors have in the package, until a program sets one of its own."""

    def __init__(self, name: str, read: Callable[[Tensor], Any]) -> None:
        self._name = name
        self._read = read

    def __get__(self, tensor: Any, owner: type) -> Any:
        if tensor is not None:
            found = self._read(tensor)
            # Of others it is known that they learn.
            if found is True or K.is_keras_tensor(tensor) or tag_of(tensor, "of_layer"):
                return found
        raise AttributeError(f"{owner.__name__!r} object has no attribute {self._name!r}")


def uses_learning_phase(tensor: Tensor) -> bool:
    """Whether ``tensor`` is computed from the tensor that `K.learning_phase` returns."""
    seen, waiting = set(), [tensor.op]
    while waiting:
        op = waiting.pop()
        if op in seen:
            continue
        seen.add(op)
        if op.name.rpartition("/")[2] == "keras_learning_phase":
            return True
        waiting.extend(t.op for t in op.inputs)
        for made in op.outputs:  # what a model returns depends on it if one output does
            history = tag_of(made, "history")
            if history is not None and isinstance(history[0], Model):
                waiting.extend(t.op for t in history[1].output_tensors)
    return False


#: Whether a model is asked for all losses or updates, by one that it is in.
_asked_for_all = contextvars.ContextVar("asked_for_all", default=False)


def _for_all(read: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
    @functools.wraps(read)
    def call(*args: Any) -> list[Any]:
        before = _asked_for_all.set(True)
        try:
            return read(*args)
        finally:
            _asked_for_all.reset(before)

    return call


def mend_losses_and_updates(model_class: Any) -> None:
    """Has a model's ``losses`` and ``updates`` leave out those of its layers' calls in other models."""
    for name in ("losses", "updates"):
        setattr(model_class, name, _of_this_model(name, getattr(model_class, name).fget))
        asked = f"get_{name}_for"
        setattr(model_class, asked, _for_all(getattr(model_class, asked)))


def _of_this_model(name: str, read: Callable[[Any], list[Any]]) -> property:
    def own(model: Any) -> list[Any]:
        if _asked_for_all.get() or not model.network_nodes:
            return read(model)
        found = _for_all(read)(model)
        inputs = {tensor.op for tensor in model.inputs}
        always = {
            id(item) for layer in model.layers for item in getattr(layer, f"get_{name}_for")(None)
        }
        always |= set(map(id, getattr(model, f"_{name}")))
        return [item for item in found if id(item) in always or reached_from(item, inputs)]

    return property(own)


def layers_of(name: str, model: Any) -> list[Any]:
    """The layers that the ``inputs`` or ``outputs`` of a model come from."""
    return [tag_of(tensor, "history")[0] for tensor in getattr(model, name)]


def of_one_call(name: str, read: Callable[[Any], Any]) -> property:
    """The ``input`` or ``output`` of a layer, which is that of its one call, if there was but one."""

    def one(layer: Any) -> Any:
        if sum(not node.is_within_call for node in layer.inbound_nodes) > 1:
            raise AttributeError(
                f"Layer {layer.name} was called several times, so that it has no one {name}; use "
                f"get_{name}_at(index)."
            )
        return read(layer)

    return property(one)


def averaged(metric: Callable[..., Any]) -> Callable[..., Any]:
    """``metric`` whose result is a number, not one for each example."""

    @functools.wraps(metric)
    def average(*args: Any, **kwargs: Any) -> Any:
        return K.mean(metric(*args, **kwargs), axis=-1)

    return average


# ---- keras.optimizers, keras.utils --------------------------------------------------------------


def clip_norm(g: Any, c: float, n: Any) -> Any:
    """The gradient ``g`` of norm ``n``, scaled to the norm ``c`` where it is larger; as it is for ``c`` of 0."""
    return g if c <= 0 else cond(n >= c, lambda: g * (c / n), lambda: array.identity(g))


def deserialize_optimizer(config: dict[str, Any], custom_objects: Any = None) -> Any:
    """The optimizer of a config, whose class may be written in small letters; it is then, as Keras leaves it."""
    from dataflow.keras import optimizers
    from dataflow.layers.serialization import custom_object_scope

    small = str(config["class_name"]).lower()
    if isinstance(getattr(optimizers, small, None), type):
        config["class_name"] = small
    with custom_object_scope(custom_objects or {}):
        return optimizers.get(config)


def deconv_length(
    dim_size: int | None,
    stride_size: int,
    kernel_size: int,
    padding: str,
    output_padding: int | None = None,
    dilation: int = 1,
) -> int | None:
    """How long the result of a transposed convolution is; ``output_padding`` sets its end."""
    size = kernel_size + (kernel_size - 1) * (dilation - 1)
    if output_padding is None or dim_size is None:
        return layer_sizes.deconv_output_length(dim_size, size, padding, stride_size)
    pad = {"same": size // 2, "valid": 0, "full": size - 1}[padding]
    return (dim_size - 1) * stride_size + size - 2 * pad + output_padding


def count_params(weights: Any) -> int:
    """How many numbers different ``weights`` hold."""
    return sum(map(K.count_params, dict.fromkeys(weights)))


def preprocess_weights_for_loading(
    layer: Any, weights: list[Any], original_keras_version: Any = None, original_backend: Any = None
) -> list[Any]:
    """Arrays of a file in the form of ``layer``: those of Keras 1, Theano or CuDNN are converted."""
    return old_weights.loaded(layer, weights, original_keras_version, original_backend)


def print_summary(
    model: Model, line_length: int | None = None, positions: Any = None, print_fn: Any = None
) -> None:
    """``model.summary`` as a function."""
    model.summary(line_length, positions, print_fn)


# ---- keras.layers -------------------------------------------------------------------------------


def _dilated(name: str) -> Any:
    def make(*args: Any, atrous_rate: Any = 1, **kwargs: Any) -> Any:
        return getattr(layers, name)(*args, dilation_rate=atrous_rate, **kwargs)

    make.__doc__ = f"{name} with gaps: ``atrous_rate`` is its ``dilation_rate``."
    return make


AtrousConvolution1D = AtrousConv1D = _dilated("Conv1D")
AtrousConvolution2D = AtrousConv2D = _dilated("Conv2D")
