# issue 16: elements of TensorArrays that were never written
"""Group 26: TensorArrays: unwritten elements, split by int32 lengths."""


def run(fetches):
    with tf.Session() as sess:
        return sess.run(fetches)


TensorArray = tf.TensorArray
written = TensorArray(tf.float32, 3, clear_after_read=False).write(0, [1.0, 2.0])
result["unwritten"] = run([written.read(1), written.stack()])
array = TensorArray(tf.float32, 2, element_shape=[2]).write(0, [1.0, 2.0])
result["told"] = run(array.stack())
result["nothing_known"] = error_of(lambda: run(TensorArray(tf.float32, 2).stack()))
result["outside"] = error_of(lambda: run(TensorArray(tf.float32, 2, element_shape=[]).read(2)))
for kind in (tf.int32, tf.int64):
    if kind is tf.int32:
        pieces = TensorArray(tf.float32, 2, infer_shape=False)
        result["pieces"] = run(pieces.split([1.0, 2.0, 3.0], tf.constant([1, 2], kind)).read(1))
pieces = TensorArray(tf.float32, 2, infer_shape=False).split([1.0, 2.0, 3.0], [1, 2])
result["joined"] = run(pieces.concat())
twice = TensorArray(tf.float32, 2).write(0, 1.0)
result["twice_written"] = error_of(lambda: run(twice.write(0, 2.0).read(0)))
once = TensorArray(tf.float32, 1).write(0, 1.0)
first = once.read(0)
with tf.control_dependencies([first]):
    second = once.read(0)
result["twice_read"] = error_of(lambda: run(second))
result["other_shape"] = error_of(lambda: TensorArray(tf.float32, 2).write(0, 1.0).write(1, [1.0]))
result["other_type"] = error_of(lambda: TensorArray(tf.float32, 2).write(0, 1))
growing = TensorArray(tf.int32, 0, dynamic_size=True).write(3, 7)
result["growing"] = error_of(lambda: run(growing.size()))
x = tf.constant([1.0, 2.0, 3.0])
unstacked = TensorArray(tf.float32, 3).unstack(x * x)
result["gradient"] = run(tf.gradients(unstacked.stack() * x, x)[0])
result["gathered"] = run(TensorArray(tf.float32, 3).unstack(x).gather([2, 0]))
result["scattered"] = run(TensorArray(tf.float32, 3).scatter([2, 0, 1], x).stack())
result["shapes"] = [shape_of(array.read(0)), shape_of(array.stack()), shape_of(growing.stack())]
