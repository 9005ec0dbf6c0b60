"""What a task does with the messages of collective exchanges, and when others are lost; without servers."""

import contextlib
import socket
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

from dataflow import errors
from dataflow.cluster.execution import collectives as collectives_module
from dataflow.cluster.execution.collectives import Collectives
from dataflow.cluster.execution.ring_link import RANK_SHIFT, Joined, Told
from dataflow.cluster.execution.task_load import TaskLoad
from dataflow.cluster.transport.connection import Connection
from dataflow.cluster.transport.link_faults import LinkFaults
from dataflow.cluster.transport.messages import Kind, Message
from dataflow.cluster.transport.method_table import LATER
from dataflow.cluster.transport.remote_errors import restore_error
from dataflow.kernels.collective_groups import Member, Request
from dataflow.runtime.cancellation import Cancellation

PATIENCE = 60
HERE, OTHER, THIRD = (f"/job:worker/task:{i}" for i in range(3))
ADDRESSES = {HERE: "a:0", OTHER: "a:1", THIRD: "a:2", "/job:ps/task:0": "a:3"}
EXCHANGE = 9 << 32


class Pool:
    """Gives one end of a new connection; the test has the other ends, by task."""

    def __init__(self):
        self.others, self.given, self.taken, self.deadlines = {}, [], [], []
        self.faults = LinkFaults()
        #: What another task says of itself; a task that is not here cannot be reached.
        self.greetings = {}
        self.is_taken = threading.Event()

    def take(self, address, task="", timeout_seconds=None, deadline=None):
        self.taken.append((address, task))
        self.deadlines.append(deadline)
        if task not in self.greetings:
            raise errors.UnavailableError(None, None, f"{task} cannot be reached")
        connection, self.others[task] = ends(task)
        connection.greeting = self.greetings[task]
        self.is_taken.set()
        return connection

    def give(self, connection, may_end=False):
        assert may_end, "the other end of an exchange's connection may end it after a failure"
        self.given.append(connection)


_open = []


def ends(there, here=HERE):
    """Both ends of a connection in this process, by the names of who is at the other one."""
    made = [Connection(sock, peer, 1 << 30) for sock, peer in zip(
        socket.socketpair(), (there, here), strict=True
    )]  # fmt: skip
    _open.extend(made)
    return made


@pytest.fixture(autouse=True)
def _close_connections():
    yield
    while _open:
        _open.pop().close()


@pytest.fixture
def here():
    """The exchanges of task 0, which leads the groups of its job."""
    return Collectives(HERE, Pool(), lambda: ADDRESSES)


def request(kind="reduce", shape=(2,), size=2, **more):
    return Request("node", kind, 1, 1, size, "float32", shape, "Add", "Id", **more)


def head(task, asked=None, **more):
    """The head of a message of a member."""
    asked = asked or request()
    member = [task, "", f"{task}#1", [*asked]]
    return {"member": member, "incarnation": f"first {task}", "held": None, **more}


def join(collectives, task, asked=None):
    """Let a member of another task come; returns (its connection here, its own end)."""
    connection, other = ends(task)
    assert collectives._answer_join(connection, head(task, asked), []) is LATER
    return connection, other


def context(leader="", seconds=PATIENCE):
    """What the kernel of a member has."""
    session = SimpleNamespace(
        name="session#1", group_leader=leader, exchange_seconds=seconds, load=TaskLoad()
    )
    return SimpleNamespace(session=session, op_device="/cpu:0", cancellation=Cancellation())


class Running(threading.Thread):
    """A member of this task, in a thread."""

    def __init__(self, collectives, given, asked=None, value=(1.0, 2.0), seconds=PATIENCE):
        super().__init__(daemon=True)
        self.arguments = (given, asked or request(), np.array(value, np.float32), seconds)
        self.collectives, self.error, self.result = collectives, None, None
        self.start()

    def run(self):
        try:
            self.result = self.collectives.run(*self.arguments)
        except errors.OpError as error:
            self.error = error

    def ended(self):
        self.join(PATIENCE)
        assert not self.is_alive()
        return self

    def has_joined(self):
        """Wait until it has come to this task's meeting place."""
        for _ in range(PATIENCE * 200):
            if self.collectives._rendezvous.waiting(self.arguments[1]):
                return self
            threading.Event().wait(0.005)
        raise AssertionError("the member does not come")


