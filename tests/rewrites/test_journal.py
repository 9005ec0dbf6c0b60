"""The journal of rewrites: what an entry says, and a journal that is watched or stopped."""

from __future__ import annotations

import pytest

import dataflow as tf
from dataflow.rewrites.journal import Enough, Hit, WatchedJournal


def hit(number: int) -> Hit:
    return Hit("rule", "a -> b", f"before{number}:0", f"after{number}:0")


def test_an_entry_of_a_rule_has_its_equation_and_both_nodes() -> None:
    def rule(t: object) -> None:
        """f(x) -> x

        Because of reasons.
        """

    def nameless(t: object) -> None: ...

    with tf.Graph().as_default():
        parts = tf.split(tf.constant([1.0, 2.0]), 2, name="parts")
        new = tf.constant(1.0, name="new")
        found = Hit.of(rule, parts[1], new)
        assert found == Hit("rule", "f(x) -> x", "parts:1", "new:0", ("parts",), ("new",))
        assert Hit.of(nameless, parts[0], new).equation == "nameless"


def test_a_watched_journal_tells_of_each_entry_after_it_is_in() -> None:
    told: list[tuple[str, int]] = []
    journal = WatchedJournal(lambda h: told.append((h.before, len(journal))))
    for number in range(3):
        journal.append(hit(number))
    assert told == [("before0:0", 1), ("before1:0", 2), ("before2:0", 3)]
    assert [h.before for h in journal] == ["before0:0", "before1:0", "before2:0"]


def test_it_stops_when_there_are_as_many_as_were_asked_for() -> None:
    told: list[Hit] = []
    journal = WatchedJournal(told.append, 2)
    journal.append(hit(0))
    with pytest.raises(Enough):
        journal.append(hit(1))
    assert len(journal) == len(told) == 2
    silent = WatchedJournal(None, 1)
    with pytest.raises(Enough):
        silent.append(hit(0))
