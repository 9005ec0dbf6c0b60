"""What a thread has woken is tried in order, after the work at hand or in the middle of it."""

from __future__ import annotations

import functools

import pytest

from dataflow.cluster.execution.wake_queue import run_later, then_wake, try_woken, wake


def test_functions_run_after_the_work_in_the_order_in_which_they_were_woken() -> None:
    ran: list[str] = []

    def work() -> str:
        run_later(functools.partial(ran.append, "later"))
        for name in ("first", "second", "third"):
            wake(functools.partial(ran.append, name))
        ran.append("work")
        return "result"

    assert then_wake(work) == "result"
    assert ran == ["work", "first", "second", "third", "later"]


def test_woken_functions_can_be_tried_at_once() -> None:
    ran: list[str] = []

    def work() -> None:
        for name in ("first", "second"):
            wake(functools.partial(ran.append, name))
        try_woken()
        ran.append("work")

    then_wake(work)
    assert ran == ["first", "second", "work"]


def test_what_wakes_others_is_followed_by_them_and_an_inner_call_adds_to_the_queue() -> None:
    ran: list[str] = []

    def first() -> None:
        ran.append("first")
        wake(functools.partial(ran.append, "woken by first"))

    def work() -> None:
        then_wake(wake, first)  # the queue is the outer call's
        ran.append("work")

    then_wake(work)
    assert ran == ["work", "first", "woken by first"]


def test_an_error_leaves_no_queue_behind() -> None:
    ran: list[str] = []

    def work() -> None:
        wake(functools.partial(ran.append, "woken"))
        raise KeyError("lost")

    with pytest.raises(KeyError, match="lost"):
        then_wake(work)
    assert ran == ["woken"]
    run_later(functools.partial(ran.append, "at once"))  # as there is no queue
    assert ran == ["woken", "at once"]
