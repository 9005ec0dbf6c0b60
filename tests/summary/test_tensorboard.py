"""A real TensorBoard, on loopback, sees the scalars, histograms, pictures, graph and embedding."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

import numpy as np
import pytest

import dataflow as tf
from dataflow.contrib.tensorboard.plugins import projector

pytest.importorskip("tensorboard")

VECTORS = np.arange(12, dtype=np.float32).reshape(4, 3) / 8


@pytest.fixture(scope="module")
def logdir(tmp_path_factory):
    folder = tmp_path_factory.mktemp("logs")
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [4], name="x")
        embedding = tf.Variable(VECTORS, name="embedding")
        tf.summary.scalar("loss", tf.reduce_mean(x))
        tf.summary.histogram("weights", x)
        tf.summary.image("picture", tf.reshape(x, [1, 2, 2, 1]))
        tf.summary.text("note", tf.constant("**hello**"))
        merged = tf.summary.merge_all()
        session.run(tf.global_variables_initializer())
        with tf.summary.FileWriter(folder, session.graph) as writer:
            for step in range(3):
                writer.add_summary(session.run(merged, {x: np.arange(4.0) + step}), step)
            (folder / "words.tsv").write_text("a\nb\nc\nd\n")
            config = projector.ProjectorConfig()
            item = config.embeddings.add()
            item.tensor_name = embedding.name
            item.metadata_path = "words.tsv"
            projector.visualize_embeddings(writer, config)
        tf.train.Saver([embedding]).save(session, str(folder / "model.ckpt"), 1)
    return folder


@pytest.fixture(scope="module")
def get(logdir):
    command = [sys.executable, "-m", "tensorboard.main", "--logdir", str(logdir)]
    command += ["--host", "127.0.0.1", "--port", "0", "--load_fast", "false"]
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    ) as process:
        try:
            url = None
            deadline = time.monotonic() + 90
            while url is None and time.monotonic() < deadline:
                line = process.stderr.readline()
                assert line, "TensorBoard ended"
                found = re.search(r"http://127\.0\.0\.1:\d+", line)
                url = found and found[0]
            os.set_blocking(process.stderr.fileno(), False)
            yield lambda path, **query: fetch(url + path, query)
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()


def fetch(url, query):
    if query:
        url += "?" + urllib.parse.urlencode(query)
    with urllib.request.urlopen(url, timeout=30) as answer:
        return answer.read()


def eventually(get, path, accept, **query):
    """The answer once ``accept`` likes it: the server reads the files in its own time."""
    deadline = time.monotonic() + 60
    while True:
        try:
            answer = get(path, **query)
            if accept(answer):
                return answer
        except urllib.error.HTTPError as error:
            answer = error
        assert time.monotonic() < deadline, f"{path}: {answer!r}"
        time.sleep(0.3)


def test_scalars(get):
    tags = json.loads(eventually(get, "/data/plugin/scalars/tags", lambda a: b"loss" in a))
    assert "loss" in tags["."]
    points = json.loads(get("/data/plugin/scalars/scalars", run=".", tag="loss"))
    assert [(step, value) for _, step, value in points] == [(0, 1.5), (1, 2.5), (2, 3.5)]


def test_histograms_images_and_text(get):
    eventually(get, "/data/plugin/histograms/tags", lambda a: b"weights" in a)
    eventually(get, "/data/plugin/images/tags", lambda a: b"picture/image" in a)
    eventually(get, "/data/plugin/text/tags", lambda a: b"note" in a)
    text = json.loads(get("/data/plugin/text/text", run=".", tag="note"))
    assert "<strong>hello</strong>" in text[0]["text"]


def test_graph(get):
    answer = eventually(
        get, "/data/plugin/graphs/graph", lambda a: b"embedding" in a, run=".", conceptual="false"
    )
    assert b'op: "ScalarSummary"' in answer


def test_embedding(get):
    answer = eventually(get, "/data/plugin/projector/info", lambda a: b"embedding" in a, run=".")
    (item,) = json.loads(answer)["embeddings"]
    assert item["tensorShape"] == [4, 3]
    tensor = get("/data/plugin/projector/tensor", run=".", name=item["tensorName"])
    np.testing.assert_allclose(np.frombuffer(tensor, np.float32).reshape(4, 3), VECTORS)
    metadata = get("/data/plugin/projector/metadata", run=".", name=item["tensorName"])
    assert metadata.split() == [b"a", b"b", b"c", b"d"]
