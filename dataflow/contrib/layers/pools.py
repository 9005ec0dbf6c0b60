"""Pooling, and images as sequences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dataflow.contrib.arg_scopes import add_arg_scope
from dataflow.contrib.layers.building import collect_named_outputs
from dataflow.contrib.layers.parts import model_weights
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.type_aliases import DTypeLike
from dataflow.layers import pooling
from dataflow.layers.layer_arguments import pair
from dataflow.ops import activation, array, initializers, pooling_functions
from dataflow.ops.math import cast, maximum, reduce_sum
from dataflow.ops.sequences import range_
from dataflow.ops.variable_scope import variable_scope


def _pool(layer_class: Any, name: str, layouts: tuple[str, str]) -> Any:
    first, last = layouts

    @add_arg_scope
    def pool_layer(
        inputs: Any,
        kernel_size: int | Sequence[int],
        stride: Any = 2,
        padding: str = "VALID",
        data_format: str = last,
        outputs_collections: Any = None,
        scope: Any = None,
    ) -> Any:
        with default_graph().name_scope(scope or name) as captured:
            if data_format not in layouts:
                raise ValueError(
                    f"data_format has to be either {first} or {last}, got {data_format!r}."
                )
            layout = "channels_first" if data_format == first else "channels_last"
            layer = layer_class(kernel_size, stride, padding.lower(), layout, _scope=captured)
            return collect_named_outputs(
                outputs_collections, captured, layer(convert_to_tensor(inputs))
            )

    pool_layer.__name__ = pool_layer.__qualname__ = {"M": "max", "A": "avg"}[name[0]] + (
        "_pool" + name[-2:].lower()
    )
    pool_layer.__doc__ = f"{layer_class.__doc__}"
    return pool_layer


max_pool2d = _pool(pooling.MaxPooling2D, "MaxPool2D", ("NCHW", "NHWC"))
avg_pool2d = _pool(pooling.AveragePooling2D, "AvgPool2D", ("NCHW", "NHWC"))
max_pool3d = _pool(pooling.MaxPooling3D, "MaxPool3D", ("NCDHW", "NDHWC"))
avg_pool3d = _pool(pooling.AveragePooling3D, "AvgPool3D", ("NCDHW", "NDHWC"))


@add_arg_scope
def pool(
    inputs: Any,
    kernel_size: int | Sequence[int],
    pooling_type: str,
    padding: str = "VALID",
    data_format: str | None = None,
    dilation_rate: Any = 1,
    stride: Any = 1,
    outputs_collections: Any = None,
    scope: Any = None,
) -> Any:
    """`tf.nn.pool` of sequences, images or volumes: ``pooling_type`` "MAX" or "AVG".

    Raises `ValueError` for inputs of unknown rank.
    """
    with default_graph().name_scope(scope or f"{pooling_type.lower()}_pool") as captured:
        inputs = convert_to_tensor(inputs)
        if inputs.dims is None:
            raise ValueError("Rank of inputs must be known")
        count = len(inputs.dims) - 2
        outputs = pooling_functions.pool(
            inputs,
            pair(kernel_size, count, "kernel_size"),
            pooling_type,
            padding,
            pair(dilation_rate, count, "dilation_rate"),
            pair(stride, count, "stride"),
            name=captured,
            data_format=data_format,
        )
        return collect_named_outputs(outputs_collections, captured, outputs)


@add_arg_scope
def spatial_softmax(
    features: Any,
    temperature: Any = None,
    name: str | None = None,
    variables_collections: Any = None,
    trainable: bool = True,
    data_format: str = "NHWC",
) -> Any:
    """Where each channel is greatest, softly: [batch, height, width, channels] -> [batch, 2 channels].

    The expected places along the height and the width, from -1 to 1, under a softmax over all places divided by
    ``temperature`` (None: a variable, 1 to begin with). Levine et al. 2015, arXiv 1504.00702.
    """
    if data_format not in ("NHWC", "NCHW"):
        raise ValueError(f"data_format has to be either NCHW or NHWC, got {data_format!r}.")
    with variable_scope(name, "spatial_softmax"):
        features = convert_to_tensor(features)
        if data_format == "NHWC":
            features = array.transpose(features, [0, 3, 1, 2])
        sizes = array.shape(features)
        channels, height, width = (
            sizes[i] if d is None else d for i, d in enumerate(features.dims[1:], 1)
        )
        if temperature is None:
            temperature = model_weights(
                "temperature",
                (),
                features.dtype.base_dtype,
                initializers.ones_initializer(),
                variables_collections,
                trainable=trainable,
            )
        scores = array.reshape(features, [-1, height * width]) / temperature
        weights = activation.softmax(scores)

        def expected(count: Any, axis: int) -> Any:
            line = array.expand_dims(_from_minus_one(count, features.dtype), 1 - axis)
            grid = array.reshape(line + array.zeros([height, width], features.dtype), [-1])
            return reduce_sum(weights * grid, 1, keepdims=True)

        found = array.concat([expected(height, 0), expected(width, 1)], 1)
        outputs = array.reshape(found, [-1, channels * 2])
        if features.dims[1] is not None:
            outputs.set_shape([None, features.dims[1] * 2])
        return outputs


def _from_minus_one(count: Any, dtype: DTypeLike) -> Any:
    """``count`` numbers from -1 to 1 at equal distances; -1 where there is one."""
    return cast(range_(count), dtype) * 2.0 / maximum(cast(count, dtype) - 1.0, 1.0) - 1.0


@add_arg_scope
def images_to_sequence(
    inputs: Any, data_format: str = "NHWC", outputs_collections: Any = None, scope: Any = None
) -> Any:
    """Rows of images as sequences over their width: [width, batch * height, channels]."""
    if data_format not in ("NHWC", "NCHW"):
        raise ValueError(f"data_format has to be either NCHW or NHWC, got {data_format!r}.")
    with default_graph().name_scope(scope or "ImagesToSequence") as captured:
        inputs = convert_to_tensor(inputs)
        if data_format == "NCHW":
            inputs = array.transpose(inputs, [0, 2, 3, 1])
        width, channels = inputs.dims[2:]
        if width is None or channels is None:
            raise ValueError("Width and channels of the images must be known.")
        rows = array.reshape(inputs, [-1, width, channels])
        outputs = array.transpose(rows, [1, 0, 2])
        return collect_named_outputs(outputs_collections, captured, outputs)


@add_arg_scope
def sequence_to_images(
    inputs: Any,
    height: int,
    output_data_format: str = "channels_last",
    outputs_collections: Any = None,
    scope: Any = None,
) -> Any:
    """What `images_to_sequence` made, as images again: [batch, height, width, channels]."""
    with default_graph().name_scope(scope or "SequenceToImages") as captured:
        inputs = convert_to_tensor(inputs)
        width, count, channels = inputs.dims
        if width is None or channels is None:
            raise ValueError("Width and channels of the sequences must be known.")
        rows = array.transpose(inputs, [1, 0, 2])
        batch = -1 if count is None else count // height
        outputs = array.reshape(rows, [batch, height, width, channels])
        if output_data_format == "channels_first":
            outputs = array.transpose(outputs, [0, 3, 1, 2])
        return collect_named_outputs(outputs_collections, captured, outputs)
