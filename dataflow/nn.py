"""`tf.nn`: what neural networks are made of."""

# ruff: noqa: F401  (names for users)

from __future__ import annotations

from dataflow.contrib import legacy_seq2seq as seq2seq
from dataflow.ops.activation import (
    crelu,
    elu,
    gelu,
    l2_loss,
    leaky_relu,
    log_softmax,
    relu,
    relu6,
    selu,
    softmax,
    softplus,
    softsign,
    swish,
)
from dataflow.ops.bias import bias_add, bias_add_v1, relu_layer, xw_plus_b
from dataflow.ops.candidate_sampling import (
    all_candidate_sampler,
    compute_accidental_hits,
    fixed_unigram_candidate_sampler,
    learned_unigram_candidate_sampler,
    log_uniform_candidate_sampler,
    nce_loss,
    sampled_softmax_loss,
    uniform_candidate_sampler,
)
from dataflow.ops.convolution import (
    atrous_conv2d,
    atrous_conv2d_transpose,
    conv1d,
    conv1d_transpose,
    conv2d,
    conv2d_backprop_filter,
    conv2d_backprop_input,
    conv2d_transpose,
    conv3d,
    conv3d_backprop_filter_v2,
    conv3d_backprop_filter_v2 as conv3d_backprop_filter,
    conv3d_transpose,
    conv_transpose,
    convolution,
    depthwise_conv2d,
    depthwise_conv2d_native,
    depthwise_conv2d_native_backprop_filter,
    depthwise_conv2d_native_backprop_filter as depthwise_conv2d_backprop_filter,
    depthwise_conv2d_native_backprop_input,
    depthwise_conv2d_native_backprop_input as depthwise_conv2d_backprop_input,
    dilation2d,
    erosion2d,
    separable_conv2d,
    with_space_to_batch,
)
from dataflow.ops.ctc import (
    ctc_beam_search_decoder,
    ctc_beam_search_decoder_v2,
    ctc_greedy_decoder,
    ctc_loss,
)
from dataflow.ops.embedding import (
    embedding_lookup,
    embedding_lookup_sparse,
    safe_embedding_lookup_sparse,
)
from dataflow.ops.loss import (
    log_poisson_loss,
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits_v2,
    sparse_softmax_cross_entropy_with_logits,
    weighted_cross_entropy_with_logits,
)
from dataflow.ops.math import sigmoid, tanh
from dataflow.ops.normalization import (
    batch_norm_with_global_normalization,
    batch_normalization,
    dropout,
    fused_batch_norm,
    l2_normalize,
    local_response_normalization,
    lrn,
    moments,
    normalize_moments,
    sufficient_statistics,
    weighted_moments,
    zero_fraction,
)
from dataflow.ops.pooling import (
    avg_pool,
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    avg_pool_v2,
    max_pool,
    max_pool1d,
    max_pool2d,
    max_pool3d,
    max_pool_v2,
    max_pool_with_argmax,
    pool,
)
from dataflow.ops.quantized_refusals import (
    quantized_avg_pool,
    quantized_conv2d,
    quantized_max_pool,
    quantized_relu_x,
)
from dataflow.ops.rearranging import depth_to_space, space_to_batch, space_to_depth
from dataflow.ops.sequences import in_top_k, nth_element, top_k
from dataflow.rnn import cells as rnn_cell
from dataflow.rnn.loops import (
    bidirectional_dynamic_rnn,
    dynamic_rnn,
    raw_rnn,
    static_bidirectional_rnn,
    static_rnn,
    static_rnn as rnn,
)
