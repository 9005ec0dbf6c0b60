"""Spellings that TensorFlow dropped on its way to 2.15, put back for programs that use them.

Each is TensorFlow's own function under its old name, or (``tf.contrib``) a few lines that say in
today's terms what the old function did, so that the comparison still has a second opinion.
"""

from __future__ import annotations

import contextlib
import numbers
import types
from typing import Any

RENAMED = {
    "mul": "multiply",
    "sub": "subtract",
    "neg": "negative",
    "pack": "stack",
    "unpack": "unstack",
    "batch_matmul": "matmul",
    "inv": "reciprocal",
    "select": "where",
    "complex_abs": "abs",
    "listdiff": "setdiff1d",
    "batch_cholesky": "cholesky",
    "batch_matrix_inverse": "matrix_inverse",
    "batch_matrix_determinant": "matrix_determinant",
    "batch_matrix_band_part": "matrix_band_part",
    "batch_matrix_diag": "matrix_diag",
    "batch_matrix_diag_part": "matrix_diag_part",
    "batch_matrix_solve": "matrix_solve",
    "batch_matrix_triangular_solve": "matrix_triangular_solve",
    "batch_self_adjoint_eig": "self_adjoint_eig",
    "batch_svd": "svd",
    "batch_fft": "fft",
}


def install_before_1_0(tf: Any) -> None:
    """Give ``tf`` the names that 1.0 dropped: all that a TensorFlow 1.15 lacks."""
    for old, new in RENAMED.items():
        setattr(tf, old, getattr(tf, new))
    tf.scalar_summary = _summary(tf.summary.scalar)
    tf.histogram_summary = _summary(tf.summary.histogram)
    tf.merge_summary = tf.summary.merge
    tf.merge_all_summaries = tf.summary.merge_all
    tf.train.SummaryWriter = tf.summary.FileWriter


def install(tf: Any) -> None:
    """Give TensorFlow 2's ``compat.v1`` all its old names back."""
    install_before_1_0(tf)
    tf.image.resize_image_with_crop_or_pad = tf.image.resize_with_crop_or_pad
    optional = tf.data.experimental.Optional
    optional.none_from_structure = staticmethod(optional.empty)
    optional.value_structure = property(lambda self: self.element_spec)
    tf.contrib = types.SimpleNamespace(
        feature_column=types.SimpleNamespace(
            sequence_input_layer=lambda features, columns: tf.keras.experimental.SequenceFeatures(
                columns
            )(features)
        ),
        layers=_contrib_layers(tf),
        slim=_slim(tf),
        rnn=types.SimpleNamespace(
            BasicLSTMCell=tf.nn.rnn_cell.BasicLSTMCell,
            BasicRNNCell=tf.nn.rnn_cell.BasicRNNCell,
            GRUCell=tf.nn.rnn_cell.GRUCell,
            LSTMCell=tf.nn.rnn_cell.LSTMCell,
            MultiRNNCell=tf.nn.rnn_cell.MultiRNNCell,
            DropoutWrapper=tf.nn.rnn_cell.DropoutWrapper,
            LSTMStateTuple=tf.nn.rnn_cell.LSTMStateTuple,
            static_rnn=tf.nn.static_rnn,
            static_bidirectional_rnn=tf.nn.static_bidirectional_rnn,
        ),
        util=types.SimpleNamespace(
            make_tensor_proto=tf.make_tensor_proto,
            make_ndarray=tf.make_ndarray,
            constant_value=tf.get_static_value,
        ),
        framework=types.SimpleNamespace(
            get_or_create_global_step=tf.train.get_or_create_global_step,
            get_global_step=tf.train.get_global_step,
        ),
        summary=_contrib_summary(),
    )


def _summary(function: Any) -> Any:
    """Summaries of before 1.0 took the tag first, and used it as it stands."""
    return lambda tags, values, name=None: function(tags, values)


def _contrib_summary() -> Any:
    """What stayed of `tf.contrib.summary`, in a private module."""
    from tensorflow.python.ops import summary_ops_v2

    names = (
        "SummaryWriter always_record_summaries never_record_summaries eval_dir scalar histogram image audio generic "
        "record_summaries_every_n_global_steps create_file_writer initialize summary_writer_initializer_op import_event"
    )
    return types.SimpleNamespace(
        **{name: getattr(summary_ops_v2, name) for name in names.split()},
        all_summary_ops=summary_ops_v2.all_v2_summary_ops,
        should_record_summaries=summary_ops_v2._legacy_contrib_should_record_summaries,
        graph=summary_ops_v2.graph_v1,
        flush=summary_ops_v2.legacy_raw_flush,
    )


def _slim(tf: Any) -> Any:
    """Inception v3 of `keras.applications`: the same network, by other hands."""

    def inception_v3_base(inputs: Any, scope: Any = None) -> Any:
        network = tf.keras.applications.InceptionV3(
            include_top=False, weights=None, input_tensor=inputs
        )
        return network.output, None

    return types.SimpleNamespace(
        arg_scope=lambda settings, **arguments: contextlib.nullcontext(),
        batch_norm=None,
        nets=types.SimpleNamespace(
            inception_v3=types.SimpleNamespace(
                inception_v3_arg_scope=lambda: None, inception_v3_base=inception_v3_base
            )
        ),
    )


def _contrib_layers(tf: Any) -> Any:
    def checked(scale: Any) -> float:
        if isinstance(scale, numbers.Integral):
            raise ValueError(f"scale cannot be an integer: {scale}")
        if isinstance(scale, numbers.Real) and scale < 0.0:
            raise ValueError(f"Setting a scale less than 0 on a regularizer: {scale}")
        return scale

    def l2_regularizer(scale: float, scope: str | None = None) -> Any:
        if checked(scale) == 0.0:
            return lambda weights: None
        return lambda weights: scale * tf.nn.l2_loss(weights)

    def l1_regularizer(scale: float, scope: str | None = None) -> Any:
        if checked(scale) == 0.0:
            return lambda weights: None
        return lambda weights: scale * tf.reduce_sum(tf.abs(weights))

    def fully_connected(
        inputs: Any,
        num_outputs: int,
        activation_fn: Any = tf.nn.relu,
        weights_initializer: Any = None,
        weights_regularizer: Any = None,
        biases_initializer: Any = tf.zeros_initializer,
        reuse: Any = None,
        scope: Any = None,
    ) -> Any:
        with tf.variable_scope(scope, "fully_connected", [inputs], reuse=reuse):
            weights = tf.get_variable(
                "weights",
                [inputs.get_shape()[-1].value, num_outputs],
                initializer=weights_initializer or tf.glorot_uniform_initializer(),
                regularizer=weights_regularizer,
            )
            biases = tf.get_variable("biases", [num_outputs], initializer=biases_initializer)
            outputs = tf.nn.bias_add(tf.matmul(inputs, weights), biases)
            return outputs if activation_fn is None else activation_fn(outputs)

    return types.SimpleNamespace(
        fully_connected=fully_connected,
        l1_regularizer=l1_regularizer,
        l2_regularizer=l2_regularizer,
        flatten=lambda inputs, scope=None: tf.layers.flatten(inputs),
        xavier_initializer=lambda uniform=True, seed=None, dtype=tf.float32: (
            tf.glorot_uniform_initializer if uniform else tf.glorot_normal_initializer
        )(seed=seed, dtype=dtype),
    )
