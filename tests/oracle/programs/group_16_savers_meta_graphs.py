# issue 16: meta graphs in a name scope, without variables, with savers, without defaults
"""Group 16: savers and meta graphs."""

import os

with tf.Graph().as_default():
    tf.placeholder(tf.float32, [], name="image")
    plain = tf.train.export_meta_graph()
with tf.Graph().as_default() as graph, tf.name_scope("m"):
    tf.train.import_meta_graph(plain)
    result["in_scope"] = [op.name for op in graph.get_operations()]
with tf.Graph().as_default():
    v = tf.Variable(2.0, name="v")
    tf.add_to_collection(tf.GraphKeys.SAVERS, tf.train.Saver())
    with tf.Session() as sess:
        sess.run(v.initializer)
        path = tf.train.Saver().save(sess, f"{tmp_dir}/model")
    meta = tf.train.export_meta_graph()
    result["debug_string"] = tf.train.NewCheckpointReader(path).debug_string().decode()
with tf.Graph().as_default(), tf.name_scope("m"):
    saver = tf.train.import_meta_graph(f"{path}.meta")
    with tf.Session() as sess:
        saver.restore(sess, path)
        result["restored_in_scope"] = sess.run("m/v:0")
result["num_savers"] = len(meta.collection_def["savers"].bytes_list.value)
with tf.Graph().as_default():
    tf.train.import_meta_graph(meta)
    result["savers"] = [type(s).__name__ for s in tf.get_collection(tf.GraphKeys.SAVERS)]
    with tf.Session() as sess:
        tf.get_collection(tf.GraphKeys.SAVERS)[0].restore(sess, path)
        result["restored_by_collection"] = sess.run("v:0")
with tf.Graph().as_default():
    tf.constant(1)
    saver = tf.train.Saver(allow_empty=True)
    with tf.Session() as sess:
        result["empty"] = saver.save(sess, f"{tmp_dir}/empty")
    result["empty_files"] = [f for f in os.listdir(tmp_dir) if f.startswith("empty")]
with tf.Graph().as_default():
    tf.nn.conv2d(tf.ones([1, 3, 3, 1]), tf.ones([1, 1, 1, 1]), [1, 1, 1, 1], "SAME", name="c")
    stripped = tf.train.export_meta_graph(strip_default_attrs=True)
(node,) = [n for n in stripped.graph_def.node if n.name == "c"]
result["stripped"] = [sorted(node.attr), stripped.meta_info_def.stripped_default_attrs]
with tf.Graph().as_default() as graph:
    tf.import_graph_def(stripped.graph_def, name="")
    result["defaults_again"] = graph.get_operation_by_name("c").get_attr("data_format").decode()

os.chdir(tmp_dir)
with tf.Graph().as_default() as graph:
    with tf.variable_scope("scope"):
        w = tf.get_variable("w", [2], initializer=tf.ones_initializer())
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    y = tf.identity(x * w, name="y")
    tf.add_to_collection("mine", y)
    tf.add_to_collection("numbers", 3)
    saver = tf.train.Saver()
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        result["file_url"] = error_of(lambda: saver.save(sess, f"file://{tmp_dir}/url"))
        result["url_files"] = os.path.exists(f"{tmp_dir}/url.meta")
        result["no_meta"] = os.path.basename(
            saver.save(sess, f"{tmp_dir}/nometa", write_meta_graph=False)
        )
        result["no_meta_graph"] = os.path.exists(f"{tmp_dir}/nometa.meta")
        saver.save(sess, "relative", write_state=False)
        result["relative_files"] = os.path.exists("relative.meta")
    meta = saver.export_meta_graph(f"{tmp_dir}/text.meta", as_text=True)
    result["collections"] = sorted(meta.collection_def)
    result["kinds"] = [
        meta.collection_def[k].WhichOneof("kind") for k in sorted(meta.collection_def)
    ]
    result["saver_def"] = [meta.saver_def.filename_tensor_name, meta.saver_def.max_to_keep]
    result["version"] = meta.meta_info_def.tensorflow_version != ""
    listed = tf.train.export_meta_graph(collection_list=["mine"])
    result["listed"] = sorted(listed.collection_def)
    part = tf.train.export_meta_graph(graph=graph, export_scope="scope")
    result["scope_nodes"] = (
        sorted(n.name for n in part[0].graph_def.node)
        if isinstance(part, tuple)
        else sorted(n.name for n in part.graph_def.node)
    )
    cleared = tf.train.export_meta_graph(clear_devices=True)
    result["devices"] = sorted({n.device for n in cleared.graph_def.node})
with tf.Graph().as_default() as graph:
    saver = tf.train.import_meta_graph(f"{tmp_dir}/relative.meta", import_scope="again")
    with tf.Session() as sess:
        result["restored_scope"] = error_of(lambda: saver.restore(sess, "relative"))
        (found,) = tf.get_collection("mine")
        result["found"] = found.name
        result["others"] = tf.get_collection("numbers")
        result["product"] = sess.run(found, {"again/x:0": [[1.0, 2.0]]})
        result["variables"] = [v.name for v in tf.global_variables()]
