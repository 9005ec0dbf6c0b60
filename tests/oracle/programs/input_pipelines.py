# issue 3: producers, batch, shuffle_batch and friends
def run(outputs, times):
    with tf.Session() as sess:
        sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coord)
        got = []
        try:
            for _ in range(times):
                got.append(sess.run(outputs))
        except tf.errors.OutOfRangeError:
            got.append("end")
        coord.request_stop()
        coord.join(threads, stop_grace_period_secs=5)
    return got


def fresh(build, times):
    tf.reset_default_graph()
    return run(build(), times)


images = np.arange(12.0).reshape(6, 2).astype(np.float32)
labels = np.arange(6)
result["range"] = fresh(lambda: tf.train.range_input_producer(4, shuffle=False).dequeue(), 6)
result["range_epochs"] = fresh(
    lambda: tf.train.range_input_producer(2, num_epochs=2, shuffle=False).dequeue(), 9
)
result["slice"] = fresh(lambda: tf.train.slice_input_producer([images, labels], shuffle=False), 3)
result["slice_batch"] = fresh(
    lambda: tf.train.batch(
        tf.train.slice_input_producer([images, labels], shuffle=False, num_epochs=1), 4
    ),
    2,
)
result["smaller"] = fresh(
    lambda: tf.train.batch(
        tf.train.slice_input_producer([images, labels], shuffle=False, num_epochs=1),
        4,
        allow_smaller_final_batch=True,
    ),
    3,
)
result["dict"] = fresh(
    lambda: tf.train.batch({"x": tf.train.range_input_producer(4, shuffle=False).dequeue()}, 2), 2
)
result["enqueue_many"] = fresh(
    lambda: tf.train.batch([tf.constant(images)], 3, enqueue_many=True), 2
)
shuffled = fresh(
    lambda: tf.train.shuffle_batch(
        [tf.train.range_input_producer(12, num_epochs=1, shuffle=False).dequeue()],
        4,
        capacity=20,
        min_after_dequeue=6,
        seed=1,
    ),
    3,
)
result["shuffled"] = [
    sorted(int(v) for batch in shuffled for v in batch),
    [list(b.shape) for b in shuffled],
]
padded = fresh(
    lambda: tf.train.batch(
        [tf.range(tf.train.range_input_producer(4, shuffle=False).dequeue())], 4, dynamic_pad=True
    ),
    1,
)
result["padded"] = padded
joined = fresh(lambda: tf.train.batch_join([[tf.constant(1)], [tf.constant(1)]], 3), 1)
result["joined"] = joined
result["maybe"] = [
    len(g) for g in fresh(lambda: tf.train.maybe_batch([tf.constant(5)], True, 2), 1)
]
result["limit"] = fresh(lambda: tf.train.limit_epochs(tf.constant(3), 2), 5)
result["input_producer"] = fresh(
    lambda: tf.train.input_producer(tf.constant([[1, 2], [3, 4]]), shuffle=False).dequeue(), 3
)
tf.reset_default_graph()
queue = tf.train.string_input_producer(["x", "y"], shuffle=False, name="files")
result["names"] = [queue.name.split("/")[0], len(tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS))]
result["empty"] = error_of(lambda: run(tf.train.string_input_producer([]).dequeue(), 1))
result["static"] = [
    shape_of(tf.train.batch([tf.zeros([2])], 3)),
    shape_of(tf.train.batch([tf.zeros([2])], 3, allow_smaller_final_batch=True)),
]
