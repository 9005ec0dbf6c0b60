"""A log folder with something of everything, and a real TensorBoard that serves it on loopback."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import dataflow as tf
from dataflow.contrib.tensorboard.plugins import projector

VECTORS = np.arange(12, dtype=np.float32).reshape(4, 3) / 8


def write_logs(folder: Path) -> None:
    """Three steps of a scalar, a histogram, a picture and a text; a graph; an embedding."""
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
            (folder / "words.tsv").write_text("apple\nberry\ncherry\ndate\n")
            config = projector.ProjectorConfig()
            item = config.embeddings.add()
            item.tensor_name = embedding.name
            item.metadata_path = "words.tsv"
            projector.visualize_embeddings(writer, config)
        tf.train.Saver([embedding]).save(session, str(folder / "model.ckpt"), 1)


@contextlib.contextmanager
def tensorboard(logdir: Path) -> Iterator[str]:
    """Runs a TensorBoard on a free port of loopback; yields its address."""
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
            # Nobody reads what it says from here on; it must not wait for a reader.
            os.set_blocking(process.stderr.fileno(), False)
            assert url, "TensorBoard did not say its address"
            yield url
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()


def fetch(url: str, **query: str) -> bytes:
    """The body of an answer; raises `urllib.error.HTTPError`."""
    if query:
        url += "?" + urllib.parse.urlencode(query)
    with urllib.request.urlopen(url, timeout=30) as answer:
        return answer.read()
