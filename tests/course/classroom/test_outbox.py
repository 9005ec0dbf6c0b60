"""The learner's queue: nothing is sent twice or lost, and it never grows without end."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dataflow.course.classroom import outbox as outboxes
from dataflow.course.classroom.outbox import Outbox, Reply, uid_of

OK = {"learner": 1, "name": "Ada"}


def joined(**more: Any) -> Outbox:
    box = Outbox("KMT4RX", "k" * 32, "Ada", **more)
    box.next_request()
    box.heard(Reply(200, OK))
    return box


def put(box: Outbox, *uids: str) -> None:
    for uid in uids:
        box.put("/api/answers", {"id": uid}, uid)


def uids(box: Outbox) -> list[str]:
    request = box.next_request()
    return [] if request is None else [a["id"] for a in json.loads(request.body)["answers"]]


def accepted(*uids: str) -> Reply:
    return Reply(200, {"accepted": list(uids), "refused": []})


def test_it_joins_first_and_sends_what_waited() -> None:
    box = Outbox("KMT4RX", "k" * 32, "Ada")
    put(box, "a", "b")
    request = box.next_request()
    assert request is not None
    assert (request.path, request.token) == ("/api/join", "")
    box.heard(Reply(200, OK))
    assert uids(box) == ["a", "b"]
    box.heard(accepted("a", "b"))
    assert (box.next_request(), box.num_sent, box.num_waiting) == (None, 2, 0)
    put(box, "a")
    assert box.next_request() is None, "what was sent is not sent again"


def test_what_comes_while_something_is_sent_goes_next() -> None:
    box = joined()
    put(box, "a")
    assert uids(box) == ["a"]
    put(box, "b")
    box.heard(accepted("a"))
    assert uids(box) == ["b"]


def test_a_server_that_is_gone_gets_it_later_and_the_pause_grows() -> None:
    box = joined()
    put(box, "a")
    pauses = []
    for _ in range(10):
        assert uids(box) == ["a"]
        pauses.append(box.failed())
    assert 0.5 <= pauses[0] <= 1
    assert 15 <= pauses[-1] <= 30
    assert uids(box) == ["a"]
    assert box.heard(accepted("a")) == 0
    assert box.num_failures == 0


def test_what_is_refused_is_not_sent_again_and_said() -> None:
    box = joined()
    put(box, "a", "b")
    uids(box)
    box.heard(
        Reply(200, {"accepted": ["a"], "refused": [{"id": "b", "message": "No such choice."}]})
    )
    assert (box.num_sent, box.num_waiting, box.said) == (1, 0, "No such choice.")


def test_too_many_messages_wait_as_long_as_the_server_says() -> None:
    box = joined()
    put(box, "a")
    uids(box)
    assert box.heard(Reply(429, {}, 5)) >= 5
    assert uids(box) == ["a"]


@pytest.mark.parametrize("status", [400, 413])
def test_a_message_that_is_too_long_or_spoiled_is_cut_in_two(status: int) -> None:
    box = joined()
    put(box, *"abcd")
    assert len(uids(box)) == 4
    box.heard(Reply(status, {}))
    assert len(uids(box)) == 2
    box.heard(accepted("a", "b"))
    assert uids(box) == ["c", "d"]


def test_a_class_that_began_anew_is_joined_again() -> None:
    box = joined()
    put(box, "a")
    uids(box)
    assert box.heard(Reply(401, {"message": "This token is nobody's."})) > 0, "no endless loop"
    request = box.next_request()
    assert request is not None
    assert request.path == "/api/join"
    box.heard(Reply(200, OK))
    assert uids(box) == ["a"]


@pytest.mark.parametrize(("teacher", "status"), [(False, 403), (True, 401)])
def test_a_wrong_code_ends_it(teacher: bool, status: int) -> None:
    box = Outbox("KMT4RX", "k" * 32, "", teacher)
    put(box, "a")
    box.next_request()
    box.heard(Reply(status, {"message": "This is not the code."}))
    assert (box.state, box.said, box.num_waiting) == ("refused", "This is not the code.", 0)
    put(box, "b")
    assert box.next_request() is None


def test_something_else_that_answers_is_no_class() -> None:
    box = Outbox("KMT4RX", "k" * 32, "")
    box.next_request()
    box.heard(Reply(200, {}))
    assert (box.state, box.said) == ("refused", "What answers there is no class.")


def test_the_queue_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outboxes, "MAX_WAITING", 3)
    box = joined()
    put(box, *"abcde")
    assert (uids(box), box.num_dropped) == (["c", "d", "e"], 2)


def test_a_notebook_goes_alone_and_its_reply_is_told() -> None:
    box, told = joined(), []
    put(box, "a")
    box.put("/api/notebooks?file=a.ipynb", b"{}", "n", told.append)
    put(box, "b")
    assert uids(box) == ["a"]
    box.heard(accepted("a"))
    request = box.next_request()
    assert request is not None
    assert (request.path, request.body) == ("/api/notebooks?file=a.ipynb", b"{}")
    box.heard(Reply(422, {"message": "No."}))
    assert (told[0].status, box.said) == (422, "No.")
    assert uids(box) == ["b"]


def test_an_answer_has_the_same_name_in_every_kernel() -> None:
    attempt = {"right": True, "words": "ä", "given": ["b"]}
    assert uid_of("lesson01.q1", attempt, 1) == uid_of(
        "lesson01.q1", dict(reversed(attempt.items())), 1
    )
    assert uid_of("lesson01.q1", attempt, 1) != uid_of("lesson01.q1", attempt, 2)
    assert 8 <= len(uid_of("lesson01.q1", attempt, 1)) <= 64
