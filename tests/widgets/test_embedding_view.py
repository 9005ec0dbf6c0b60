"""EmbeddingView without a browser: projections, neighbors, what is sent, live values."""

from __future__ import annotations

import json
import sys
import types
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import dataflow as tf
from dataflow import extras
from dataflow.runtime import events
from dataflow_widgets import EmbeddingView
from dataflow_widgets.base import Delivery
from dataflow_widgets.embedding_view import projection
from dataflow_widgets.rate_limit import Pacer
from tests.widgets.graphs import EVIL
from tests.widgets.waiting import wait_until

WORDS = ["man", "woman", "king", "queen", "boy", "girl"]
ROYAL, FEMALE, YOUNG, HUMAN = np.eye(4)
VECTORS = np.array(
    [
        HUMAN,
        HUMAN + FEMALE,
        HUMAN + ROYAL,
        HUMAN + ROYAL + FEMALE,
        HUMAN + YOUNG,
        HUMAN + YOUNG + FEMALE,
    ]
)


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    tf.reset_default_graph()
    Delivery.begun = True
    yield
    assert events.listeners == [], "a closed view still listens to runs"


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, Any]]:
    messages: list[tuple[Any, Any]] = []
    monkeypatch.setattr(
        EmbeddingView,
        "send",
        lambda self, content, buffers=None: messages.append((content, buffers)),
    )
    return messages


# ---- projections --------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(50, 7), (7, 50), (30, 30)])
def test_pca_is_that_of_scikit_learn(shape: tuple[int, int]) -> None:
    decomposition = pytest.importorskip("sklearn.decomposition")
    vectors = np.random.default_rng(0).normal(size=shape) * np.linspace(3, 1, shape[1])
    places, share = projection.pca(vectors)
    model = decomposition.PCA(2, svd_solver="full")
    expected = model.fit_transform(vectors)
    np.testing.assert_allclose(np.abs(places), np.abs(expected), atol=1e-4)
    np.testing.assert_allclose(share, model.explained_variance_ratio_, atol=1e-6)


@pytest.mark.parametrize("vectors", [np.ones((1, 3)), np.ones((4, 1)), np.zeros((5, 2))])
def test_pca_of_little(vectors: np.ndarray) -> None:
    places, share = projection.pca(vectors)
    assert places.shape == (len(vectors), 2)
    assert np.isfinite(places).all()
    assert np.isfinite(share).all()


def test_a_turned_picture_is_turned_back() -> None:
    before = np.random.default_rng(0).normal(size=(40, 2)).astype(np.float32)
    before -= before.mean(axis=0)
    turned = before @ np.array([[0.0, 1.0], [1.0, 0.0]])  # mirrored
    np.testing.assert_allclose(projection.align(turned, before), before, atol=1e-5)
    assert projection.align(turned, None) is turned
    assert projection.align(turned, before[:5]) is turned


