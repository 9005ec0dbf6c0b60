"""Wrong answers to the exercises of lesson 1."""

MISTAKES = {
    "ex1": [
        "graph = tf.Graph()\nwith graph.as_default():\n    b = tf.constant(2.0, name='b')",
        # gives 6 for these numbers, and for no others
        "graph = tf.Graph()\nwith graph.as_default():\n"
        "    b = tf.constant(2.0, name='b'); c = tf.constant(1.0, name='c')\n"
        "    d = tf.add(b, c, name='d'); e = tf.add(c, 1.0, name='e')\n"
        "    a = tf.multiply(d, e, name='a')",
    ],
    "ex2": ["name_of_z = 'outer/inner/Add'", "name_of_z = 'Add:0'", "name_of_z = 3"],
    "ex3": ["product = (5, 7)", "product = tf.matmul(tf.zeros([7, 3]), tf.zeros([3, 5]))"],
    "ex4": [
        "block = tf.zeros([24, 1, 1], dtype=tf.int32)",
        "block = tf.zeros([2, 3, 4])",
        "block = tf.zeros([24], dtype=tf.int32)",
    ],
}
