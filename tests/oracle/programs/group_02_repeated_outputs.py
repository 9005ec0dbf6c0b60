# issue 16: Dataset.map that returns one tensor twice
"""Group 2: Dataset.map that returns one tensor twice."""


def elements(dataset, count):
    value = tf.data.make_initializable_iterator(dataset)
    element = value.get_next()
    with tf.Session() as sess:
        sess.run([tf.tables_initializer(), value.initializer])
        return [sess.run(element) for _ in range(count)]


numbers = tf.data.Dataset.from_tensor_slices([1, 2, 3])
result["map_twice"] = elements(numbers.map(lambda x: (x, x)), 3)
result["map_dict"] = elements(numbers.map(lambda x: {"a": x, "b": x}), 2)
result["map_computed"] = elements(numbers.map(lambda x: (lambda y: (y, y))(x + 1)), 2)
result["map_three"] = elements(
    tf.data.Dataset.zip((numbers, numbers.map(lambda x: x * x))).map(lambda a, b: (b, a, a)), 3
)
result["map_batch"] = elements(numbers.map(lambda x: (x, x)).batch(2), 2)
result["shuffled"] = elements(numbers.map(lambda x: [x, x]).batch(3), 1)
result["parallel"] = elements(numbers.map(lambda x: (x, x, x), num_parallel_calls=2), 3)
result["nested"] = elements(numbers.map(lambda x: (x, (x, {"k": x}))), 1)
twice = numbers.map(lambda x: (x, x))
result["types"] = [t.name for t in tf.data.get_output_types(twice)]
result["shapes"] = [shape_of(t) for t in tf.data.get_output_shapes(twice)]
constant = tf.constant(7)
result["captured"] = elements(numbers.map(lambda x: (constant, constant, x)), 2)
result["filtered"] = elements(twice.filter(lambda a, b: tf.equal(a, b)), 3)
result["flat_map"] = elements(
    twice.flat_map(lambda a, b: tf.data.Dataset.from_tensors((a, a, b))), 3
)
images = tf.data.Dataset.from_tensor_slices(np.ones([4, 2, 2], np.float32))
result["autoencoder"] = elements(images.map(lambda i: (i, i)).repeat().batch(3), 2)
