# issue 16: tf.contrib.summary: what is written, when, and the nodes of it
import os

summary = tf.contrib.summary


def nodes(graph):
    return sorted(
        [op.name, op.type, op.device, sorted(c.name for c in op.control_inputs)]
        for op in graph.get_operations()
        if op.type not in ("VarIsInitializedOp", "ReadVariableOp")
    )


def events(folder):
    found = []
    for name in sorted(os.listdir(folder)):
        for event in tf.train.summary_iterator(os.path.join(folder, name)):
            if event.file_version:
                found.append("file")
            elif event.graph_def:
                found.append(["graph", event.step, len(event.graph_def) > 0])
            for value in event.summary.value:
                kind = value.WhichOneof("value")
                content = getattr(value, kind)
                if kind == "tensor":
                    content = tf.make_ndarray(content)
                elif kind == "image":
                    content = [content.height, content.width, content.colorspace]
                elif kind == "audio":
                    content = [content.sample_rate, content.length_frames, content.num_channels]
                elif kind == "histo":
                    content = [content.min, content.max, content.num, content.sum]
                plugin = value.metadata.plugin_data.plugin_name
                found.append([event.step, value.tag, kind, content, plugin])
    return found


def folder(name):
    return os.path.join(tmp_dir, name)


# Without a writer nothing is made.
with tf.Graph().as_default() as graph:
    op = summary.scalar("loss", 1.0)
    result["no writer"] = [op.type, len(summary.all_summary_ops()), summary.flush().type]
    with tf.Session() as sess:
        result["no writer, no record"] = sess.run(summary.should_record_summaries())
        result["no initialize"] = error_of(lambda: summary.initialize(session=sess))

# All kinds, in a name scope, with a step of their own and the global one.
with tf.Graph().as_default() as graph:
    step = tf.train.create_global_step()
    writer = summary.create_file_writer(folder("kinds"), max_queue=0)
    with writer.as_default(), summary.always_record_summaries():
        with tf.name_scope("model"):
            summary.scalar("loss", tf.constant(2.5))
            summary.scalar("loss", tf.constant(3), family="more")
        summary.histogram("weights", tf.constant([1.0, 2.0, -4.0]), step=7)
        summary.image("picture", tf.ones([2, 3, 4, 3]), max_images=1)
        summary.image("pictures", tf.ones([2, 3, 4, 1]), step=tf.constant(3, tf.int64))
        summary.audio("sound", tf.zeros([1, 5, 2]), 8000, 3)
        summary.generic("whole", tf.constant([[1, 2]]))
        summary.generic("words", tf.constant(["a", "b"]), metadata=b"\x0a\x06\x0a\x04text")
        result["ops"] = [[o.name, o.dtype.name] for o in summary.all_summary_ops()]
        result["init"] = [o.type for o in summary.summary_writer_initializer_op()]
        result["record"] = summary.should_record_summaries().op.type
        with tf.Session() as sess:
            result["not made"] = error_of(lambda: sess.run(summary.all_summary_ops()[2]))
            sess.run(tf.global_variables_initializer())
            summary.initialize(graph=tf.get_default_graph(), session=sess)
            before = nodes(graph)
            for o in summary.all_summary_ops():
                sess.run(o)
            sess.run(step.assign(12))
            sess.run(summary.all_summary_ops()[0])
            close = writer.close()
            sess.run(close)
            result["after close"] = error_of(lambda: sess.run(summary.all_summary_ops()[0]))
    result["nodes"] = [n for n in before if n[1] not in ("VariableV2", "VarHandleOp", "Assign")]
result["kinds"] = events(folder("kinds"))

# A condition in the graph; the writer is made again; an event from outside.
with tf.Graph().as_default() as graph:
    step = tf.train.create_global_step()
    more = tf.assign_add(step, 1)
    writer = summary.create_file_writer(folder("every"), flush_millis=1000)
    every = summary.record_summaries_every_n_global_steps
    with tf.name_scope("out"), writer.as_default(), every(3):
        op = summary.scalar("step", tf.cast(step, tf.float32) * 2.0)
        with summary.never_record_summaries():
            never = summary.scalar("never", 1.0)
        event = tf.placeholder(tf.string, [])
        imported = summary.import_event(event)
        result["graph of a graph"] = error_of(lambda: summary.graph(graph))
    with writer.as_default():
        unsaid = summary.scalar("unsaid", 1.0)
    result["unsaid"] = [unsaid.op.type, unsaid.op.name]
    result["conditional"] = [op.dtype.name, never.dtype.name, shape_of(op)]
    result["conditional nodes"] = nodes(graph)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(summary.summary_writer_initializer_op())
        sess.run(summary.summary_writer_initializer_op())
        written = []
        for _ in range(7):
            written.append([sess.run(op), sess.run(never)])
            sess.run(more)
        result["written"] = written
        outside = tf.Event(step=99)
        outside.summary.value.add(tag="outside", simple_value=5.0)
        sess.run(imported, {event: outside.SerializeToString()})
        sess.run(writer.flush())
result["every"] = events(folder("every"))

# Two writers of one name are one; a writer of no folder; names of folders.
with tf.Graph().as_default():
    writers = [summary.create_file_writer(folder("same"), filename_suffix=f".{i}") for i in "ab"]
    with tf.Session() as sess:
        sess.run(summary.summary_writer_initializer_op())
        sess.run([w.flush() for w in writers])
    nothing = summary.create_file_writer(None)
    with nothing.as_default() as value, summary.always_record_summaries():
        result["nothing"] = [value, nothing.init(), summary.scalar("x", 1.0).type]
result["same"] = [len(os.listdir(folder("same"))), os.listdir(folder("same"))[0][-2:-1]]
result["eval"] = [summary.eval_dir("a"), summary.eval_dir("a", "b")]
result["bad writer"] = error_of(lambda: summary.flush("writer"))
