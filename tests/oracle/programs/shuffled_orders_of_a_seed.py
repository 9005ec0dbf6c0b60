# issue 16: with as_tensorflow a dataset is shuffled in TensorFlow's order
if hasattr(tf, "as_tensorflow"):
    from dataflow.tensorflow_numbers import draw_as_tensorflow

    draw_as_tensorflow()


def order(dataset):
    element = tf.data.make_one_shot_iterator(dataset).get_next()
    found = []
    with tf.Session() as session:
        while True:
            try:
                found += np.ravel(session.run(element)).tolist()
            except tf.errors.OutOfRangeError:
                return found


for size in (1, 2, 7, 20):
    for count in (0, 1, 5, 30):
        tf.reset_default_graph()
        tf.set_random_seed(6)
        numbers = tf.data.Dataset.range(count)
        result[f"{size} of {count}"] = order(numbers.shuffle(size, seed=2))
        result[f"{size} of {count}, batches, again"] = order(
            numbers.shuffle(size, seed=2).batch(4).repeat(3)
        )
        result[f"{size} of {count}, the same again"] = order(
            numbers.shuffle(size, seed=2, reshuffle_each_iteration=False).batch(4).repeat(2)
        )
        result[f"{size} of {count}, repeated first"] = order(
            numbers.repeat(4).shuffle(size, seed=2)
        )
        result[f"{size} of {count}, twice"] = order(
            numbers.shuffle(size, seed=1).shuffle(size, seed=2)
        )
