"""`RewritePlayer` in Python: what it sends, says and refuses."""

from __future__ import annotations

import json
import zlib
from typing import Any

import pytest

import dataflow as tf
from dataflow.introspect import rewrite_times
from dataflow_widgets import RewritePlayer
from dataflow_widgets.display import mimebundle

pytestmark = pytest.mark.usefixtures("graph")


def explained() -> Any:
    x = tf.placeholder(tf.float32, [2], name="x")
    tf.negative(x, name="unused")
    y = tf.tanh(tf.multiply(x, 1.0, name="once"), name="y")
    with tf.Session() as session:
        return session.explain(y, [x])


def test_three_ways_to_open_it() -> None:
    x = tf.placeholder(tf.float32, [2], name="x")
    y = tf.multiply(x, 1.0, name="y")
    with tf.Session() as session:
        told = session.explain(y, [x])
        players = [RewritePlayer(session, y, [x]), told.player(title="mine"), RewritePlayer(told)]
    assert len({json.dumps(player.payload) for player in players}) == 1
    assert players[1].title == "mine"


def test_describe_is_the_same_in_words() -> None:
    words = explained().player().describe()
    assert words.splitlines() == [
        "Run of y:0: 5 nodes in the graph, 1 left after pruning and 1 rewrite; the plan has 1 line.",
        "  1. what no fetch needs -> nothing: unused goes; 4 nodes left",
        "  2. x * 1 -> x, at once:0: once/y, once go; 2 nodes left",
        "Hits: what no fetch needs -> nothing (1); x * 1 -> x (1).",
    ]


def test_offers_are_told_and_sent() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        told = session.explain(tf.log(1.0 + tf.exp(tf.placeholder(tf.float32, [None])), name="y"))
    player = told.player()
    (offer,) = player.payload["offers"]
    assert offer["node"] == "y"
    assert f"Offer: {offer['text']} (at y, built at {offer['built_at']})." in player.describe()
    assert "Offer" not in explained().player().describe()


def test_wrong_arguments() -> None:
    with pytest.raises(TypeError, match=r"Did you mean height="):
        RewritePlayer(explained(), hight=3)
    with pytest.raises(TypeError, match="takes a session and fetches"):
        RewritePlayer(3)


def test_an_explanation_shows_the_player_and_a_picture() -> None:
    told = explained()
    data, _ = told._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in data
    assert '<img alt="Run of y:0' in data["text/html"]
    assert data["text/plain"] == repr(told)


def test_in_a_notebook_the_player_is_alone_in_its_output(monkeypatch: pytest.MonkeyPatch) -> None:
    """The picture is an output of its own, which the page hides; nothing stands beside the player."""
    import dataflow_widgets.display as display

    formatters = pytest.importorskip("IPython.core.formatters")
    published: list[RewritePlayer] = []
    monkeypatch.setattr(display, "_in_kernel", lambda: True)
    monkeypatch.setattr(RewritePlayer, "publish_static", lambda self: published.append(self))
    data, _ = formatters.DisplayFormatter().format(explained())
    assert data.keys() == {"application/vnd.jupyter.widget-view+json", "text/plain"}
    (player,) = published
    assert '<img alt="Run of y:0' in player._static()["text/html"]


def test_without_anywidget_the_words_remain(monkeypatch: pytest.MonkeyPatch) -> None:
    import dataflow_widgets.display as display

    def missing(_: Any) -> Any:
        raise ImportError("no anywidget")

    monkeypatch.setattr(display, "_widget", missing)
    told = explained()
    data, _ = mimebundle(told)
    assert data["text/html"] == told.to_html()


def test_a_page_that_knows_nothing_is_sent_everything_again() -> None:
    player = explained().player()
    sent = player.payload
    player._receive(player, {"kind": "hello", "version": len(sent["nodes"])}, [])
    assert player.payload == {}
    player._receive(player, {"kind": "hello", "version": 0}, [])
    assert player.payload == sent


def test_what_a_notebook_keeps_is_small() -> None:
    x = tf.placeholder(tf.float32, [None, 300], name="x")
    hidden = tf.layers.dense(x, 200, activation=tf.nn.relu)
    loss = tf.reduce_mean(tf.square(tf.layers.dense(hidden, 1)))
    train = tf.train.AdamOptimizer().minimize(loss)
    with tf.Session() as session:
        player = RewritePlayer(session, train, [x])
    player._receive(player, {"kind": "hello", "version": 10_000}, [])
    kept = json.dumps({k: v for k, v in player.get_state().items() if k != "_css"}, default=str)
    assert len(kept) < 60_000
    assert len(zlib.compress(kept.encode())) < 20_000


def test_the_page_asks_what_a_rewrite_saves_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rewrite_times, "BUDGET_SECONDS", 60.0)
    monkeypatch.setattr(rewrite_times, "_MOST_PAIRS", 10)
    x = tf.placeholder(tf.float32, [2], name="x")
    y = tf.tanh(tf.multiply(x, 1.0, name="once"), name="y")
    with tf.Session() as session:
        player = RewritePlayer(session, y, {x: [1.0, 2.0]})
        unfed = RewritePlayer(session, y, [x])
        sent: list[Any] = []
        for one in (player, unfed):
            one.send = lambda message, buffers=None: sent.append(message)
            one._receive(one, {"kind": "measure", "step": 2, "id": 7}, [])
    time, reason = [message["content"] for message in sent]
    assert time.keys() == {"before", "after", "saved", "pairs"}
    assert time["before"] > 0 < time["after"]
    assert json.loads(json.dumps(player._payload()["times"])) == {"2": time}
    assert reason == {"reason": "no value was given for x:0: call explain with a feed_dict"}


def test_describe_tells_what_was_measured() -> None:
    player = explained().player()
    player._times[2] = {"before": 8e-6, "after": 6.5e-6, "saved": 1.5e-6, "pairs": 40}
    assert "which saves 1.5 us of 8; 2 nodes left" in player.describe()
    player._times[2] |= {"saved": -2e-6}
    assert "which costs 2 us of 8; 2 nodes left" in player.describe()
    player._times[2] |= {"saved": None}
    assert " us" not in player.describe()
