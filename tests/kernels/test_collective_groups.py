"""Who belongs together in a collective exchange, without any exchange."""

import pytest

from dataflow.errors import AbortedError, InvalidArgumentError, UnavailableError
from dataflow.kernels.collective_groups import Complete, Member, Rendezvous, Request


class Meeting:
    """A rendezvous, and the answers by the order in which members joined."""

    def __init__(self):
        self.rendezvous = Rendezvous()
        self.answers = {}
        self.tickets = []

    def join(self, task, session="a", shape=(2,), size=2, instance=1, kind="reduce", **more):
        request = Request("node", kind, 1, instance, size, "float32", shape, "Add", "Id", **more)
        member = Member(f"/job:worker/task:{task}", "", f"{session}{task}", request)
        number = len(self.tickets)
        self.tickets.append(None)
        ticket = self.rendezvous.join(member, lambda a: self.answers.setdefault(number, a))
        self.tickets[number] = ticket
        return number


def test_members_meet_in_the_order_of_their_tasks():
    meeting = Meeting()
    for task in (10, 2, 9):
        assert not meeting.answers
        meeting.join(task, size=3)
    assert [meeting.answers[n].rank for n in range(3)] == [2, 0, 1]
    assert len({answer.id for answer in meeting.answers.values()}) == 1


def test_a_member_that_is_ahead_waits_in_a_round_of_its_own():
    meeting = Meeting()
    first, ahead = meeting.join(0), meeting.join(0)
    meeting.join(1)
    assert first in meeting.answers and ahead not in meeting.answers
    meeting.join(1)
    assert meeting.answers[ahead].id != meeting.answers[first].id


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"shape": (3,)}, "the shape"),
        ({"kind": "gather"}, "what they do"),
        ({"size": 3}, "the group_size"),
    ],
)
def test_all_members_that_disagree_fail(other, words):
    meeting = Meeting()
    meeting.join(0)
    meeting.join(1, **other)
    for answer in meeting.answers.values():
        assert isinstance(answer, InvalidArgumentError)
        assert words in answer.message and "/job:worker/task:0" in answer.message
    assert len(meeting.answers) == 2
    meeting.join(0)
    meeting.join(1)
    assert isinstance(meeting.answers[3], Complete)


@pytest.mark.parametrize(
    ("sends", "words"), [((True, True), "one broadcast_send"), ((False, False), "no broad")]
)
def test_a_broadcast_has_one_source(sends, words):
    meeting = Meeting()
    for task, sending in enumerate(sends):
        meeting.join(task, kind="broadcast", sends=sending)
    assert all(words in answer.message for answer in meeting.answers.values())


def test_a_member_that_leaves_fails_its_round():
    meeting = Meeting()
    meeting.join(0)
    assert meeting.rendezvous.leave(meeting.tickets[0], "gave up")
    assert isinstance(meeting.answers[0], AbortedError)
    assert not meeting.rendezvous.leave(meeting.tickets[0], "again")
    meeting.join(0)
    meeting.join(1)
    assert isinstance(meeting.answers[2], Complete)


def test_a_lost_task_ends_the_sessions_of_its_group():
    meeting = Meeting()
    for task in (0, 1):
        meeting.join(task)
    waiting = meeting.join(0)
    meeting.rendezvous.lost("/job:worker/task:1", "is gone", {"a1"})
    assert isinstance(meeting.answers[waiting], UnavailableError)
    assert "/job:worker/task:1 is gone" in meeting.answers[waiting].message
    again = meeting.join(0)  # the same session: what it holds may differ from what others hold
    assert isinstance(meeting.answers[again], UnavailableError)
    meeting.join(0, session="b")
    new = meeting.join(1, session="b")
    assert isinstance(meeting.answers[new], Complete)


def test_news_of_a_task_that_has_come_back_since_ends_nothing():
    """That the old process is gone is found out after the new one has joined."""
    meeting = Meeting()
    for session in "ab":
        for task in (0, 1):
            meeting.join(task, session=session)
    meeting.rendezvous.lost("/job:worker/task:1", "is gone", {"a1"})
    meeting.join(0, session="b")
    new = meeting.join(1, session="b")
    assert isinstance(meeting.answers[new], Complete)


def test_a_task_that_begins_anew_ends_the_others_sessions():
    meeting = Meeting()
    for task in (0, 1):
        meeting.join(task)
    waiting = meeting.join(0)
    anew = meeting.join(1, session="b", instance=7)
    assert isinstance(meeting.answers[waiting], UnavailableError)
    assert "task:1 has joined the group anew" in meeting.answers[waiting].message
    assert anew not in meeting.answers
    meeting.join(0, session="b", instance=7)
    assert isinstance(meeting.answers[anew], Complete)
