# issue 3: sets, quantization, signal framing, bitcasts
with tf.Session() as sess:
    a = tf.constant([[1, 2], [3, 4]])
    b = tf.constant([[2, 9], [3, 4]])
    result["intersection"] = sess.run(tf.sets.set_intersection(a, b))
    result["difference"] = sess.run(tf.sets.set_difference(a, b))
    result["union"] = sess.run(tf.sets.set_union(a, b))
    result["size"] = sess.run(tf.sets.set_size(tf.sets.set_intersection(a, b)))
    result["frame"] = sess.run(tf.signal.frame(tf.range(7.0), 3, 2))
    result["hann"] = sess.run(tf.signal.hann_window(5))
    result["clip"] = sess.run(tf.clip_by_value([1, 5, 9], 2, 6))
    result["fake_quant"] = sess.run(tf.fake_quant_with_min_max_vars([0.3, 9.0], 0.0, 6.0))
    result["quantize"] = (
        sess.run(tf.quantize_v2([0.0, 0.5, 1.0], 0.0, 1.0, tf.quint8)) if False else None
    )
    result["lower"] = sess.run(tf.linalg.band_part(tf.ones([3, 3]), -1, 0))
    result["tensor_diag"] = sess.run(tf.linalg.tensor_diag([1.0, 2.0]))
    result["reduce_weighted"] = sess.run(tf.math.reduce_logsumexp([0.0, 0.0]))
    result["expm"] = sess.run(tf.linalg.expm([[0.0, 1.0], [0.0, 0.0]]))
    result["matvec"] = sess.run(tf.linalg.matvec([[1.0, 2.0]], [3.0, 4.0]))
    result["adjoint"] = sess.run(tf.linalg.adjoint(tf.constant([[1 + 1j, 2]], tf.complex64)))
    result["global"] = (
        sess.run(tf.linalg.global_norm([[3.0], [4.0]]))
        if hasattr(tf.linalg, "global_norm")
        else None
    )
