"""Convolutions of sequences, images and volumes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from dataflow.contrib.arg_scopes import add_arg_scope
from dataflow.contrib.layers.initializers import xavier_initializer
from dataflow.contrib.layers.parts import apply_layer, renamed
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.type_aliases import InitializerLike, TensorLike
from dataflow.layers import convolutional
from dataflow.ops import activation as activations, initializers
from dataflow.ops.variable_scope import variable_scope

if TYPE_CHECKING:
    from dataflow.ops.variable_scope import VariableScope

_CONVOLUTIONS = {3: convolutional.Conv1D, 4: convolutional.Conv2D, 5: convolutional.Conv3D}
_LAST = {3: "NWC", 4: "NHWC", 5: "NDHWC"}
_FIRST = {3: "NCW", 4: "NCHW", 5: "NCDHW"}


@add_arg_scope
def convolution(
    inputs: Any,
    num_outputs: int,
    kernel_size: int | Sequence[int],
    stride: Any = 1,
    padding: str = "SAME",
    data_format: str | None = None,
    rate: int | Sequence[int] = 1,
    activation_fn: Any = activations.relu,
    normalizer_fn: Any = None,
    normalizer_params: Any = None,
    weights_initializer: InitializerLike = xavier_initializer(),  # noqa: B008
    weights_regularizer: Callable[[Any], Any] | None = None,
    biases_initializer: InitializerLike | None = initializers.zeros_initializer(),  # noqa: B008
    biases_regularizer: Callable[[Any], Any] | None = None,
    reuse: bool | None = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: str | VariableScope | None = None,
    conv_dims: int | None = None,
) -> Any:
    """A convolution of sequences, images or volumes, by the rank of ``inputs``; ReLU by default.

    ``inputs`` are [batch, *size, channels], or have channels first where ``data_format`` begins with
    "NC". Variables ``weights`` [*kernel_size, channels, num_outputs] and ``biases`` [num_outputs];
    none with a ``normalizer_fn``. ``conv_dims`` is the rank that ``inputs`` must have.

    Raises `ValueError` for another rank, for an unknown ``data_format``, and where both ``stride`` and
    ``rate`` are greater than 1.
    """
    if data_format not in (None, *_LAST.values(), *_FIRST.values()):
        raise ValueError(f"Invalid data_format: {data_format!r}")
    with variable_scope(scope, "Conv", [inputs], reuse=reuse, custom_getter=renamed) as captured:
        inputs = convert_to_tensor(inputs)
        rank = None if inputs.dims is None else len(inputs.dims)
        if conv_dims is not None and rank != conv_dims:
            raise ValueError(f"Convolution expects input with rank {conv_dims}, got {rank}")
        if rank not in _CONVOLUTIONS:
            raise ValueError(f"Convolution not supported for input with rank {rank}")
        layer = _CONVOLUTIONS[rank](
            num_outputs,
            kernel_size,
            stride,
            padding.lower(),
            "channels_first" if data_format and data_format.startswith("NC") else "channels_last",
            rate,
            use_bias=normalizer_fn is None and biases_initializer is not None,
            kernel_initializer=weights_initializer,
            bias_initializer=biases_initializer,
            kernel_regularizer=weights_regularizer,
            bias_regularizer=biases_regularizer,
            trainable=trainable,
            name=captured.name,
            _scope=captured,
            _reuse=reuse,
        )
        return apply_layer(
            *(layer, inputs, normalizer_fn, normalizer_params, activation_fn),
            *(variables_collections, outputs_collections),
        )


def _of_rank(name: str, rank: int, what: str) -> Callable[..., Any]:
    def convolve(
        inputs: Any,
        num_outputs: int,
        kernel_size: int | Sequence[int],
        stride: Any = 1,
        padding: str = "SAME",
        data_format: str | None = None,
        rate: TensorLike = 1,
        activation_fn: Callable[..., Any] = activations.relu,
        normalizer_fn: Callable[..., Any] | None = None,
        normalizer_params: Any = None,
        weights_initializer: InitializerLike = xavier_initializer(),  # noqa: B008
        weights_regularizer: Callable[[Any], Any] | None = None,
        biases_initializer: InitializerLike | None = initializers.zeros_initializer(),  # noqa: B008
        biases_regularizer: Callable[[Any], Any] | None = None,
        reuse: bool | None = None,
        variables_collections: Any = None,
        outputs_collections: Any = None,
        trainable: bool = True,
        scope: str | VariableScope | None = None,
    ) -> Any:
        return convolution(
            inputs,
            num_outputs,
            kernel_size,
            stride,
            padding,
            data_format,
            rate,
            activation_fn,
            normalizer_fn,
            normalizer_params,
            weights_initializer,
            weights_regularizer,
            biases_initializer,
            biases_regularizer,
            reuse,
            variables_collections,
            outputs_collections,
            trainable,
            scope,
            conv_dims=rank,
        )

    convolve.__name__ = convolve.__qualname__ = name
    convolve.__doc__ = f"`convolution` of {what}."
    return add_arg_scope(convolve)


convolution1d = _of_rank("convolution1d", 3, "sequences [batch, width, channels]")
convolution2d = _of_rank("convolution2d", 4, "images [batch, height, width, channels]")
convolution3d = _of_rank("convolution3d", 5, "volumes [batch, depth, height, width, channels]")
conv1d = convolution1d
conv2d = convolution2d
conv3d = convolution3d


def _transposed(
    name: str, layer_class: Any, base: str, layouts: tuple[str, str], what: str
) -> Callable[..., Any]:
    """The function for one rank; ``layouts``: channels first, channels last."""

    def convolve(
        inputs: Any,
        num_outputs: int,
        kernel_size: int | Sequence[int],
        stride: Any = 1,
        padding: str = "SAME",
        data_format: str = layouts[1],
        activation_fn: Callable[..., Any] = activations.relu,
        normalizer_fn: Callable[..., Any] | None = None,
        normalizer_params: Any = None,
        weights_initializer: InitializerLike = xavier_initializer(),  # noqa: B008
        weights_regularizer: Callable[[Any], Any] | None = None,
        biases_initializer: InitializerLike | None = initializers.zeros_initializer(),  # noqa: B008
        biases_regularizer: Callable[[Any], Any] | None = None,
        reuse: bool | None = None,
        variables_collections: Any = None,
        outputs_collections: Any = None,
        trainable: bool = True,
        scope: str | VariableScope | None = None,
    ) -> Any:
        if data_format not in layouts:
            raise ValueError(
                f"data_format has to be either {layouts[0]} or {layouts[1]}, but got {data_format!r}."
            )
        with variable_scope(scope, base, [inputs], reuse=reuse, custom_getter=renamed) as captured:
            layer = layer_class(
                num_outputs,
                kernel_size,
                stride,
                padding.lower(),
                "channels_first" if data_format == layouts[0] else "channels_last",
                use_bias=normalizer_fn is None and biases_initializer is not None,
                kernel_initializer=weights_initializer,
                bias_initializer=biases_initializer,
                kernel_regularizer=weights_regularizer,
                bias_regularizer=biases_regularizer,
                trainable=trainable,
                name=captured.name,
                _scope=captured,
                _reuse=reuse,
            )
            return apply_layer(
                *(layer, inputs, normalizer_fn, normalizer_params, activation_fn),
                *(variables_collections, outputs_collections),
            )

    convolve.__name__ = convolve.__qualname__ = name
    convolve.__doc__ = f"A transposed convolution of {what}, ReLU by default; ``weights`` and ``biases`` as in `convolution`."
    return add_arg_scope(convolve)


convolution2d_transpose = _transposed(
    "convolution2d_transpose",
    convolutional.Conv2DTranspose,
    "Conv2d_transpose",
    ("NCHW", "NHWC"),
    "images",
)
convolution3d_transpose = _transposed(
    "convolution3d_transpose",
    convolutional.Conv3DTranspose,
    "Conv3d_transpose",
    ("NCDHW", "NDHWC"),
    "volumes",
)
conv2d_transpose = convolution2d_transpose
conv3d_transpose = convolution3d_transpose
