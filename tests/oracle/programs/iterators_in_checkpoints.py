# issue 16: iterators that a Saver saves and restores, and which datasets it refuses
import os
import tempfile

folder = tempfile.mkdtemp()
Dataset = tf.data.Dataset
datasets = {
    "range": lambda: Dataset.range(2, 8),
    "repeat": lambda: Dataset.range(3).repeat(2),
    "pairs": lambda: Dataset.range(5).map(lambda x: (x, x * 2)),
    "batches": lambda: Dataset.range(7).batch(2),
    "interleave": lambda: Dataset.range(3).interleave(
        lambda x: Dataset.range(x, x + 2), cycle_length=2
    ),
}
result = {}
for name, make in datasets.items():
    with tf.Graph().as_default():
        iterator = tf.data.make_initializable_iterator(make())
        element = iterator.get_next()
        saver = tf.train.Saver([tf.data.experimental.make_saveable_from_iterator(iterator)])
        found = []
        with tf.Session() as sess:
            sess.run(iterator.initializer)
            sess.run(element)
            path = saver.save(sess, os.path.join(folder, name))
            first = [sess.run(element), sess.run(element)]
            saver.restore(sess, path)
            again = [sess.run(element), sess.run(element)]
        plain = lambda value: tf.nest.map_structure(lambda array: array.tolist(), value)
        result[name] = [str(plain(first)), str(plain(again))]

with tf.Graph().as_default():
    numbers = Dataset.range(5).map(lambda x: tf.random_uniform([]))
    iterator = tf.data.make_initializable_iterator(numbers)
    saver = tf.train.Saver([tf.data.experimental.make_saveable_from_iterator(iterator)])
    with tf.Session() as sess:
        sess.run(iterator.initializer)
        try:
            saver.save(sess, os.path.join(folder, "state"))
            result["state"] = "saved"
        # The first as in TensorFlow 1.15, the second in later ones.
        except (tf.errors.InvalidArgumentError, tf.errors.FailedPreconditionError):
            result["state"] = "refused"