# --- who meets where --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tasks", "leader"),
    [
        (["/job:worker/task:10", "/job:worker/task:9", "/job:ps/task:0"], "/job:worker/task:9"),
        (["/job:chief/task:0", "/job:worker/task:3"], "/job:worker/task:3"),
    ],
)
def test_a_group_meets_at_the_first_task_of_the_job(tasks, leader):
    addresses = {task: f"a:{n}" for n, task in enumerate(tasks)}
    pool = Pool()
    member = Collectives("/job:worker/task:10", pool, lambda: addresses)
    with pytest.raises(errors.UnavailableError, match=f"the group meets at {leader}, and that is"):
        member.run(context(), request(), np.ones(2), 5.0)
    assert pool.taken == [(addresses[leader], leader)]


def test_without_a_cluster_a_task_is_its_own_leader():
    alone = Collectives(HERE, Pool(), dict)
    result = alone.run(context(), request("gather", size=1), np.ones(2, np.float32), 5.0)
    assert result.tolist() == [1.0, 1.0]


def test_a_leader_outside_the_cluster(here):
    with pytest.raises(errors.UnavailableError, match="task:7 is not in the cluster that .*task:0"):
        here.run(context("/job:worker/task:7"), request(), np.ones(2), 5.0)


# --- a member of the leader's task ------------------------------------------------------------------


def test_a_late_exchange_names_who_has_come_and_who_is_missing(here):
    with pytest.raises(errors.DeadlineExceededError) as raised:
        here.run(context(seconds=0.05), request(size=3), np.ones(2), PATIENCE)
    assert f"{HERE} 'node'" in raised.value.message
    assert f"missing: {OTHER}, {THIRD}" in raised.value.message
    assert "0.05" in raised.value.message
    assert not here._rendezvous.waiting(request(size=3))


def test_a_group_that_is_not_all_of_the_job_names_nobody_missing(here):
    join(here, OTHER)
    told = here._answer_waiting(None, {"request": [*request()]}, [])
    assert told == {"came": [f"{OTHER} 'node'"], "missing": []}
    assert here._answer_waiting(None, {"request": [*request(size=3)]}, [])["missing"] == [
        HERE,
        THIRD,
    ]


def test_a_canceled_step_leaves_the_group(here):
    given = context()
    member = Running(here, given).has_joined()
    given.cancellation.cancel()
    error = member.ended().error
    assert isinstance(error, errors.CancelledError)
    assert error.message == "'node' was waiting when its step was canceled."
    assert not here._rendezvous.waiting(request())
    assert not given.cancellation._callbacks


def test_a_stopped_task_ends_its_members_and_takes_no_new_ones(here):
    member = Running(here, context()).has_joined()
    here.close()
    error = member.ended().error
    assert isinstance(error, errors.AbortedError) and "was stopped" in error.message
    with pytest.raises(errors.UnavailableError, match="task:0 has been stopped"):
        here.run(context(), request(), np.ones(2), 5.0)
    here.close()  # twice is once


def test_an_exchange_leaves_nothing_behind(here):
    given = context()
    here.run(given, request(size=1), np.ones(2, np.float32), 5.0)
    assert not here._ends and not here._mailboxes and not given.cancellation._callbacks


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (request("reduce", (1, 2), 1), [[1.0, 2.0]]),
        (request("gather", (1, 2), 1), [[1.0, 2.0]]),
        (request("reduce_scatter", (2, 1), 1), [[1.0], [2.0]]),
    ],
)
def test_results_have_the_shape_of_the_request(here, asked, expected):
    value = np.array([[[1.0, 0.0, 2.0, 0.0]]], np.float32)[..., ::2]  # neither shape nor order fit
    assert here.run(context(), asked, value, 5.0).tolist() == expected


# --- a member whose leader is another task ----------------------------------------------------------