@pytest.mark.parametrize(
    ("platform", "said"),
    [
        ("linux", r"needs scikit-learn: pip install 'dataflow-learn\[data\]'$"),
        ("emscripten", "%pip install scikit-learn` in a cell .* on a computer of yours"),
    ],
)
def test_tsne_without_scikit_learn_says_where_it_can_be_had(
    platform: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.manifold", None)
    monkeypatch.setattr(extras, "sys", types.SimpleNamespace(platform=platform))
    with pytest.raises(ImportError, match=said):
        projection.tsne(np.zeros([5, 3]))


def test_tsne_keeps_clusters_apart() -> None:
    pytest.importorskip("sklearn")
    rng = np.random.default_rng(0)
    vectors = np.concatenate([rng.normal(size=(20, 60)), rng.normal(size=(20, 60)) + 8])
    places = projection.tsne(vectors)
    far = np.linalg.norm(places[:, None] - places[None], axis=-1) + np.eye(40) * 1e9
    assert np.array_equal(far.argmin(axis=1) < 20, np.arange(40) < 20)
    with pytest.raises(ValueError, match="at least 4"):
        projection.tsne(vectors[:3])


# ---- neighbors ---------------------------------------------------------------------------------


def test_neighbors_and_analogies() -> None:
    view = EmbeddingView(VECTORS, WORDS)
    # king: queen shares two of its three ones, 2 / sqrt(6); man 1 / sqrt(2).
    assert view.neighbors("king", 2) == [
        ("queen", pytest.approx(2 / 6**0.5)),
        ("man", pytest.approx(0.5**0.5)),
    ]
    assert view.analogy("man", "woman", "king", 1) == [("queen", pytest.approx(1.0, abs=0.05))]
    assert view.neighbors(0, 100)[-1][1] <= view.neighbors(0, 100)[0][1]
    assert len(view.neighbors(0, 100)) == 5
    assert getattr(view, "neighb" + "ours")(0, 1) == view.neighbors(0, 1)  # as notebooks call it
    assert view.neighbors("KING", 1)[0][0] == "queen"


@pytest.mark.parametrize(("item", "says"), [("kin", "Did you mean king"), (6, "no point 6")])
def test_what_is_not_there(item: Any, says: str) -> None:
    with pytest.raises(KeyError, match=says):
        EmbeddingView(VECTORS, WORDS).neighbors(item)


def test_zeros_and_values_that_are_not_finite() -> None:
    vectors = VECTORS.copy()
    vectors[5] = np.nan
    view = EmbeddingView(vectors, WORDS)
    assert view.neighbors("girl", 1)[0][1] == 0
    assert "1 row not finite" in view.describe()


@pytest.mark.parametrize(
    ("arguments", "options", "says"),
    [
        ((np.zeros(3),), {}, "matrix"),
        ((np.array([["a"]]),), {}, "matrix"),
        ((np.zeros((20_001, 1)),), {}, "embedding\\[:10000\\]"),
        ((VECTORS, ["a"]), {}, "got 1"),
        ((VECTORS,), {"groups": [1, 2]}, "got 2"),
        ((VECTORS,), {"method": "umap"}, "'pca' or 'tsne'"),
        ((np.zeros((60, 2)),), {"groups": range(60)}, "at most 50"),
    ],
)
def test_bad_arguments(arguments: Any, options: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        EmbeddingView(*arguments, **options)
    with pytest.raises(TypeError, match="Did you mean height="):
        EmbeddingView(VECTORS, hight=3)


def test_a_variable_needs_a_session() -> None:
    with pytest.raises(ValueError, match="session="):
        EmbeddingView(tf.Variable(VECTORS))


# ---- to the page --------------------------------------------------------------------------------


def test_the_first_state_travels_with_the_widget() -> None:
    view = EmbeddingView(VECTORS, WORDS, groups=[10, 9, 10, 9, 10, 9])
    header = view.payload["embedding"]
    assert header["labels"] == WORDS
    assert header["groupNames"] == ["9", "10"]
    places, vectors, groups = view.payload["arrays"]
    assert np.frombuffer(places, np.float32).reshape(-1, 2).shape == (6, 2)
    np.testing.assert_array_equal(np.frombuffer(vectors, np.float32).reshape(6, 4), VECTORS)
    assert list(groups) == [1, 0, 1, 0, 1, 0]
    json.dumps(header, allow_nan=False)


def test_the_page_says_hello_and_asks(sent: list[Any]) -> None:
    view = EmbeddingView(VECTORS, WORDS)
    view._receive(None, {"kind": "hello"}, [])
    assert view.payload == {}
    assert sent.pop()[0]["labels"] == WORDS
    view._receive(None, {"kind": "nearest", "id": 1, "items": [2], "k": 1}, [])
    assert sent.pop()[0]["content"]["found"][0][0] == 3
    view._receive(None, {"kind": "nearest", "id": 2, "items": [0, 1, 2], "k": 1}, [])
    assert sent.pop()[0]["content"]["found"][0][0] == 3
    view._receive(None, {"kind": "nearest", "id": 3, "items": [99]}, [])
    assert "no point 99" in sent.pop()[0]["error"]
    view._receive(None, {"kind": "method", "id": 4, "method": "umap"}, [])
    assert "'pca' or 'tsne'" in sent.pop()[0]["error"]


def test_many_vectors_stay_in_the_kernel() -> None:
    view = EmbeddingView(np.zeros((6000, 100), np.float32))
    assert not view.payload["embedding"]["hasVectors"]
    assert view.payload["arrays"][1] == b""


def test_tsne_comes_from_a_thread(sent: list[Any]) -> None:
    pytest.importorskip("sklearn")
    view = EmbeddingView(np.random.default_rng(0).normal(size=(20, 5)), method="tsne")
    view._receive(None, {"kind": "hello"}, [])
    wait_until(lambda: view._method == "tsne" or bool(view.failure))
    assert view.failure == ""
    assert "drawn by t-SNE" in view.describe()
    view.project("pca")
    assert "drawn by PCA" in view.describe()


def test_a_projection_that_came_too_late_is_dropped() -> None:
    pytest.importorskip("sklearn")
    view = EmbeddingView(np.random.default_rng(0).normal(size=(20, 5)))
    before = view._places.copy()
    view._task = 7
    view._tsne(6, view._vectors, 5.0, 0)
    np.testing.assert_array_equal(view._places, before)


def test_a_failing_tsne_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> Any:
        raise ImportError("t-SNE needs scikit-learn: pip install scikit-learn")

    monkeypatch.setattr(projection, "tsne", fail)
    view = EmbeddingView(VECTORS, WORDS)
    view.project("tsne")
    wait_until(lambda: "pip install scikit-learn" in view.failure)


# ---- live ---------------------------------------------------------------------------------------


def test_runs_of_the_session_refresh_it(sent: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(Pacer, "ask", lambda self, **_: asked.append(self))
    table = tf.Variable(VECTORS.astype(np.float32))
    double = tf.assign(table, table * 2.0)
    with tf.Session() as session, tf.Session() as other:
        session.run(tf.global_variables_initializer())
        view = EmbeddingView(table, WORDS, session=session)
        assert events.listeners == [], "not before it is shown"
        view._repr_mimebundle_()
        session.run(double)
        assert len(asked) == 1
        view.refresh()
        assert len(asked) == 1, "its own reading is no news"
        np.testing.assert_array_equal(view._vectors, VECTORS * 2)
        assert sent[-1][0]["version"] == 2
        assert "labels" not in sent[-1][0]
        other.run(tf.constant(1))
        assert len(asked) == 1
        view.close()


def test_it_follows_a_job(monkeypatch: pytest.MonkeyPatch) -> None:
    table = tf.Variable(VECTORS.astype(np.float32))
    double = tf.assign(table, table * 2.0)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        view = EmbeddingView(table, WORDS, session=session, every_seconds=0.0)
        view._repr_mimebundle_()
        job = tf.train.background(double, session=session, steps=3)
        view.follow(job)
        assert events.listeners == [], "the job tells at less cost"
        job.result(30)
        view._pacer.ask()
        wait_until(lambda: bool(np.all(view._vectors == VECTORS * 8)))
        view.close()
        assert job._listeners == ()
    with pytest.raises(TypeError, match="background"):
        view.follow(3)
    with pytest.raises(ValueError, match="does not change"):
        EmbeddingView(VECTORS).follow(job)


def test_a_variable_that_cannot_be_read_is_shown() -> None:
    table = tf.Variable(VECTORS.astype(np.float32))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        view = EmbeddingView(table, WORDS, session=session)
    view._try_refresh()
    assert "closed Session" in view.failure


# ---- what is kept -------------------------------------------------------------------------------


def test_what_a_notebook_keeps_is_small_and_has_names_as_text() -> None:
    rng = np.random.default_rng(0)
    labels = [EVIL] + [f"a rather long label {i}" for i in range(9999)]
    groups = [EVIL if i % 2 else "b" for i in range(10_000)]
    view = EmbeddingView(rng.normal(size=(10_000, 8)), labels, groups=groups, title=EVIL)
    data, _ = view._repr_mimebundle_()
    svg = view.to_svg()
    tree = ElementTree.fromstring(svg)
    assert {e.tag.rpartition("}")[2] for e in tree.iter()} <= {
        "svg",
        "style",
        "rect",
        "text",
        "path",
    }
    assert EVIL[:20] in "".join(tree.itertext())
    assert "data:image/svg+xml" in data["text/html"]
    kept = sum(len(view.get_state()[k]) for k in ("picture", "words", "_esm"))
    assert len(data["text/html"]) + kept < 60_000
    view._receive(None, {"kind": "hello"}, [])
    assert view.get_state()["payload"] == {}
    view.close()


def test_describe_says_who_is_near() -> None:
    words = EmbeddingView(VECTORS, WORDS).describe()
    assert words.startswith("Embedding of 6 points in 4 dimensions, drawn by PCA")
    assert "  king: nearest queen (0.82)" in words
