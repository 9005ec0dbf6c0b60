# issue 16: with as_tensorflow the seed of an op draws TensorFlow's own numbers
if hasattr(tf, "as_tensorflow"):
    from dataflow.tensorflow_numbers import draw_as_tensorflow

    draw_as_tensorflow()


def two_runs(make):
    tf.reset_default_graph()
    tf.set_random_seed(42)
    op = make()
    with tf.Session() as session:
        return [session.run(op).tolist() for _ in range(2)]


for kind in (tf.random_normal, tf.random_uniform, tf.truncated_normal):
    for dtype in (tf.float32, tf.float64, tf.float16):
        for shape in ([0], [3], [5, 7]):
            name = f"{kind.__name__.strip('_')} {dtype.name} {shape}"
            result[name] = two_runs(lambda: kind(shape, seed=7, dtype=dtype))
for dtype, low, high in ((tf.int32, -5, 1000), (tf.int64, 0, 2**40)):
    result[f"whole {dtype.name}"] = two_runs(
        lambda: tf.random_uniform([9], low, high, dtype, seed=3)
    )
result["order"] = two_runs(lambda: tf.random_shuffle(tf.range(20), seed=5))
result["order of rows"] = two_runs(
    lambda: tf.random_shuffle(tf.reshape(tf.range(12), [6, 2]), seed=5)
)
result["nothing to order"] = two_runs(lambda: tf.random_shuffle([3], seed=5))
result["classes"] = two_runs(lambda: tf.multinomial([[0.5, 1.0, -1.0], [2.0, 0.0, 1.0]], 6, seed=2))
result["dropout"] = two_runs(lambda: tf.nn.dropout(tf.ones([30]), 0.6, seed=8))