def joining(seconds=PATIENCE, given=None, incarnation="first"):
    """A member of task 1, and the leader's end of its connection: (member, end, given)."""
    pool = Pool()
    pool.greetings[HERE] = {"incarnation": incarnation}
    given = given or context(seconds=seconds)
    member = Running(Collectives(OTHER, pool, lambda: ADDRESSES), given, seconds=seconds)
    assert pool.is_taken.wait(PATIENCE)
    return member, pool.others[HERE], given


def test_what_a_member_tells_the_leader():
    member, leader, _ = joining()
    call = leader.receive()
    assert call.kind == Kind.CALL and call.head["method"] == "collective_join"
    assert call.head["member"][0] == OTHER and call.head["incarnation"] == ""
    leader.send(Kind.ERROR, head={"code": errors.INVALID_ARGUMENT, "message": "they disagree"})
    error = member.ended().error
    assert isinstance(error, errors.InvalidArgumentError) and "they disagree" in error.message
    assert len(member.collectives.pool.given) == 1


def test_a_leader_that_is_lost_while_a_member_waits():
    member, leader, _ = joining()
    leader.receive()
    leader.close()
    error = member.ended().error
    assert isinstance(error, errors.UnavailableError)
    assert f"the group meets at {HERE}, and that is lost" in error.message


def test_a_member_whose_task_stops_waits_no_longer_for_the_leader():
    member, leader, _ = joining()
    leader.receive()
    member.collectives.close()
    assert isinstance(member.ended().error, errors.UnavailableError)


def test_a_leader_that_was_started_again_is_refused():
    """Its own session starts over, so that the group would never be complete."""
    pool = Pool()
    member = Collectives(OTHER, pool, lambda: ADDRESSES)
    for incarnation in ("first", "first", "second"):
        pool.greetings[HERE] = {"incarnation": incarnation}
        pool.is_taken.clear()
        running = Running(member, context())
        assert pool.is_taken.wait(PATIENCE)
        if incarnation == "first":
            pool.others[HERE].receive()
            pool.others[HERE].send(Kind.ERROR, head={"code": errors.ABORTED, "message": "over"})
            assert isinstance(running.ended().error, errors.AbortedError)
    error = running.ended().error
    assert isinstance(error, errors.UnavailableError) and "was started again" in error.message
    assert len(pool.given) == 3


def test_a_member_gives_up_with_the_leaders_words():
    """It asks who is missing, and leaves the group, on connections of their own."""
    member, leader, _ = joining(seconds=0.05)
    pool = member.collectives.pool
    leader.receive()
    told = {}
    for method, reply in (
        ("collective_waiting", {"came": [OTHER], "missing": [HERE]}),
        ("collective_leave", {}),
    ):
        for _ in range(PATIENCE * 200):
            if pool.others[HERE] is not leader and pool.others[HERE] not in told.values():
                break
            threading.Event().wait(0.005)
        told[method] = pool.others[HERE]
        call = told[method].receive()
        assert call.head["method"] == method
        told[method].send(Kind.REPLY, head=reply)
    assert call.head["member"][0] == OTHER and call.head["why"].startswith("gave up: ")
    leader.send(Kind.ERROR, head={"code": errors.ABORTED, "message": "one has left"})
    error = member.ended().error
    assert isinstance(error, errors.DeadlineExceededError)
    assert f"missing: {HERE}" in error.message
    assert len(pool.given) == 3


# --- the leader -------------------------------------------------------------------------------------


def test_all_members_are_told_who_they_are(here):
    _, first = join(here, THIRD, request("broadcast"))
    assert len(here._tickets) == 1
    _, second = join(here, OTHER, request("broadcast", sends=True))
    assert not here._tickets
    for end, rank in ((second, 0), (first, 1)):
        answer = end.receive()
        assert answer.kind == Kind.REPLY
        assert answer.head["rank"] == rank and answer.head["source"] == 0
        assert answer.head["members"] == [[OTHER, "node"], [THIRD, "node"]]
        assert answer.head["common"] is None  # they hold no memory
    assert not here._chosen  # kept until the last one is told


def test_the_source_is_a_rank(here):
    _, first = join(here, OTHER, request("broadcast"))
    join(here, THIRD, request("broadcast", sends=True))
    assert first.receive().head["source"] == 1


