# issue 3: lookup tables
keys = tf.constant(["a", "b", "c"])
table = tf.lookup.StaticHashTable(
    tf.lookup.KeyValueTensorInitializer(keys, tf.constant([1, 2, 3], tf.int64)), -1
)
with open(tmp_dir + "/words.txt", "w") as f:
    f.write("zero\none\ntwo\n")
from_file = tf.lookup.StaticHashTable(
    tf.lookup.TextFileInitializer(
        tmp_dir + "/words.txt",
        tf.string,
        tf.lookup.TextFileIndex.WHOLE_LINE,
        tf.int64,
        tf.lookup.TextFileIndex.LINE_NUMBER,
    ),
    -1,
)
buckets = tf.lookup.StaticVocabularyTable(
    tf.lookup.KeyValueTensorInitializer(keys, tf.constant([0, 1, 2], tf.int64)), 2
)
found = table.lookup(tf.constant(["a", "c", "zzz"]))
result["collection"] = len(tf.get_collection(tf.GraphKeys.TABLE_INITIALIZERS))
with tf.Session() as sess:
    result["not_ready"] = error_of(lambda: sess.run(found))
    sess.run(tf.tables_initializer())
    result["found"] = sess.run(found)
    result["from_file"] = sess.run(from_file.lookup(tf.constant(["one", "nine"])))
    known = sess.run(buckets.lookup(tf.constant(["a", "c", "other", "more"])))
    result["buckets"] = [known[:2], bool((known[2:] >= 3).all() and (known[2:] < 5).all())]
    result["bucket_values"] = known
    result["size"] = sess.run([table.size(), buckets.size()])
    result["sparse"] = sess.run(table.lookup(tf.SparseTensor([[0, 1]], ["b"], [1, 2])))
result["init_name"] = tf.tables_initializer().name
result["wrong_type"] = error_of(lambda: table.lookup(tf.constant([1, 2])))
