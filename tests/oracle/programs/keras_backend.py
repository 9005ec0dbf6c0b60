# issue 16: tf.keras.backend: what layers and losses of one's own are made of
K = tf.keras.backend
rng = np.random.RandomState(0)


def normal(*shape):
    return rng.randn(*shape).astype("float32")


def show(name, tensor):
    result[name] = K.eval(tensor)
    result[name + "_shape"] = shape_of(tensor)


# Variables and arrays.
v = K.variable(normal(2, 3))
start = K.eval(v)
show("update", K.update(v, start + 1))
show("update_add", K.update_add(v, K.constant(np.ones((2, 3)))))
show("update_sub", K.update_sub(v, K.constant(np.ones((2, 3)))))
result["zeros_ones_eye"] = [K.eval(K.zeros((2, 2))), K.eval(K.ones((1, 3))), K.eval(K.eye(2))]
show("arange", K.arange(5))
show("arange_step", K.arange(1, 7, 2, "float32"))
show("repeat", K.repeat(K.constant(normal(2, 3)), 4))
show("repeat_elements", K.repeat_elements(K.constant(normal(2, 3)), 3, 1))
show("cumsum", K.cumsum(K.constant(normal(2, 3)), axis=1))
show("cumprod", K.cumprod(K.constant(normal(2, 3)), axis=0))
show(
    "in_top_k",
    K.in_top_k(K.constant([[1.0, 2.0, 3.0], [3.0, 1.0, 2.0]]), K.constant([2, 1], "int32"), 1),
)
show("greater_equal", K.greater_equal(K.constant([1.0, 2.0]), K.constant([2.0, 2.0])))
show("foldl", K.foldl(lambda a, x: a + 2 * x, K.constant(normal(4))))
show("map_fn", K.map_fn(lambda x: x * x, K.constant(normal(4))))
for name, x, y, axes in (
    ("matrices", normal(3, 4, 5), normal(3, 5, 2), None),
    ("axes", normal(3, 4, 5), normal(3, 2, 4), (1, 2)),
    ("vectors", normal(3, 4), normal(3, 4), 1),
    ("vector_matrix", normal(3, 4), normal(3, 4, 2), (1, 1)),
    ("matrix_vector", normal(3, 4, 5), normal(3, 5), (2, 1)),
):
    show("batch_dot_" + name, K.batch_dot(K.constant(x), K.constant(y), axes))

# Padding, resizing, convolutions.
image, kernel = K.constant(normal(2, 5, 6, 3)), K.constant(normal(3, 3, 3, 4))
series, volume = K.constant(normal(2, 7, 3)), K.constant(normal(1, 4, 4, 4, 2))
show("temporal_padding", K.temporal_padding(series, (1, 2)))
show("spatial_2d_padding", K.spatial_2d_padding(image, ((1, 0), (2, 1))))
show("spatial_2d_padding_first", K.spatial_2d_padding(image, ((1, 0), (2, 1)), "channels_first"))
show("spatial_3d_padding", K.spatial_3d_padding(volume))
show("resize_nearest", K.resize_images(image, 2, 3, "channels_last"))
show("resize_first", K.resize_images(image, 2, 2, "channels_first"))
show("resize_volumes", K.resize_volumes(volume, 2, 1, 2, "channels_last"))
show("conv1d", K.conv1d(series, K.constant(normal(3, 3, 2)), strides=2, padding="same"))
show(
    "conv1d_causal",
    K.conv1d(series, K.constant(normal(3, 3, 2)), padding="causal", dilation_rate=2),
)
show("conv2d", K.conv2d(image, kernel, strides=(2, 1), padding="same"))
show("conv2d_dilated", K.conv2d(image, kernel, dilation_rate=(2, 2), padding="same"))
show("conv3d", K.conv3d(volume, K.constant(normal(2, 2, 2, 2, 3))))
show(
    "conv2d_transpose",
    K.conv2d_transpose(image, K.constant(normal(3, 3, 2, 3)), (2, 10, 12, 2), (2, 2), "same"),
)
show("depthwise_conv2d", K.depthwise_conv2d(image, K.constant(normal(3, 3, 3, 2)), padding="same"))
show(
    "separable_conv2d",
    K.separable_conv2d(image, K.constant(normal(3, 3, 3, 2)), K.constant(normal(1, 1, 6, 4))),
)
show(
    "local_conv1d", K.local_conv1d(series, K.constant(normal(3, 9, 2)), (3,), (2,), "channels_last")
)
show(
    "local_conv2d",
    K.local_conv2d(image, K.constant(normal(9, 18, 2)), (3, 2), (1, 2), (3, 3), "channels_last"),
)
show("pool2d_max", K.pool2d(image, (2, 2), (2, 2)))
show("pool2d_avg", K.pool2d(image, (2, 2), padding="same", pool_mode="avg"))
show("pool3d", K.pool3d(volume, (2, 2, 2), (2, 2, 2)))
show("bias_add", K.bias_add(image, K.constant(normal(3))))
show("bias_add_first", K.bias_add(image, K.constant(normal(5)), "channels_first"))
show("bias_add_whole", K.bias_add(image, K.constant(normal(5, 6, 3))))