def test_members_that_disagree_are_told(here):
    shapes = {OTHER: (2,), THIRD: (3,)}
    for _, end in [join(here, task, request(shape=shape)) for task, shape in shapes.items()]:
        answer = end.receive()
        assert answer.kind == Kind.ERROR
        assert isinstance(restore_error(answer.head), errors.InvalidArgumentError)
    assert not here._tickets


def test_a_member_that_leaves_ends_the_round_of_its_own_exchange(here):
    _, end = join(here, OTHER)
    other_exchange = request()._replace(instance_key=2)
    _, stays = join(here, THIRD, other_exchange)
    here._answer_leave(None, head(OTHER, why="gave up"), [])
    answer = end.receive()
    assert answer.kind == Kind.ERROR and f"{OTHER} 'node' gave up" in answer.head["message"]
    assert [ticket.member.task for ticket in here._tickets.values()] == [THIRD]
    assert stays.is_quiet()


def test_a_connection_that_ends_takes_its_member_out(here):
    connection, _ = join(here, OTHER, request(size=3))
    _, waiting = join(here, THIRD, request(size=3))
    here.connection_closed(connection)
    answer = waiting.receive()
    assert answer.kind == Kind.ERROR
    assert f"{OTHER} 'node' has left: its connection has ended" in answer.head["message"]


@pytest.mark.parametrize("there", ["the same", "another", "nobody"])
def test_whose_connection_ends_may_live_on(here, there):
    """It is asked who it is; the sessions of one that is gone, or is another, take part no more."""
    pool = here.pool
    if there != "nobody":
        pool.greetings[OTHER] = {
            "incarnation": f"{'first' if there == 'the same' else 'next'} {OTHER}"
        }
    connection, _ = join(here, OTHER)
    join(here, THIRD)  # the exchange is complete
    done = threading.Event()
    look, here._look_for = here._look_for, lambda *who: (look(*who), done.set())
    began = time.monotonic()
    here.connection_closed(connection)
    assert done.wait(PATIENCE)
    assert here._rendezvous.has_member(OTHER) is (there == "the same")
    assert pool.taken == [("a:1", OTHER)]
    assert 0 < pool.deadlines[0] - began < PATIENCE
    _, end = join(here, THIRD)
    if there == "the same":
        assert end.is_quiet() and len(pool.given) == 1
    else:
        assert f"{OTHER} is gone: it died or was stopped" in end.receive().head["message"]


def test_a_connection_of_no_member_is_nobodys_end(here):
    connection, _ = ends(OTHER)
    here.connection_closed(connection)
    assert not here.pool.taken


# --- what arrives -----------------------------------------------------------------------------------


def arrived(rank, *values):
    return Message(Kind.COLLECTIVE, rank << RANK_SHIFT | 3, EXCHANGE, [np.array(values)], None, 0)


def test_an_array_waits_for_the_member_that_it_is_for(here):
    connection, _ = ends(OTHER)
    message = arrived(2, 1.0)
    here.receive(connection, message)
    assert not message.tensors  # its memory is the sender's
    assert here._mailbox((EXCHANGE, 2)).items.get_nowait().tolist() == [1.0]


def test_what_comes_after_an_exchange_is_dropped(here, monkeypatch):
    monkeypatch.setattr(collectives_module, "_MOST_OVER", 2)
    connection, _ = ends(OTHER)
    for rank in range(3):
        here._forget((EXCHANGE, rank))
    message = arrived(2, 1.0)
    here.receive(connection, message)
    assert not here._mailboxes and not message.tensors
    here.deliver(EXCHANGE, 1, np.ones(1))
    assert not here._mailboxes
    here.deliver(EXCHANGE, 0, np.ones(1))  # which is forgotten
    assert len(here._mailboxes) == 1


@pytest.mark.parametrize(("age", "is_kept"), [(599, True), (601, False)])
def test_arrays_of_a_member_that_never_begins_are_not_kept_for_ever(here, age, is_kept):
    here.deliver(EXCHANGE, 0, np.ones(1))
    here._mailbox((EXCHANGE, 0)).since -= age
    here.deliver(EXCHANGE + 1, 0, np.ones(1))
    assert ((EXCHANGE, 0) in here._mailboxes) is is_kept


