"""Functions count as as many nodes as TensorFlow 1.15 makes, so that the seeds of what follows are TensorFlow's."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import dataflow

tf: Any = dataflow
pytestmark = pytest.mark.usefixtures("as_tensorflow")


def count(graph: Any) -> Any:
    return len(graph.operations) + graph.num_left_out


def seeds_of(graph: Any) -> list[int]:
    """The second seeds of random ops, in their order."""
    return [op.get_attr("seed2") for op in graph.get_operations() if "seed2" in op.node_def.attr]


def rows(*sizes: int | None) -> Any:
    return tf.placeholder(tf.float32, [None, *sizes])


def given(*sizes: int) -> Any:
    return tf.placeholder(tf.float32, sizes)


def numbers() -> Any:
    return tf.placeholder(tf.int64, [None, 1])


def words() -> Any:
    return tf.placeholder(tf.string, [None, 1])


def squared(**kwargs: Any) -> Any:
    return tf.losses.mean_squared_error(rows(3), rows(3), **kwargs)


def average(**kwargs: Any) -> Any:
    means = tf.train.ExponentialMovingAverage(0.9, **kwargs)
    return means.apply([tf.Variable(1.0), tf.get_variable("v", [3])])


def column(make: Any, **features: Any) -> Any:
    return tf.feature_column.input_layer(features, make())


def lengths() -> Any:
    return tf.placeholder(tf.int32, [None])


def truths() -> Any:
    return tf.placeholder(tf.bool, [None])


def decoded(make_helper: Any, attention: Any = None, **kwargs: Any) -> Any:
    seq2seq, inputs, steps = tf.contrib.seq2seq, rows(None, 3), lengths()
    cell = tf.nn.rnn_cell.GRUCell(4)
    if attention is not None:
        cell = seq2seq.AttentionWrapper(cell, attention(rows(None, 4)), **kwargs)
    helper = make_helper(seq2seq, inputs, steps)
    start = cell.zero_state(tf.shape(inputs)[0], tf.float32)
    decoder = seq2seq.BasicDecoder(cell, helper, start, tf.layers.Dense(10))
    return seq2seq.dynamic_decode(decoder, maximum_iterations=tf.reduce_max(steps))


def cloned(cell_state: Any) -> Any:
    memory = rows(None, 4)
    cell = tf.contrib.seq2seq.AttentionWrapper(tf.nn.rnn_cell.GRUCell(4), luong(memory))
    return cell.zero_state(tf.shape(memory)[0], tf.float32).clone(cell_state=cell_state)


def cell_of_cudnn() -> Any:
    cell = tf.contrib.cudnn_rnn.CudnnCompatibleLSTMCell(4)
    return cell(rows(3), cell.zero_state(tf.shape(rows(3))[0], tf.float32))


def fed(seq2seq: Any, inputs: Any, steps: Any) -> Any:
    return seq2seq.TrainingHelper(inputs, steps)


def likeliest(seq2seq: Any, inputs: Any, steps: Any) -> Any:
    table = tf.get_variable("table", [10, 3])
    return seq2seq.GreedyEmbeddingHelper(table, tf.fill([tf.shape(inputs)[0]], 1), 2)


def drawn(seq2seq: Any, inputs: Any, steps: Any) -> Any:
    table = tf.get_variable("table", [10, 3])
    return seq2seq.SampleEmbeddingHelper(table, tf.fill([tf.shape(inputs)[0]], 1), 2)


def scheduled(seq2seq: Any, inputs: Any, steps: Any) -> Any:
    table = tf.get_variable("table", [10, 3])
    return seq2seq.ScheduledEmbeddingTrainingHelper(inputs, steps, table, 0.3)


def scheduled_outputs(seq2seq: Any, inputs: Any, steps: Any) -> Any:
    inputs = tf.placeholder(tf.float32, [None, None, 10])
    return seq2seq.ScheduledOutputTrainingHelper(inputs, steps, 0.3)


def luong(memory: Any) -> Any:
    return tf.contrib.seq2seq.LuongAttention(4, memory, lengths())


def bahdanau(memory: Any) -> Any:
    return tf.contrib.seq2seq.BahdanauAttention(4, memory, normalize=True)


def monotonic(memory: Any) -> Any:
    return tf.contrib.seq2seq.BahdanauMonotonicAttention(4, memory)


def looped(make_cell: Any) -> Any:
    return tf.nn.dynamic_rnn(make_cell(), rows(5, 3), dtype=tf.float32)


def looped_both_ways() -> Any:
    inputs, make = tf.placeholder(tf.float32, [8, None, 3]), tf.nn.rnn_cell.LSTMCell
    steps = tf.placeholder(tf.int32, [8])
    return tf.nn.bidirectional_dynamic_rnn(make(4), make(4), inputs, steps, dtype=tf.float32)


def looking_back() -> Any:
    return tf.contrib.rnn.AttentionCellWrapper(tf.nn.rnn_cell.BasicLSTMCell(4), 3)


def decided(inputs: Any, start: Any) -> Any:
    """A loop whose steps a function decides; each sequence takes four."""
    finished = tf.fill([tf.shape(inputs)[0]], False)

    def step(time: Any, output: Any, state: Any, kept: Any) -> Any:
        if output is None:
            return finished, inputs, start, None, None
        return tf.logical_or(time > 3, finished), inputs, state, output, None

    return tf.nn.raw_rnn(tf.nn.rnn_cell.GRUCell(4), step)


def batches(*columns: str) -> Any:
    features = {name: np.zeros([4, 2]) for name in columns}
    return tf.estimator.inputs.numpy_input_fn(features, np.zeros(4), batch_size=2, shuffle=True)()


def unrolled(make_cell: Any) -> Any:
    return tf.nn.static_rnn(make_cell(), [rows(3), rows(3)], dtype=tf.float32)


def variational() -> Any:
    cell = tf.nn.rnn_cell.BasicLSTMCell(4)
    return tf.nn.rnn_cell.DropoutWrapper(
        cell, 0.5, 0.5, 0.5, variational_recurrent=True, input_size=3, dtype=tf.float32
    )


def normalized() -> Any:
    return tf.contrib.rnn.LayerNormBasicLSTMCell(4, dropout_keep_prob=0.5)


def sequence_loss(**kwargs: Any) -> Any:
    targets = tf.placeholder(tf.int32, [2, 5])
    return tf.contrib.seq2seq.sequence_loss(given(2, 5, 7), targets, given(2, 5), **kwargs)


def translated() -> Any:
    words_in, words_out = [[lengths() for _ in range(n)] for n in (2, 3)]
    cell = tf.nn.rnn_cell.GRUCell(4)
    legacy = tf.contrib.legacy_seq2seq
    return legacy.embedding_rnn_seq2seq(words_in, words_out, cell, 7, 8, 3)


columns: Any = tf.feature_column
COUNTED: dict[str, Any] = {
    "sorted": lambda: tf.sort(rows(5)),
    "sorted-down": lambda: tf.sort(rows(5), direction="DESCENDING"),
    "order": lambda: tf.argsort(rows(5)),
    "order-of-columns": lambda: tf.argsort(given(4, 5), axis=0, direction="DESCENDING"),
    "flip-photo": lambda: tf.image.flip_left_right(rows(None, 3)),
    "random-flip-photo": lambda: tf.image.random_flip_left_right(rows(None, 3)),
    "random-flip-photos": lambda: tf.image.random_flip_up_down(rows(None, None, 3)),
    "transpose-photo": lambda: tf.image.transpose_image(rows(None, 3)),
    "middle-photo": lambda: tf.image.central_crop(rows(None, 3), 0.5),
    "middle-photos": lambda: tf.image.central_crop(rows(8, 8, 3), 0.5),
    "window-photo": lambda: tf.image.crop_to_bounding_box(rows(None, 3), 1, 1, 4, 4),
    "window-photos": lambda: tf.image.crop_to_bounding_box(rows(8, 8, 3), 1, 1, 4, 4),
    "padded-photo": lambda: tf.image.pad_to_bounding_box(rows(None, 3), 1, 1, 12, 12),
    "padded-photos": lambda: tf.image.pad_to_bounding_box(rows(8, 8, 3), 1, 1, 12, 12),
    "fitted-photo": lambda: tf.image.resize_image_with_crop_or_pad(rows(None, 3), 6, 12),
    "fitted-photos": lambda: tf.image.resize_image_with_crop_or_pad(rows(8, 8, 3), 6, 12),
    "fitted-unknown-photos": lambda: tf.image.resize_image_with_crop_or_pad(
        rows(None, None, 3), 6, 12
    ),
    "standard-photo": lambda: tf.image.per_image_standardization(rows(None, 3)),
    "any-image-file": lambda: tf.image.decode_image(tf.read_file("a")),
    "any-image-file-as-floats": lambda: tf.image.decode_image(tf.read_file("a"), dtype=tf.float32),
    "random-jpeg": lambda: tf.image.random_jpeg_quality(given(8, 8, 3), 10, 20),
    "noise-ratio": lambda: tf.image.psnr(given(8, 8, 3), given(8, 8, 3), 1.0),
    "average-norm": lambda: tf.clip_by_average_norm(rows(5), 1.0),
    "weighted-moments": lambda: tf.nn.weighted_moments(rows(5), [0], rows(1)),
    "gathered-rows": lambda: tf.batch_gather(given(4, 5, 6), tf.placeholder(tf.int32, [4, 5, 2])),
    "gathered": lambda: tf.batch_gather(given(4), tf.placeholder(tf.int32, [2])),
    "confusions": lambda: tf.confusion_matrix(lengths(), lengths(), 3),
    "confusions-of-any": lambda: tf.confusion_matrix(lengths(), lengths()),
    "pairs": lambda: tf.losses.mean_pairwise_squared_error(rows(5), rows(5)),
    "scanned": lambda: tf.scan(lambda a, x: a + x, rows(5)),
    "scanned-back": lambda: tf.scan(lambda a, x: a + x, rows(5), reverse=True),
    "gammas-known": lambda: tf.random_gamma([3], given(4)),
    "gammas": lambda: tf.random_gamma([3], rows()),
    "segments": lambda: tf.unsorted_segment_mean(rows(5), lengths(), 3),
    "segments-of-tensor": lambda: tf.unsorted_segment_sqrt_n(
        rows(5), lengths(), tf.placeholder(tf.int32, [])
    ),
    "precision": lambda: tf.metrics.precision(truths(), truths()),
    "precision-weighted": lambda: tf.metrics.precision(truths(), truths(), weights=rows()),
    "recall-of-numbers": lambda: tf.metrics.recall(lengths(), lengths()),
    "misses": lambda: tf.metrics.false_negatives(lengths(), truths(), weights=rows()),
    "area": lambda: tf.metrics.auc(tf.placeholder(tf.bool, [4]), given(4)),
    "area-of-any": lambda: tf.metrics.auc(truths(), rows()),
    "intersections": lambda: tf.metrics.mean_iou(lengths(), lengths(), 3),
    "rot90": lambda: tf.image.rot90(given(8, 8, 3)),
    "rot90-batch": lambda: tf.image.rot90(given(2, 8, 8, 3), 3),
    "rot90-unknown": lambda: tf.image.rot90(rows(8, 8, 3), 3),
    "rot90-tensor": lambda: tf.image.rot90(given(4, 4, 1), tf.placeholder(tf.int32, [])),
    "sobel": lambda: tf.image.sobel_edges(rows(8, 8, 3)),
    "image-gradients": lambda: tf.image.image_gradients(rows(8, 8, 3)),
    "weights": lambda: squared(weights=rows(1)),
    "weights-list": lambda: squared(weights=[[1.0], [2.0]]),
    "weights-scalar": lambda: squared(weights=given()),
    "weights-known": lambda: tf.losses.absolute_difference(given(2, 3), given(2, 3), given(2, 1)),
    "no-reduction": lambda: squared(reduction=tf.losses.Reduction.NONE),
    "mean": lambda: squared(reduction=tf.losses.Reduction.MEAN),
    "hinge": lambda: tf.losses.hinge_loss(rows(3), rows(3)),
    "classes": lambda: tf.losses.sparse_softmax_cross_entropy([1, 2], rows(3), weights=rows()),
    "average-weights": lambda: tf.metrics.mean(rows(), rows()),
    "matrices": lambda: tf.einsum("ij,jk->ik", rows(4), given(4, 3)),
    "sequences": lambda: tf.einsum("bij,jk->bik", rows(5, 4), given(4, 3)),
    "heads": lambda: tf.einsum("bhld,bhmd->bhlm", rows(2, 3, 4), rows(2, 5, 4)),
    "rows": lambda: tf.einsum("ij,ij->i", rows(4), rows(4)),
    "outer": lambda: tf.einsum("i,j->ij", rows(), rows()),
    "turned": lambda: tf.einsum("ijk->ki", rows(2, 3)),
    "three": lambda: tf.einsum("ij,jk,kl->il", given(2, 3), given(3, 4), rows(5)),
    "softmax": lambda: tf.nn.softmax(rows(5, 3), axis=1),
    "crossentropy": lambda: tf.nn.softmax_cross_entropy_with_logits_v2(
        labels=rows(5, 3), logits=rows(5, 3), axis=1
    ),
    "eye": lambda: tf.eye(3),
    "eye-oblong": lambda: tf.eye(3, 4),
    "eye-unknown": lambda: tf.eye(tf.shape(rows(3))[0]),
    "trace": lambda: tf.trace(given(3, 3)),
    "values": lambda: tf.one_hot([1, 2], 3, on_value=2.0, off_value=0.5),
    "averages": lambda: average(),
    "averages-counted": lambda: average(num_updates=tf.train.get_or_create_global_step()),
    "given-weights": lambda: tf.get_variable("w", initializer=[1.0, 2.0], dtype=tf.float32),
    "copied": lambda: tf.Variable(tf.Variable([1.0]).initialized_value() * 2.0),
    "decoder": lambda: decoded(fed),
    "likeliest": lambda: decoded(likeliest),
    "drawn": lambda: decoded(drawn),
    "scheduled": lambda: decoded(scheduled),
    "scheduled-outputs": lambda: decoded(scheduled_outputs),
    "luong": lambda: decoded(fed, luong),
    "both-ways": looped_both_ways,
    "cloned": lambda: cloned(rows(4)),
    "cloned-known": lambda: cloned(given(2, 4)),
    "cell-of-cudnn": cell_of_cudnn,
    "bahdanau": lambda: decoded(likeliest, bahdanau, attention_layer_size=4),
    "monotonic": lambda: decoded(fed, monotonic),
    "update-gate": lambda: unrolled(lambda: tf.contrib.rnn.UGRNNCell(4)),
    "intersection": lambda: looped(lambda: tf.contrib.rnn.IntersectionRNNCell(3)),
    "normalized": lambda: looped(normalized),
    "normalized-unrolled": lambda: unrolled(normalized),
    "variational": lambda: looped(variational),
    "block": lambda: looped(lambda: tf.contrib.rnn.LSTMBlockCell(4)),
    "block-peepholes": lambda: unrolled(lambda: tf.contrib.rnn.LSTMBlockCell(4, use_peephole=True)),
    "block-gru": lambda: looped(lambda: tf.contrib.rnn.GRUBlockCellV2(4)),
    "attention-cell": lambda: looped(looking_back),
    "attention-unrolled": lambda: unrolled(looking_back),
    "decided": lambda: decided(rows(3), rows(4)),
    "decided-known": lambda: decided(given(2, 3), given(2, 4)),
    "mapped": lambda: tf.map_fn(lambda x: x + 1.0, rows(3)),
    "mapped-known": lambda: tf.map_fn(lambda x: x + 1.0, given(2, 3)),
    "mapped-pairs": lambda: tf.map_fn(lambda x: (x, x), rows(3), (tf.float32, tf.float32)),
    "batches": lambda: (batches("a"), tf.random_normal([2])),
    "batches-two": lambda: (batches("a", "b"), tf.random_normal([2])),
    "sequence-loss": lambda: sequence_loss(),
    "sequence-losses": lambda: sequence_loss(average_across_timesteps=False),
    "translated": lambda: translated(),
    "buckets": lambda: column(
        lambda: [columns.bucketized_column(columns.numeric_column("a"), [1, 2])], a=rows(1)
    ),
    "embedded-words": lambda: column(
        lambda: [
            columns.embedding_column(
                columns.categorical_column_with_vocabulary_list("a", ["x", "y"]), 3
            )
        ],
        a=words(),
    ),
    "embedded-numbers": lambda: column(
        lambda: [columns.embedding_column(columns.categorical_column_with_identity("a", 5), 3)],
        a=numbers(),
    ),
    "crossed": lambda: column(
        lambda: [columns.indicator_column(columns.crossed_column(["a", "b"], 5))],
        a=words(),
        b=words(),
    ),
}
#: The number of nodes, then the seeds of the random ops among them.
NUM_NODES = {
    "sorted": [11],
    "sorted-down": [9],
    "order": [10],
    "order-of-columns": [12],
    "flip-photo": [26],
    "random-flip-photo": [42, 27],
    "random-flip-photos": [49, 32],
    "transpose-photo": [26],
    "middle-photo": [59],
    "middle-photos": [27],
    "window-photo": [42],
    "window-photos": [29],
    "padded-photo": [53],
    "padded-photos": [30],
    "fitted-photo": [177],
    "fitted-photos": [86],
    "fitted-unknown-photos": [176],
    "standard-photo": [46],
    "any-image-file": [78],
    "any-image-file-as-floats": [86],
    "random-jpeg": [13, 4],
    "noise-ratio": [37],
    "average-norm": [19],
    "weighted-moments": [18],
    "gathered-rows": [63],
    "gathered": [27],
    "confusions": [107],
    "confusions-of-any": [64],
    "pairs": [63],
    "scanned": [67],
    "scanned-back": [73],
    "gammas-known": [9, 5],
    "gammas": [9, 5],
    "segments": [14],
    "segments-of-tensor": [15],
    "precision": [46],
    "precision-weighted": [61],
    "recall-of-numbers": [48],
    "misses": [26],
    "area": [170],
    "area-of-any": [176],
    "intersections": [141],
    "rot90": [64],
    "rot90-batch": [64],
    "rot90-unknown": [86],
    "rot90-tensor": [64],
    "sobel": [21],
    "image-gradients": [35],
    "weights": [149],
    "weights-list": [150],
    "weights-scalar": [33],
    "weights-known": [34],
    "no-reduction": [11],
    "mean": [22],
    "hinge": [42],
    "classes": [150],
    "average-weights": [90],
    "matrices": [16],
    "sequences": [19],
    "heads": [30],
    "rows": [23],
    "outer": [7],
    "turned": [5],
    "three": [12],
    "softmax": [32],
    "crossentropy": [55],
    "eye": [2],
    "eye-oblong": [3],
    "eye-unknown": [14],
    "trace": [4],
    "values": [7],
    "averages": [74, 7],
    "averages-counted": [85, 11],
    "given-weights": [5],
    "copied": [31],
    "decoder": [281, 138, 152, 189],
    "likeliest": [261, 5, 121, 135, 172],
    "drawn": [298, 5, 121, 135, 172, 211],
    "scheduled": [395, 5, 149, 163, 200, 235, 273],
    "scheduled-outputs": [332, 140, 154, 191, 226],
    "luong": [487, 28, 272, 286, 387],
    "both-ways": [336, 105, 272],
    "cloned": [196, 27],
    "cloned-known": [196, 27],
    "cell-of-cudnn": [43, 30],
    "bahdanau": [472, 6, 51, 233, 247, 303, 315, 359, 375],
    "monotonic": [479, 6, 242, 256, 312, 324, 379],
    "update-gate": [63, 22],
    "intersection": [164, 89],
    "normalized": [290, 103, 216],
    "normalized-unrolled": [283, 32, 136, 247],
    "variational": [224, 9, 19, 29, 39, 151],
    "block": [144, 101],
    "block-peepholes": [73, 30, 44, 54, 64],
    "block-gru": [143, 87, 101],
    "attention-cell": [303, 131, 151, 187, 197, 211, 248],
    "attention-unrolled": [241, 52, 70, 104, 114, 127, 161],
    "decided": [130, 57, 71],
    "decided-known": [124, 51, 65],
    "mapped": [58],
    "mapped-known": [57],
    "mapped-pairs": [70],
    "batches": [25, 22],
    "batches-two": [26, 23],
    "sequence-loss": [23],
    "sequence-losses": [29],
    "translated": [230, 23, 38, 52, 109, 122, 136, 169],
    "buckets": [19],
    "embedded-words": [91, 19],
    "embedded-numbers": [120, 48],
    "crossed": [23],
}


@pytest.mark.parametrize("name", COUNTED)
def test_as_many_nodes_count_as_tensorflow_makes(name: str) -> None:
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(1)
        COUNTED[name]()
        assert [count(graph), *seeds_of(graph)] == NUM_NODES[name]


def test_sums_of_gradients_end_with_a_reshape() -> None:
    """K-FAC finds the gradient that arrived at an addition as the input of the sum behind it."""
    for shape in ([4], [1, 4], [1, 1]):
        with tf.Graph().as_default():
            x, b = given(3, 4), given(*shape)
            grad = tf.gradients(tf.tanh(tf.add(x, b, name="sum")), b)[0]
            assert grad.op.type == "Reshape" and grad.op.name.startswith("gradients/sum_grad/")
            total = grad.op.inputs[0].op
            assert total.type == "Sum" and total.inputs[0].op.name.startswith(
                "gradients/Tanh_grad/"
            )
            with tf.Session() as session:
                got = session.run(grad, {x: [[0.0] * 4] * 3, b: np.zeros(shape)})
            assert got.shape == tuple(shape) and got.sum() == 12.0


#: Nodes from one layer's first weights to the next one's, in a training: TensorFlow 1.15.5's.
BETWEEN_LAYERS: dict[str, tuple[dict[str, Any], list[int]]] = {
    "plain": ({}, [53, 53]),
    "dropout": ({"dropout": 0.5}, [24, 45, 24, 45]),
    "batch_norm": ({"batch_norm": True}, [105, 105]),
}


@pytest.mark.parametrize("name", BETWEEN_LAYERS)
@pytest.mark.parametrize("wide", [False, True])
def test_layers_of_a_canned_estimator(name: str, wide: bool) -> None:
    options, between = BETWEEN_LAYERS[name]
    columns = [tf.feature_column.numeric_column("a")]
    estimator: Any
    if wide:
        options = {"dnn_" * (key == "dropout") + key: value for key, value in options.items()}
        estimator = tf.estimator.DNNLinearCombinedClassifier(
            linear_feature_columns=[tf.feature_column.categorical_column_with_hash_bucket("s", 5)],
            dnn_feature_columns=columns,
            dnn_hidden_units=[4, 3],
            **options,
        )
    else:
        estimator = tf.estimator.DNNClassifier(
            hidden_units=[4, 3], feature_columns=columns, **options
        )
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(1)
        tf.train.create_global_step()
        features = {"a": rows(1), "s": words()}
        estimator.model_fn(features, numbers(), tf.estimator.ModeKeys.TRAIN, estimator.config)
        seeds = seeds_of(graph)
    assert [b - a for a, b in itertools.pairwise(seeds)] == between
