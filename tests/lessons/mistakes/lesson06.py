"""Wrong answers to the exercises of lesson 6."""

MISTAKES = {
    "ex1": [
        "def even_squares(limit):\n"
        "    return tf.data.Dataset.range(limit).map(lambda n: n * n).batch(4)",
        "def even_squares(limit):\n"
        "    return tf.data.Dataset.range(0, limit, 2).map(lambda n: n * n)",
        "def even_squares(limit):\n    return [n * n for n in range(0, limit, 2)]",
    ],
    "ex2": [
        "def add_up(dataset):\n"
        "    item = dataset.make_one_shot_iterator().get_next()\n"
        "    with tf.Session() as session:\n"
        "        return sum(session.run(item) for _ in range(4))",
        "def add_up(dataset):\n"
        "    item = dataset.make_one_shot_iterator().get_next()\n"
        "    with tf.Session() as session:\n"
        "        return session.run(tf.reduce_sum(item))",
    ],
    "ex3": [
        "def epochs(dataset, size, num_epochs):\n"
        "    return dataset.repeat(num_epochs).shuffle(size).batch(5)",
        "def epochs(dataset, size, num_epochs):\n"
        "    return dataset.shuffle(size).repeat(num_epochs).batch(5)",
        "def epochs(dataset, size, num_epochs):\n"
        "    return dataset.shuffle(5).batch(5).repeat(num_epochs)",
        "def epochs(dataset, size, num_epochs):\n"
        "    data = dataset.shuffle(size, reshuffle_each_iteration=False)\n"
        "    return data.batch(5).repeat(num_epochs)",
    ],
    "ex4": [
        "def with_next(dataset):\n    return dataset.batch(2)",
        "def with_next(dataset):\n    return tf.data.Dataset.zip((dataset, dataset))",
        "def with_next(dataset):\n    return tf.data.Dataset.zip((dataset.skip(1), dataset))",
    ],
    "ex5": [
        "def apart(dataset):\n    return dataset.skip(1)",
        "def apart(dataset):\n    return dataset.map(lambda n: n)",
        "def apart(dataset):\n    return dataset.filter(lambda n: n % 2 > 0)",
    ],
}
