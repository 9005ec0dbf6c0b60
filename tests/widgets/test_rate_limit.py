"""`Pacer`: calls at most so often, from a thread that ends, for objects that may go."""

from __future__ import annotations

import gc
import threading
import weakref

import pytest

from dataflow_widgets import rate_limit
from tests.widgets.waiting import wait_until


class Counter:
    def __init__(self, seconds: float) -> None:
        self.calls = 0
        self.called = threading.Event()
        self.pacer = rate_limit.Pacer(self.count, seconds)

    def count(self) -> None:
        self.calls += 1
        self.called.set()


def test_many_questions_make_one_call_in_the_time() -> None:
    counter = Counter(1000.0)
    for _ in range(200):
        counter.pacer.ask()
    assert counter.called.wait(60)
    counter.pacer.ask()  # this one has to wait
    first = counter.pacer._last
    assert rate_limit._due[counter.pacer] == first + 1000.0
    assert counter.calls == 1
    counter.pacer.cancel()


def test_a_question_can_wait_and_be_taken_back() -> None:
    counter = Counter(0.0)
    counter.pacer.ask(after=1000)
    assert counter.pacer in rate_limit._due
    counter.pacer.cancel()
    assert counter.pacer not in rate_limit._due
    counter.pacer.ask(after=1000)
    counter.pacer.ask()  # the sooner of the two
    assert counter.called.wait(60)
    counter.pacer.cancel()


def test_an_error_is_shown_by_its_owner_and_others_go_on() -> None:
    class Broken:
        failure = ""

        def __init__(self) -> None:
            self.pacer = rate_limit.Pacer(self.fail, 0.0)

        def fail(self) -> None:
            raise ValueError("broken")

    broken, counter = Broken(), Counter(0.0)
    broken.pacer.ask()
    counter.pacer.ask()
    assert counter.called.wait(60)
    wait_until(lambda: bool(broken.failure))
    assert "ValueError: broken" in broken.failure


def test_what_is_no_longer_used_is_not_kept() -> None:
    counter = Counter(0.0)
    gone = weakref.ref(counter)
    counter.pacer.ask(after=0.01)
    del counter
    gc.collect()
    wait_until(lambda: gone() is None)  # it is held while it is called


def test_the_thread_ends_when_nothing_is_due(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_limit, "_IDLE_SECONDS", 0.02)
    counter = Counter(0.0)
    counter.pacer.ask()
    assert counter.called.wait(60)
    wait_until(lambda: rate_limit._thread is None)
    counter.called.clear()
    counter.pacer.ask()  # and starts again
    assert counter.called.wait(60)
