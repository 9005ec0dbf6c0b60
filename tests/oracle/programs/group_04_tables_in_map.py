# issue 16: lookup tables inside Dataset.map
"""Group 4: a lookup table inside Dataset.map."""


def elements(dataset, count):
    value = tf.data.make_initializable_iterator(dataset)
    element = value.get_next()
    with tf.Session() as sess:
        sess.run([tf.tables_initializer(), value.initializer])
        return [sess.run(element) for _ in range(count)]


table = tf.lookup.StaticHashTable(
    tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([1, 2], tf.int64)), -1
)
words = tf.data.Dataset.from_tensor_slices(["b", "a", "z"])
result["table_method"] = elements(words.map(table.lookup), 3)
result["table_lambda"] = elements(words.map(lambda w: table.lookup(w)), 3)
result["table_filter"] = elements(words.filter(lambda w: tf.greater(table.lookup(w), 0)), 2)
result["table_parallel"] = elements(words.map(lambda w: table.lookup(w), 2).batch(3), 1)
ids = tf.lookup.StaticVocabularyTable(
    tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([0, 1], tf.int64)), 3
)
result["table_buckets"] = elements(words.map(ids.lookup), 3)
result["table_flat_map"] = elements(
    words.flat_map(lambda w: tf.data.Dataset.from_tensors(table.lookup(w)).repeat(2)), 6
)
result["table_batch"] = elements(words.batch(2).map(lambda w: table.lookup(w)), 2)
result["table_two"] = elements(words.map(lambda w: (table.lookup(w), ids.lookup(w))), 3)
result["table_shape"] = [
    shape_of(tf.data.get_output_shapes(words.batch(2).map(table.lookup))),
    tf.data.get_output_types(words.map(table.lookup)).name,
]
one_shot = lambda: tf.data.make_one_shot_iterator(words.map(table.lookup))
result["table_one_shot"] = error_of(one_shot)
iterator = tf.data.make_initializable_iterator(words.map(table.lookup))
element = iterator.get_next()
with tf.Session() as sess:
    sess.run(iterator.initializer)
    result["table_uninitialized"] = error_of(lambda: sess.run(element))
