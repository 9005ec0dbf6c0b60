# issue 3: cross entropies and other loss ops with their gradients
logits = tf.constant([[2.0, -1.0, 0.5], [0.1, 0.2, 30.0]])
labels = tf.constant([[1.0, 0.0, 0.0], [0.2, 0.3, 0.5]])
sparse = tf.constant([0, 2])
out = {
    "softmax": tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits),
    "softmax_v2": tf.nn.softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits),
    "sparse": tf.nn.sparse_softmax_cross_entropy_with_logits(labels=sparse, logits=logits),
    "sigmoid": tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits),
    "weighted": tf.nn.weighted_cross_entropy_with_logits(labels, logits, 2.0),
    "log_poisson": tf.nn.log_poisson_loss(labels, logits),
    "l2": tf.nn.l2_loss(logits),
    "three_d": tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=[[0, 1]], logits=tf.reshape(logits, [1, 2, 3])
    ),
    "by_hand": tf.reduce_mean(
        -tf.reduce_sum(labels * tf.log(tf.nn.softmax(logits)), reduction_indices=[1])
    ),
}
with tf.Session() as sess:
    for key, value in out.items():
        result[key] = [sess.run(value), sess.run(tf.gradients(value, logits)[0])]
        result[key + "_name"] = value.name
        result[key + "_shape"] = shape_of(value)
    result["labels_gradient_v1"] = tf.gradients(out["softmax"], labels)[0] is None
    result["labels_gradient_v2"] = sess.run(tf.gradients(out["softmax_v2"], labels)[0])
    result["label_range"] = error_of(
        lambda: sess.run(
            tf.nn.sparse_softmax_cross_entropy_with_logits(
                labels=tf.placeholder_with_default([5, 0], [2]), logits=logits
            )
        )
    )
    ctc = tf.nn.ctc_loss(
        tf.SparseTensor([[0, 0], [0, 1]], [0, 1], [1, 2]),
        tf.constant(np.cos(np.arange(12)).reshape(4, 1, 3), tf.float32),
        [4],
    )
    result["ctc"] = sess.run(ctc)
    decoded, score = tf.nn.ctc_greedy_decoder(
        tf.constant(np.cos(np.arange(12)).reshape(4, 1, 3), tf.float32), [4]
    )
    result["greedy"] = sess.run([decoded[0].values, score])
result["positional"] = error_of(lambda: tf.nn.softmax_cross_entropy_with_logits(logits, labels))
result["positional_sparse"] = error_of(
    lambda: tf.nn.sparse_softmax_cross_entropy_with_logits(logits, sparse)
)
result["shape"] = error_of(
    lambda: tf.nn.softmax_cross_entropy_with_logits_v2(labels=labels[:, :2], logits=logits)
)
result["rank"] = error_of(
    lambda: tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
)
result["float_labels"] = error_of(
    lambda: tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[0.0, 1.0], logits=logits)
)
