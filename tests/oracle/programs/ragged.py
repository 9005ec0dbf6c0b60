# issue 16: ragged tensors: made, indexed, computed with, reduced, joined, fed and fetched

rt = tf.ragged.constant([[3, 1, 4], [], [5, 9], [2]], name="rt")
deep = tf.ragged.constant([[[1], [2, 3]], [], [[4, 5, 6]]], dtype=tf.float32)
words = tf.ragged.constant([["a", "bb"], [], ["ccc"]])
pairs = tf.ragged.constant([[[1, 2], [3, 4]], [], [[5, 6]]], ragged_rank=1)
values = [1.0, 2.0, 3.0, 4.0, 5.0]


def lists(value):
    """A RaggedTensorValue as lists; text as it is read."""
    found = value.to_list() if hasattr(value, "to_list") else value
    if isinstance(found, np.ndarray):
        found = found.tolist()
    return str(found)


with tf.Session() as sess:

    def run(tensor):
        return lists(sess.run(tensor))

    result["shapes"] = [
        str(t.shape)
        for t in (rt, deep, words, pairs, tf.RaggedTensor.from_row_splits(values, [0, 2, 5]))
    ]
    result["dtypes"] = [rt.dtype.name, deep.dtype.name, rt.row_splits.dtype.name, rt.ragged_rank]
    result["made"] = [
        run(tf.RaggedTensor.from_row_splits(values, [0, 2, 2, 5])),
        run(tf.RaggedTensor.from_row_lengths(values, [1, 0, 4])),
        run(tf.RaggedTensor.from_value_rowids(values, [0, 0, 2, 2, 3])),
        run(tf.RaggedTensor.from_value_rowids(values, [0, 0, 2, 2, 3], nrows=6)),
        run(tf.RaggedTensor.from_row_starts(values, [0, 3, 3])),
        run(tf.RaggedTensor.from_row_limits(values, [2, 2, 5])),
        run(tf.RaggedTensor.from_nested_row_splits(values, [[0, 1, 3], [0, 2, 2, 5]])),
        run(tf.RaggedTensor.from_nested_row_lengths(values, [[1, 2], [2, 0, 3]])),
        run(tf.RaggedTensor.from_tensor([[1, 2, 0], [0, 3, 0], [0, 0, 0]], padding=0)),
        run(tf.RaggedTensor.from_tensor([[1, 2, 0], [0, 3, 0]], lengths=[1, 3])),
        run(tf.RaggedTensor.from_tensor(np.arange(12).reshape(2, 3, 2), ragged_rank=2)),
        run(
            tf.RaggedTensor.from_sparse(
                tf.SparseTensor([[0, 0], [2, 0], [2, 1]], [7, 8, 9], [4, 3])
            )
        ),
        run(tf.ragged.range([3, 0, 2], [5, 0, 9], [1, 1, 3])),
        run(tf.ragged.range([2, 0, 3])),
        run(tf.ragged.range([5, 4], 0, -2)),
    ]
    result["parts"] = [
        run(t)
        for t in (
            *(rt.row_lengths(), rt.value_rowids(), rt.row_starts(), rt.row_limits(), rt.nrows()),
            *(deep.row_lengths(axis=2), deep.bounding_shape(), deep.flat_values),
            *(*deep.nested_row_splits, *deep.nested_row_lengths(), pairs.bounding_shape()),
        )
    ]
    result["dense"] = [
        run(rt.to_tensor()),
        run(rt.to_tensor(-1)),
        run(words.to_tensor()),
        run(words.to_tensor("?")),
        run(deep.to_tensor()),
        run(pairs.to_tensor()),
    ]
    result["sparse"] = [[part.tolist() for part in sess.run(t.to_sparse())] for t in (rt, deep)]
    result["indices"] = [
        run(t)
        for t in (
            *(rt[0], rt[1], rt[-1], rt[2, 1], rt[1:3], rt[::2], rt[:, :1], rt[:, 1:], rt[:, -2:]),
            *(rt[:, ::2], rt[-2:, :-1], deep[0], deep[0, 1], deep[0, 1, 0], deep[:, :, :1]),
            *(deep[:, 1:], deep[2:, 0:1, 1:], pairs[:, :, 0], pairs[0, 1], pairs[..., 1], words[2]),
        )
    ]
    result["inner index"] = error_of(lambda: rt[:, 0])
    result["elementwise"] = [
        run(t)
        for t in (
            *(
                rt + 1,
                2 * rt,
                rt * rt,
                -rt,
                rt - tf.constant(1),
                tf.square(deep),
                tf.exp(deep * 0.0),
            ),
            *(rt > 2, tf.equal(rt, 9), tf.maximum(rt, 3), tf.cast(rt, tf.float32) / 2.0, rt % 2),
            *(tf.add(deep, deep), tf.abs(-deep), tf.where(rt > 2, rt, rt * 0), tf.zeros_like(rt)),
            *(rt + tf.constant([[10], [20], [30], [40]]), tf.logical_not(rt > 2), 1.0 / deep),
            *(
                tf.ragged.map_flat_values(tf.one_hot, rt, 3),
                tf.ragged.map_flat_values(tf.strings.length, words),
            ),
        )
    ]
    result["other rows"] = error_of(
        lambda: sess.run(rt + tf.ragged.constant([[1], [2, 3, 4], [], [5, 6]]))
    )
    result["reduced"] = [
        run(t)
        for t in (
            *(tf.reduce_sum(rt), tf.reduce_sum(rt, axis=0), tf.reduce_sum(rt, axis=1)),
            *(tf.reduce_max(rt, axis=0), tf.reduce_min(rt, 1), tf.reduce_prod(rt, axis=-1)),
            *(
                tf.reduce_sum(deep, axis=2),
                tf.reduce_sum(deep, axis=1),
                tf.reduce_sum(deep, axis=0),
            ),
            *(tf.reduce_sum(deep, [1, 2]), tf.reduce_mean(deep, axis=2), tf.reduce_mean(deep)),
            *(tf.reduce_any(rt > 3, axis=1), tf.reduce_all(rt > 1, axis=1)),
        )
    ]
    result["joined"] = [
        run(t)
        for t in (
            *(tf.concat([rt, rt * 10], 0), tf.concat([rt, rt * 10], 1), tf.concat([deep, deep], 2)),
            *(tf.concat([rt, tf.constant([[7, 7]])], axis=0), tf.stack([rt, rt], 0)),
            *(tf.ragged.stack([rt[0], rt[2]]), tf.stack([rt, rt], axis=1), tf.expand_dims(rt, 0)),
            *(tf.expand_dims(rt, 1), tf.expand_dims(rt, -1), tf.ragged.stack([[1, 2], [3]])),
            *(tf.gather(rt, [2, 0, 0]), tf.gather(deep, [2, 0]), tf.gather(rt, [[0, 1], [3, 0]])),
            tf.gather(tf.constant([10, 20, 30, 40, 50, 60, 70, 80, 90, 95]), rt),
            tf.ragged.boolean_mask(
                rt, tf.ragged.constant([[True, False, True], [], [False, True], [True]])
            ),
            tf.ragged.boolean_mask([[1, 2], [3, 4]], [[True, False], [True, True]]),
            tf.ragged.boolean_mask(rt, [True, True, False, True]),
            tf.ragged.stack_dynamic_partitions(["a", "b", "c", "d"], [2, 0, 2, 1], 4),
            tf.ragged.row_splits_to_segment_ids([0, 3, 3, 5]),
            tf.ragged.segment_ids_to_row_splits([0, 0, 0, 2, 2]),
        )
    ]
    fed = tf.ragged.placeholder(tf.float32, 1, [])
    fed2 = tf.ragged.placeholder(tf.int32, 2, [])
    result["fed"] = [
        lists(
            sess.run(fed * 2.0, {fed: tf.ragged.constant_value([[1.0], [2.0, 3.0]], np.float32)})
        ),
        lists(sess.run(fed2, {fed2: tf.ragged.constant_value([[[1], []], [[2, 3]]], np.int32)})),
        str(fed.shape),
        str(fed2.shape),
    ]
    weights = tf.constant(np.arange(20, dtype=np.float32).reshape(10, 2))
    looked_up = tf.nn.embedding_lookup(weights, rt)
    total = tf.reduce_sum(looked_up.to_tensor() * tf.constant([1.0, 2.0]))
    gradient = tf.gradients(total, weights)[0]
    result["gradient"] = sess.run([total, tf.convert_to_tensor(gradient)])
    result["too deep"] = error_of(lambda: tf.ragged.constant([[1, [2]], [3]]))
    result["to_list"] = error_of(lambda: rt.to_list())
