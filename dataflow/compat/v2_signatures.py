"""How the names of ``tf.compat.v2`` differ from those of ``tf``: order of arguments, places, what is not here."""

from __future__ import annotations

from typing import Any, NamedTuple

from dataflow.dtypes import int32


class Order(NamedTuple):
    """The arguments of a function in version 2's order."""

    names: dict[str, str]  #: version 2's name -> version 1's
    num_required: int | None  #: how many have to be given; ``None``: as many as in version 1


#: ``name: its arguments in version 2's order``. ``new=old`` is an argument that is called ``old`` in
#: version 1. What stands before a bar has to be given, where version 1 leaves it open. All of them keep
#: version 1's meaning.
_ORDERS = """
argmax argmin math.argmax math.argmin: input axis output_type name
assert_equal assert_greater assert_less: x y message summarize name
assert_rank debugging.assert_rank debugging.assert_rank_at_least: x rank message name
autograph.to_code autograph.to_graph: entity recursive experimental_optional_features
batch_to_space: input block_shape crops name
boolean_mask: tensor mask axis name
concat: values axis | name
cond: pred true_fn false_fn name
constant: value dtype shape name
constant_initializer: value
convert_to_tensor: value dtype dtype_hint name
debugging.assert_all_finite: x message name
debugging.assert_equal debugging.assert_greater debugging.assert_greater_equal: x y message summarize name
debugging.assert_less debugging.assert_less_equal: x y message summarize name
debugging.assert_none_equal: x y summarize message name
debugging.assert_near: x y rtol atol message summarize name
debugging.assert_negative debugging.assert_positive: x message summarize name
debugging.assert_non_negative debugging.assert_non_positive: x message summarize name
debugging.assert_rank_in: x ranks message name
debugging.assert_scalar: tensor message name
device: device_name=device_name_or_function
expand_dims: input axis | name
feature_column.categorical_column_with_vocabulary_file: key vocabulary_file vocabulary_size dtype \
default_value num_oov_buckets
gather: params indices validate_indices axis batch_dims name
gather_nd: params indices batch_dims name
gradients: ys xs grad_ys name gate_gradients aggregation_method stop_gradients unconnected_gradients
hessians: ys xs gate_gradients aggregation_method name
image.crop_and_resize: image boxes box_indices crop_size method extrapolation_value name
image.draw_bounding_boxes: images boxes colors name
io.decode_csv: records record_defaults field_delim use_quote_delim na_value select_cols name
io.decode_raw: input_bytes out_type little_endian name
io.parse_example io.parse_single_example: serialized features example_names name
io.serialize_many_sparse io.serialize_sparse: sp_input out_type name
math.confusion_matrix: labels predictions num_classes weights dtype name
math.count_nonzero: input axis keepdims dtype name
math.in_top_k nn.in_top_k: targets predictions k name
nn.avg_pool2d: input=value ksize strides padding data_format name
nn.batch_norm_with_global_normalization: input mean variance beta gamma variance_epsilon \
scale_after_normalization name
nn.conv1d: input filters stride padding data_format dilations name
nn.conv2d nn.conv3d: input filters strides padding | data_format dilations name
nn.conv2d_transpose nn.conv3d_transpose: input=value filters=filter output_shape strides padding data_format dilations name
nn.convolution: input filters strides padding data_format dilations name
nn.crelu: features axis name
nn.depth_to_space nn.space_to_depth: input block_size data_format name
nn.depthwise_conv2d: input filter strides padding data_format dilations name
nn.dropout: x rate | noise_shape seed name
nn.embedding_lookup: params ids max_norm name
nn.embedding_lookup_sparse: params sp_ids sp_weights combiner max_norm name
nn.fractional_avg_pool nn.fractional_max_pool: value pooling_ratio pseudo_random overlapping seed name
nn.max_pool_with_argmax: input ksize strides padding data_format output_dtype include_batch_in_index name
nn.moments nn.sufficient_statistics: x axes shift keepdims name
nn.nce_loss: weights biases labels inputs num_sampled num_classes num_true sampled_values \
remove_accidental_hits name
nn.pool: input window_shape pooling_type strides padding data_format dilations name
nn.safe_embedding_lookup_sparse: embedding_weights sparse_ids sparse_weights combiner default_id max_norm name
nn.sampled_softmax_loss: weights biases labels inputs num_sampled num_classes num_true sampled_values \
remove_accidental_hits seed name
nn.separable_conv2d: input depthwise_filter pointwise_filter strides padding data_format dilations name
nn.sigmoid_cross_entropy_with_logits nn.sparse_softmax_cross_entropy_with_logits: labels logits name
nn.softmax_cross_entropy_with_logits: labels logits axis name
nn.softmax nn.log_softmax math.softmax math.log_softmax: logits axis name
nn.space_to_batch space_to_batch: input block_shape paddings name
nn.weighted_moments: x axes frequency_weights keepdims name
ones zeros: shape dtype name
ones_like zeros_like: input=tensor dtype name
pad: tensor paddings mode constant_values name
fill: dims value name
linspace: start stop num name
map_fn: fn elems dtype parallel_iterations back_prop swap_memory infer_shape name
matmul linalg.matmul: a b transpose_a transpose_b adjoint_a adjoint_b a_is_sparse b_is_sparse name
norm linalg.norm: tensor ord axis keepdims name
nn.l2_normalize math.l2_normalize linalg.l2_normalize: x axis epsilon name
random.poisson: shape lam dtype seed name
reduce_all reduce_any reduce_logsumexp reduce_max reduce_mean: input_tensor axis keepdims name
reduce_min reduce_prod reduce_sum: input_tensor axis keepdims name
math.reduce_all math.reduce_any math.reduce_logsumexp math.reduce_max: input_tensor axis keepdims name
math.reduce_mean math.reduce_min math.reduce_prod math.reduce_sum: input_tensor axis keepdims name
reshape: tensor shape | name
reverse_sequence: input seq_lengths seq_axis batch_axis name
split: value num_or_size_splits | axis num name
squeeze: input axis name
shape size: input out_type name
sparse.concat: axis sp_inputs expand_nonconcat_dims name
sparse.segment_mean sparse.segment_sqrt_n sparse.segment_sum: data indices segment_ids num_segments name
sparse.split: sp_input num_split axis name
strings.length: input unit name
strings.reduce_join: inputs axis keepdims separator name
strings.split: input sep maxsplit name
strings.substr: input pos len unit name
strings.to_hash_bucket: input num_buckets name
strings.to_number: input out_type name
test.assert_equal_graph_def: expected actual
transpose: a perm conjugate name
tuple: tensors control_inputs name
while_loop: cond body loop_vars shape_invariants parallel_iterations back_prop swap_memory \
maximum_iterations name
random_normal_initializer: mean stddev seed
random_uniform_initializer: minval maxval seed
"""