def test_a_lost_connection_ends_the_exchanges_that_read_from_it(here):
    lost, _ = ends(OTHER)
    sound, _ = ends(THIRD)
    here.receive(lost, arrived(0, 1.0))
    here.receive(sound, arrived(1, 1.0))
    here.connection_closed(lost)
    assert f"{OTHER} is gone" in here._mailbox((EXCHANGE, 0)).error.message
    assert here._mailbox((EXCHANGE, 1)).error is None


def test_a_failure_that_another_member_tells_of(here):
    here._forget((EXCHANGE, 2))
    told = {"code": errors.ABORTED, "message": "it failed", "task": OTHER}
    here._abort(None, {"id": EXCHANGE, "ranks": [0, 2], "error": told}, [])
    assert isinstance(here._mailbox((EXCHANGE, 0)).error, Told)
    assert list(here._mailboxes) == [(EXCHANGE, 0)]


# --- a failure here ---------------------------------------------------------------------------------


class Abort(threading.Event):
    """A stand-in for `Collectives._abort` that notes what it is told."""

    def __call__(self, connection, head, tensors):
        self.head = head
        self.set()


@pytest.mark.parametrize(
    ("error", "at_others", "here_raised"),
    [
        (errors.InvalidArgumentError(None, None, "no.."), errors.InvalidArgumentError, errors.InvalidArgumentError),
        (errors.CancelledError(None, None, "no"), errors.UnavailableError, errors.CancelledError),
        (RuntimeError("no"), errors.UnavailableError, RuntimeError),
    ],
)  # fmt: skip
def test_all_others_are_told_of_a_failure(here, error, at_others, here_raised):
    here.pool.greetings[OTHER] = {}
    here._abort = Abort()
    members = [[HERE, "a"], [OTHER, "b"], [HERE, "c"], [OTHER, "d"]]
    member = Member(HERE, "", "session", request())
    raised = here._failed(error, member, Joined(EXCHANGE, members, 0, 0))
    assert type(raised) is here_raised
    text = f"The collective reduce of group 1, instance 1 failed at {HERE}: no."
    assert raised is error or raised.message == text
    assert here.pool.is_taken.wait(PATIENCE)
    assert here.pool.deadlines[0] - time.monotonic() < PATIENCE
    call = here.pool.others[OTHER].receive()
    here.pool.others[OTHER].send(Kind.REPLY)
    assert here._abort.wait(PATIENCE)
    for told, ranks in ((call.head, [1, 3]), (here._abort.head, [2])):
        assert (told["id"], told["ranks"]) == (EXCHANGE, ranks)
        assert type(restore_error(told["error"])) is at_others
        assert restore_error(told["error"]).message == text
    assert call.head["method"] == "collective_abort"


def test_what_one_was_told_is_not_told_on(here):
    error = errors.AbortedError(None, None, "elsewhere")
    member = Member(HERE, "", "session", request())
    joined = Joined(EXCHANGE, [[HERE, "a"], [OTHER, "b"]], 0, 0)
    assert here._failed(Told(error), member, joined) is error
    assert not here.pool.taken


def test_a_stopped_task_ends_all_exchanges_that_go_on(here):
    ended = []
    with contextlib.ExitStack() as going_on:
        for number in range(3):
            going_on.enter_context(here._until_close(lambda number=number: ended.append(number)))
        with here._until_close(lambda: ended.append("one that is over")):
            pass
        here.close()
    assert ended == [0, 1, 2]


def test_who_leaves_a_leader_that_is_lost_wakes_its_own_connection(monkeypatch):
    member = Collectives(OTHER, Pool(), lambda: ADDRESSES)

    def lost(*arguments):
        raise errors.UnavailableError(None, None, "the leader is lost")

    monkeypatch.setattr(member, "_tell", lost)
    woken = []
    member._leave(HERE, [OTHER, 1], "gave up", SimpleNamespace(wake=lambda: woken.append(True)))
    assert woken == [True]
