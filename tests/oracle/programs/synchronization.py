# issue 3: critical sections, barriers and accumulators
section = tf.CriticalSection(name="section")
v = tf.Variable(0.0)
guarded = section.execute(lambda: tf.assign_add(v, 1.0) + 0.0)
accumulator = tf.ConditionalAccumulator(tf.float32, shape=[2], name="accumulator")
apply1 = accumulator.apply_grad([1.0, 2.0], local_step=0)
apply2 = accumulator.apply_grad([3.0, 6.0], local_step=0)
taken = accumulator.take_grad(2)
sparse = tf.SparseConditionalAccumulator(tf.float32, shape=[4, 1])
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    result["guarded"] = [sess.run(guarded), sess.run(guarded)]
    sess.run(apply1)
    sess.run(apply2)
    result["count"] = sess.run(accumulator.num_accumulated())
    result["mean"] = sess.run(taken)
    result["count_after"] = sess.run(accumulator.num_accumulated())
    sess.run(accumulator.set_global_step(5))
    sess.run(apply1)
    result["stale_dropped"] = sess.run(accumulator.num_accumulated())
    sess.run(
        sparse.apply_indexed_slices_grad(
            tf.IndexedSlices(
                tf.constant([[1.0], [3.0]]),
                tf.constant([0, 2], tf.int64),
                tf.constant([4, 1], tf.int64),
            )
        )
    )
    sess.run(
        sparse.apply_indexed_slices_grad(
            tf.IndexedSlices(
                tf.constant([[5.0]]), tf.constant([2], tf.int64), tf.constant([4, 1], tf.int64)
            )
        )
    )
    got = sess.run(sparse.take_indexed_slices_grad(2))
    result["sparse"] = [np.asarray(got.indices), np.asarray(got.values)]
