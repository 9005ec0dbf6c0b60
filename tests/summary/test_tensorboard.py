"""A real TensorBoard, on loopback, sees the scalars, histograms, pictures, graph and embedding."""

from __future__ import annotations

import json
import time
import urllib.error

import numpy as np
import pytest

from tests.summary.tensorboard_server import VECTORS, fetch, tensorboard, write_logs

pytest.importorskip("tensorboard")


@pytest.fixture(scope="module")
def get(tmp_path_factory):
    logdir = tmp_path_factory.mktemp("logs")
    write_logs(logdir)
    with tensorboard(logdir) as url:
        yield lambda path, **query: fetch(url + path, **query)


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
    assert metadata.split() == [b"apple", b"berry", b"cherry", b"date"]