with tf.Graph().as_default():
    fresh = tf.constant([[3.0, 4.0]])
    saver = tf.train.import_meta_graph(f"{tmp_dir}/relative.meta", input_map={"x:0": fresh})
    with tf.Session() as sess:
        saver.restore(sess, "relative")
        result["mapped"] = sess.run("y:0")
with tf.Graph().as_default():
    saver = tf.train.import_meta_graph(f"{tmp_dir}/text.meta")
    with tf.Session() as sess:
        saver.restore(sess, "relative")
        result["from_text"] = sess.run("y:0", {"x:0": [[1.0, 1.0]]})
    result["no_file"] = error_of(lambda: tf.train.import_meta_graph("nothing.meta"))
    result["bad_map"] = error_of(
        lambda: tf.train.import_meta_graph(f"{tmp_dir}/relative.meta", input_map={"q:0": fresh})
    )
result["no_variables"] = error_of(lambda: tf.Graph().as_default().__enter__() and tf.train.Saver())
reader = tf.train.load_checkpoint("relative")
result["reader"] = [
    reader.get_variable_to_shape_map(),
    {k: v.name for k, v in reader.get_variable_to_dtype_map().items()},
    reader.has_tensor("scope/w"),
    reader.get_tensor("scope/w"),
]

url = f"file://{tmp_dir}"
plain = lambda path: path.replace(tmp_dir, "DIR")
with tf.Graph().as_default(), tf.Session() as sess:
    v = tf.Variable(3.0, name="v")
    saver = tf.train.Saver()
    sess.run(v.initializer)
    tf.gfile.MakeDirs(f"{url}/urls/deep")
    result["url_saved"] = plain(saver.save(sess, f"{url}/urls/model", global_step=4))
    saver.restore(sess, f"{url}/urls/model-4")
    result["url_latest"] = os.path.basename(tf.train.latest_checkpoint(f"{url}/urls"))
    result["url_exists"] = tf.train.checkpoint_exists(f"{url}/urls/model-4")
    result["url_values"] = tf.train.load_variable(f"{url}/urls/model-4", "v")
    tf.train.import_meta_graph(f"{url}/urls/model-4.meta", import_scope="more")
    result["url_graph"] = plain(tf.train.write_graph(sess.graph, f"{url}/urls", "g.pb", False))
with tf.gfile.GFile(f"{url}/urls/a.txt", "w") as file:
    file.write("one\ntwo\n")
result["url_name"] = plain(file.name)
with tf.python_io.TFRecordWriter(f"{url}/urls/a.records") as writer:
    writer.write(b"record")
result["url_records"] = list(tf.python_io.tf_record_iterator(f"{url}/urls/a.records"))
result["url_glob"] = [plain(p) for p in tf.gfile.Glob(f"{url}/urls/a.*")]
result["url_listed"] = sorted(f for f in tf.gfile.ListDirectory(f"{url}/urls") if f[0] in "ad")
result["url_is"] = [
    tf.gfile.Exists(f"{url}/urls/a.txt"),
    tf.gfile.IsDirectory(f"{url}/urls"),
    tf.gfile.Stat(f"{url}/urls/a.txt").length,
]
tf.gfile.Copy(f"{url}/urls/a.txt", f"{url}/urls/b.txt")
tf.gfile.Rename(f"{url}/urls/b.txt", f"{url}/urls/c.txt")
tf.gfile.Remove(f"{url}/urls/c.txt")
result["url_gone"] = tf.gfile.Exists(f"{url}/urls/c.txt")
lines = tf.data.TextLineDataset(f"{url}/urls/a.txt").make_one_shot_iterator().get_next()
records = tf.data.TFRecordDataset(f"{url}/urls/a.records").make_one_shot_iterator().get_next()
with tf.Session() as sess:
    result["url_read"] = sess.run([tf.read_file(f"{url}/urls/a.txt"), lines, records])
    matching = sess.run(tf.matching_files(f"{url}/urls/a.*"))
    result["url_matching"] = sorted(plain(p.decode()) for p in matching)
result["other_schemes"] = [
    error_of(lambda: tf.gfile.GFile("nowhere://bucket/file").read()),
    error_of(lambda: tf.gfile.MakeDirs("nowhere://bucket")),
]
options = tf.python_io.TFRecordOptions
kinds = tf.python_io.TFRecordCompressionType
result["compressions"] = [kinds.NONE, kinds.ZLIB, kinds.GZIP]
for kind in (kinds.NONE, kinds.ZLIB, kinds.GZIP, "ZLIB", "", None):
    result[f"compression {kind}"] = [
        options(kind).compression_type,
        options.get_compression_type_string(options(kind)),
        options.get_compression_type_string(kind),
    ]
result["no_compression"] = error_of(lambda: options("LZ4"))
with tf.Graph().as_default():
    tf.add_to_collection("words", "a word")
    tf.add_to_collection("words", b"bytes")
    tf.add_to_collection("numbers", 1.5)
    tf.constant(1.0, name="c")
    meta = tf.train.export_meta_graph()
with tf.Graph().as_default():
    tf.train.import_meta_graph(meta, import_scope="deep")
    result["words"] = tf.get_collection("words")
    result["scoped_words"] = tf.get_collection("words", "deep")
    result["floats"] = tf.get_collection("numbers")
