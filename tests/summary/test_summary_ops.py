"""``tf.summary``: tags and names, what the ops refuse, and the writer."""

from __future__ import annotations

import numpy as np
import pytest

import dataflow as tf
from dataflow.formats.event_files import read_events

pytestmark = pytest.mark.usefixtures("graph")


def run(tensor):
    with tf.Session() as session:
        return tf.Summary.FromString(session.run(tensor))


def events_of(writer):
    return list(read_events(writer.event_writer.path))


def test_tags_are_the_names_of_the_nodes_and_unique():
    with tf.name_scope("layer"):
        first = tf.summary.scalar("loss", 1.0)
        second = tf.summary.scalar("loss", 2.0)
    third = tf.summary.scalar("two words", 3.0, family="group")
    assert (first.op.name, second.op.name) == ("layer/loss", "layer/loss_1")
    values = run(tf.summary.merge_all()).value
    assert [v.tag for v in values] == ["layer/loss", "layer/loss_1", "group/group/two_words"]
    assert third.op.name == "group/two_words"


def test_collections_and_merging():
    a = tf.summary.scalar("a", 1.0)
    b = tf.summary.scalar("b", 2.0, collections=["mine"])
    assert tf.get_collection("summaries") == [a]
    assert [v.tag for v in run(tf.summary.merge([a, b])).value] == ["a", "b"]
    assert tf.summary.merge_all("nothing") is None
    with pytest.raises(tf.errors.InvalidArgumentError, match="same tag|have the tag"):
        run(tf.summary.merge([a, a]))


def test_what_is_no_scalar_is_refused_when_the_node_is_made_or_runs():
    with pytest.raises(ValueError, match="reduce it first"):
        tf.summary.merge([tf.scalar_summary(["a", "b"], [1.0, 2.0, 3.0])])
    with pytest.raises(tf.errors.InvalidArgumentError, match="not the same shape"):
        run(tf.summary.scalar("x", tf.placeholder_with_default([1.0, 2.0], None)))
    with pytest.raises(TypeError):
        tf.summary.scalar("x", tf.constant("text"))
    with pytest.raises(ValueError, match="to have dtype string"):
        tf.summary.text("x", tf.constant(1.0))
    of_five = tf.summary.image("x", tf.ones([1, 2, 2, 5]))
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"1, 3 or 4 channels, got \[1, 2, 2, 5\]"
    ):
        run(of_five)
    with pytest.raises(tf.errors.InvalidArgumentError, match="nan"):
        run(tf.summary.histogram("x", [1.0, float("nan")]))


def test_the_names_before_1_0_work():
    tf.scalar_summary("loss", tf.constant(0.5))
    tf.histogram_summary("weights", tf.constant([1.0]))
    tf.image_summary("picture", tf.ones([1, 2, 2, 1]), max_images=1)
    merged = tf.merge_all_summaries()
    assert [v.tag for v in run(merged).value] == ["loss", "weights", "picture/image"]
    assert len(run(tf.merge_summary([merged])).value) == 3
    assert tf.train.SummaryWriter is tf.summary.FileWriter


def test_text_and_tensors_carry_their_metadata_once(tmp_path):
    text = tf.summary.text("note", tf.constant([["a", "b"]]))
    writer = tf.summary.FileWriter(tmp_path)
    with tf.Session() as session:
        for step in range(2):
            writer.add_summary(session.run(text), step)
    writer.close()
    values = [v for e in events_of(writer) for v in e.summary.value]
    assert [v.metadata.plugin_data.plugin_name for v in values] == ["text", ""]
    assert list(values[1].tensor.string_val) == [b"a", b"b"]
    assert [d.size for d in values[1].tensor.tensor_shape.dim] == [1, 2]


def test_the_writer_keeps_graph_summaries_and_metadata(tmp_path, graph):
    x = tf.constant(2.0, name="x")
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    metadata = tf.RunMetadata()
    with tf.Session() as session:
        writer = tf.summary.FileWriter(tmp_path, session.graph)
        session.run(x * x, options=options, run_metadata=metadata)
        writer.add_run_metadata(metadata, "step 1", 1)
        with pytest.raises(ValueError, match="already used"):
            writer.add_run_metadata(metadata, "step 1", 2)
    writer.add_summary(
        tf.Summary(value=[tf.Summary.Value(tag="made", simple_value=1.0)]), np.int64(3)
    )
    writer.close()
    writer.reopen()
    writer.close()
    assert len(list(tmp_path.iterdir())) == 2
    # Which of two files of one second is the older, their names do not say.
    files = [list(tf.train.summary_iterator(str(path))) for path in tmp_path.iterdir()]
    events = max(files, key=len)
    assert events[0].file_version == "brain.Event:2"
    (graph_event,) = [e for e in events if e.graph_def]
    assert "x" in [n.name for n in tf.GraphDef.FromString(graph_event.graph_def).node]
    (run_event,) = [e for e in events if e.tagged_run_metadata.tag]
    stored = tf.RunMetadata.FromString(run_event.tagged_run_metadata.run_metadata)
    names = [n.node_name for d in stored.step_stats.dev_stats for n in d.node_stats]
    assert "mul" in names
    assert [e.step for e in events if e.summary.value] == [3]


def test_the_writer_refuses_what_is_no_graph(tmp_path):
    with tf.summary.FileWriter(tmp_path) as writer:
        with pytest.raises(TypeError, match="must be an instance of `Graph`"):
            writer.add_graph("text")
        with pytest.raises(ValueError, match="pass a graph"):
            writer.add_graph(None)
        writer.add_graph(None, graph_def=tf.GraphDef())


def test_the_cache_gives_one_writer_for_a_folder(tmp_path):
    first = tf.summary.FileWriterCache.get(str(tmp_path))
    assert tf.summary.FileWriterCache.get(str(tmp_path)) is first
    tf.summary.FileWriterCache.clear()
    assert tf.summary.FileWriterCache.get(str(tmp_path)) is not first
    tf.summary.FileWriterCache.clear()


def test_a_writer_of_a_graph_writes_its_meta_graph_too(tmp_path) -> None:
    with tf.Graph().as_default() as graph:
        tf.add_to_collection("kept", tf.constant(1.0, name="c"))
        tf.summary.FileWriter(str(tmp_path), graph).close()
    (file,) = tmp_path.iterdir()
    events = list(tf.train.summary_iterator(str(file)))
    assert [e.WhichOneof("what") for e in events] == ["file_version", "graph_def", "meta_graph_def"]
    assert b"kept" in events[2].meta_graph_def


def test_a_merged_summary_is_named_as_told():
    summaries = [tf.summary.scalar("a", 1.0)]
    assert tf.summary.merge(summaries).op.name == "Merge/MergeSummary"
    assert tf.summary.merge(summaries, name="all").op.name == "all/all"