#: Arguments that version 2 leaves at another value.
DEFAULTS: dict[str, dict[str, Any]] = {
    **{name: {"out_type": int32} for name in ("shape", "size")},
    **{
        f"{home}reduce_{kind}": {"keepdims": False}
        for home in ("", "math.")
        for kind in ["all", "any", "logsumexp", "max", "mean", "min", "prod", "sum"]
    },
    "nn.moments": {"keepdims": False},
    "nn.convolution": {"padding": "VALID"},
    "nn.pool": {"padding": "VALID"},
    "nn.conv2d_transpose": {"padding": "SAME"},
    "nn.nce_loss": {"partition_strategy": "div"},
    "nn.sampled_softmax_loss": {"partition_strategy": "div"},
    "nn.embedding_lookup": {"partition_strategy": "div"},
    "nn.embedding_lookup_sparse": {"partition_strategy": "div"},
    "random_normal_initializer": {"stddev": 0.05},
    "random_uniform_initializer": {"minval": -0.05, "maxval": 0.05},
    "while_loop": {"return_same_structure": True},
    "strings.split": {"result_type": "RaggedTensor"},
}

#: ``name: what it is here``.
PLACES = {
    "initializers": "dataflow.keras.initializers",
    "keras.layers.BatchNormalization": "dataflow.keras.layers.normalization_v2.BatchNormalization",
    "keras.layers.DenseFeatures": "dataflow.keras.layers.features.DenseFeaturesOfVersion2",
    **{
        f"keras.layers.{name}": f"dataflow.keras.layers.recurrent_v2.{name}"
        for name in ("GRU", "GRUCell", "LSTM", "LSTMCell")
    },
    "losses": "dataflow.keras.losses",
    "metrics": "dataflow.keras.metrics",
    "nn.RNNCellDeviceWrapper": "dataflow.nn.rnn_cell.DeviceWrapper",
    "nn.RNNCellDropoutWrapper": "dataflow.nn.rnn_cell.DropoutWrapper",
    "nn.RNNCellResidualWrapper": "dataflow.nn.rnn_cell.ResidualWrapper",
    "nn.avg_pool": "dataflow.nn.avg_pool_v2",
    "nn.ctc_loss": "dataflow.nn.ctc_loss_v2",
    "nn.max_pool": "dataflow.nn.max_pool_v2",
    "optimizers": "dataflow.keras.optimizers",
    "random.set_seed": "dataflow.set_random_seed",
    "saved_model.load": "dataflow.saved_model.load_v2",
    "summary": "dataflow.compat.v2.v2_summary",
    "test.compute_gradient": "dataflow.python.gradient_checker_v2.compute_gradient",
    "where": "dataflow.where_v2",
}

#: Names that mean something else than version 1's of the same name, and are not here.
ABSENT = {
    **dict.fromkeys(
        ["image.resize", "image.extract_glimpse", "nn.dilation2d", "nn.erosion2d"],
        "with the function of version 1 of the same name",
    ),
    **dict.fromkeys(
        [
            f"estimator.{kind}{task}"
            for kind in ("Baseline", "DNN", "Linear", "DNNLinearCombined")
            for task in ("Classifier", "Estimator", "Regressor")
        ],
        "with the estimator of version 1 of the same name",
    ),
}


def orders() -> dict[str, Order]:
    """Name below ``tf.compat.v2`` -> its arguments."""
    found: dict[str, Order] = {}
    for line in _ORDERS.strip().splitlines():
        names, _, arguments = line.partition(": ")
        words = arguments.split()
        num_required = words.index("|") if "|" in words else None
        pairs = [word.partition("=") for word in words if word != "|"]
        order = Order({new: old or new for new, _, old in pairs}, num_required)
        found.update(dict.fromkeys(names.split(), order))
    return found