# Normalization and losses.
normalized, mean, variance = K.normalize_batch_in_training(
    image, K.constant(normal(3)), K.constant(normal(3)), [0, 1, 2]
)
result["normalized"] = [K.eval(normalized), K.eval(mean), K.eval(variance)]
normalized, _, _ = K.normalize_batch_in_training(
    image, K.constant(normal(5)), K.constant(normal(5)), [0, 2, 3]
)
show("normalized_axis_1", normalized)
show(
    "batch_normalization",
    K.batch_normalization(image, *(K.constant(abs(normal(3))) for _ in range(4))),
)
probabilities = K.softmax(K.constant(normal(4, 3)))
show(
    "sparse_crossentropy",
    K.sparse_categorical_crossentropy(K.constant([0, 2, 1, 1], "int64"), probabilities),
)
show(
    "sparse_crossentropy_logits",
    K.sparse_categorical_crossentropy(
        K.constant([[0, 2], [1, 1]], "int64"), K.constant(normal(2, 2, 3)), True
    ),
)

# CTC.
steps = K.softmax(K.constant(normal(2, 6, 4)))
labels = K.constant([[1, 2, 0], [0, 0, 0]], "int32")
cost = K.ctc_batch_cost(
    labels, steps, K.constant([[6], [5]], "int32"), K.constant([[3], [1]], "int32")
)
result["ctc_batch_cost"] = K.eval(cost)
sparse = K.ctc_label_dense_to_sparse(labels, K.constant([3, 1], "int32"))
result["ctc_labels"] = [K.eval(sparse.indices), K.eval(sparse.values)]
paths, scores = K.ctc_decode(steps, K.constant([6, 5], "int32"))
# 2.15 fills up to the number of steps, TensorFlow 1 to the longest path.
result["ctc_greedy"] = [K.eval(paths[0])[:, :3], K.eval(scores)]
paths, scores = K.ctc_decode(
    steps, K.constant([6, 5], "int32"), greedy=False, beam_width=10, top_paths=2
)
result["ctc_beam"] = [K.eval(paths[0])[:, :3], K.eval(paths[1])[:, :3], K.eval(scores)]


# Recurrences.
def step(x, states):
    h = K.tanh(
        K.dot(x, matrix) + K.dot(states[0], square) + (states[2] if len(states) > 2 else 0.0)
    )
    return h * 2.0, [h, states[1] + 1.0]


matrix, square = K.constant(normal(3, 4)), K.constant(normal(4, 4))
sequence = K.constant(normal(2, 5, 3))
initial = [K.constant(np.zeros((2, 4))), K.constant(np.zeros((2, 1)))]
mask = tf.constant(np.array([[1, 1, 1, 0, 0], [1, 0, 1, 1, 1]], bool))
for name, kwargs in (
    ("plain", {}),
    ("backwards", {"go_backwards": True}),
    ("masked", {"mask": mask}),
    ("masked_zero", {"mask": mask, "zero_output_for_mask": True}),
    ("unrolled", {"unroll": True}),
    ("unrolled_masked", {"unroll": True, "mask": mask, "go_backwards": True}),
    ("constants", {"constants": [K.constant(normal(2, 4))]}),
):
    last, outputs, states = K.rnn(step, sequence, initial, **kwargs)
    result["rnn_" + name] = [K.eval(t) for t in (last, outputs, *states)]
    result["rnn_" + name + "_shape"] = shape_of(outputs)

# The learning phase.
x = K.constant(1.0)
K.set_learning_phase(1)
result["phases"] = [K.eval(K.in_train_phase(x, x * 2)), K.eval(K.in_test_phase(x, x * 2))]
with K.learning_phase_scope(0):
    result["phases"].append(K.eval(K.in_train_phase(x, x * 2)))
result["errors"] = [
    error_of(lambda: K.pool2d(image, (2, 2), pool_mode="median")),
    error_of(lambda: K.conv2d(image, kernel, padding="full")),
    error_of(lambda: K.bias_add(image, K.constant(normal(5, 3)))),
]
