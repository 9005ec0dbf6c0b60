"""Who belongs together in a collective exchange: members arrive, and a full round is answered.

`Rendezvous` does no input or output and waits for nothing: it is told of arrivals and losses, and calls
each member's ``answer`` once. One process has one for its own sessions; a cluster's group meets at the
one of its leader.
"""

from __future__ import annotations

import itertools
import re
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

from dataflow.errors import AbortedError, InvalidArgumentError, OpError, UnavailableError

#: Groups that are remembered, and sessions of each whose time is over.
_MOST_GROUPS, _MOST_SESSIONS = 1024, 64


class Request(NamedTuple):
    """What a node wants: the same on all members but for its name, and for ``sends``."""

    name: str
    #: "reduce", "reduce_scatter", "gather" or "broadcast".
    kind: str
    group_key: int | str
    instance_key: int
    group_size: int
    dtype: str
    shape: tuple[int, ...]
    merge: str = ""
    final: str = ""
    #: Whether it is a broadcast's source.
    sends: bool = False

    @property
    def what(self) -> str:
        """The exchange in words."""
        return f"the collective {self.kind} of group {self.group_key}, instance {self.instance_key}"

    @property
    def value(self) -> str:
        """Dtype and shape as errors show them."""
        return f"{self.dtype}{list(self.shape)}"


class Member(NamedTuple):
    """Who asks: a node of a session, on a device of a task."""

    task: str
    device: str
    session: str
    request: Request

    @property
    def who(self) -> tuple[str, str]:
        """What tells the members of one exchange from each other."""
        return self.task, self.request.name

    def __str__(self) -> str:
        return f"{self.task} {self.request.name!r}".strip()


class Complete(NamedTuple):
    """All have come: the number of this exchange, the members by rank, and one's own rank."""

    id: int
    tickets: Sequence[Ticket]
    rank: int

    @property
    def members(self) -> list[Member]:
        """The members by rank."""
        return [ticket.member for ticket in self.tickets]


Answer = Callable[[Complete | OpError], None]


class Ticket:
    """One member's place in a round; ``value`` is the caller's."""

    def __init__(self, member: Member, answer: Answer, value: Any = None) -> None:
        self.member = member
        self.value = value
        self.answer = answer
        self.is_open = True


class _Group:
    def __init__(self) -> None:
        self.sessions: dict[str, str] = {}  # by task
        self.over: OrderedDict[str, str] = OrderedDict()  # sessions, and why they are
        self.rounds: dict[int, list[list[Ticket]]] = {}  # by instance, those that are not full

    def end_sessions(self, why: str) -> list[Ticket]:
        """Let all sessions of now fail from now on; return the tickets of those that wait."""
        for session in self.sessions.values():
            self.over[session] = why
        while len(self.over) > _MOST_SESSIONS:
            self.over.popitem(last=False)
        self.sessions.clear()
        waiting = [t for rounds in self.rounds.values() for round in rounds for t in round]
        self.rounds.clear()
        return waiting


class Rendezvous:
    """The groups whose members meet here.

    A group consists of sessions. When a task of it is lost, or joins with another session, the sessions
    that made up the group fail at their next exchange, and the group begins anew with new ones: a step
    that some members have made and others have not cannot be continued.
    """

    def __init__(self) -> None:
        self._groups: OrderedDict[int | str, _Group] = OrderedDict()
        self._ids = itertools.count(secrets.randbits(31) << 32)
        self._lock = threading.Lock()

    def join(self, member: Member, answer: Answer, value: Any = None) -> Ticket:
        """Take a member in; ``answer`` is called once, by the thread of the last to come or of `lost`."""
        ticket = Ticket(member, answer, value)
        failed: list[Ticket] = []
        error: OpError | None = None
        complete: list[Ticket] = []
        with self._lock:
            key = member.request.group_key
            group = self._groups.setdefault(key, _Group())
            self._groups.move_to_end(key)
            if len(self._groups) > _MOST_GROUPS:
                self._groups.popitem(last=False)
            if member.session in group.over:
                failed, error = [ticket], _ended(member, group.over[member.session])
            else:
                if group.sessions.get(member.task, member.session) != member.session:
                    why = f"{member.task} has joined the group anew, with another session"
                    failed = group.end_sessions(why)
                    error = _ended(member, why)
                group.sessions[member.task] = member.session
                complete, disagreement = self._seat(group, ticket)
                if disagreement is not None:
                    failed, error, complete = [*failed, *complete], disagreement, []
        for one in failed:
            assert error is not None
            _answer(one, type(error)(None, None, error.message))  # each raises its own
        if complete:
            complete.sort(key=lambda t: [_natural(text) for text in _place(t.member)])
            number = next(self._ids)
            for rank, one in enumerate(complete):
                _answer(one, Complete(number, complete, rank))
        return ticket

    def _seat(self, group: _Group, ticket: Ticket) -> tuple[list[Ticket], OpError | None]:
        """Put a ticket into the first round that lacks its member; return a round that is over."""
        request = ticket.member.request
        rounds = group.rounds.setdefault(request.instance_key, [])
        for tickets in rounds:
            if all(other.member.who != ticket.member.who for other in tickets):
                break
        else:
            tickets = []
            rounds.append(tickets)
        tickets.append(ticket)
        # Compared when all have come, so that each of them gets the error.
        if len(tickets) < min(t.member.request.group_size for t in tickets):
            return [], None
        disagreement = _disagreement([t.member for t in tickets])
        rounds.remove(tickets)
        if not rounds:
            del group.rounds[request.instance_key]
        return tickets, disagreement

    def leave(self, ticket: Ticket, why: str) -> bool:
        """A member gives up: its round fails. Returns False where the round is over already."""
        request = ticket.member.request
        with self._lock:
            group = self._groups.get(request.group_key)
            rounds = group.rounds.get(request.instance_key, []) if group is not None else []
            found = next((tickets for tickets in rounds if ticket in tickets), None)
            if found is None:
                return False
            rounds.remove(found)
        for one in found:
            text = f"{request.what} failed: {ticket.member} {why}."
            _answer(one, AbortedError(None, None, text[0].upper() + text[1:]))
        return True

    def has_member(self, task: str) -> bool:
        """Whether the task belongs to a group."""
        with self._lock:
            return any(task in group.sessions for group in self._groups.values())

    def lost(self, task: str, why: str, sessions: Collection[str]) -> None:
        """A task is gone, and ``sessions`` that it took part with: all who wait with it fail, and those
        of its groups that come later. Groups that it has joined again since then go on."""
        failed = []
        with self._lock:
            for group in self._groups.values():
                if group.sessions.get(task) in sessions:
                    failed += group.end_sessions(f"{task} {why}")
        for ticket in failed:
            _answer(ticket, _ended(ticket.member, f"{task} {why}"))

    def waiting(self, request: Request) -> list[Member]:
        """The members that have come for the oldest round of an exchange."""
        with self._lock:
            group = self._groups.get(request.group_key)
            rounds = group.rounds.get(request.instance_key) if group is not None else None
            return [ticket.member for ticket in rounds[0]] if rounds else []


def _answer(ticket: Ticket, outcome: Complete | OpError) -> None:
    if ticket.is_open:
        ticket.is_open = False
        ticket.answer(outcome)


def _place(member: Member) -> tuple[str, str, str]:
    return member.task, member.device, member.request.name


def _natural(text: str) -> list[Any]:
    """A key that sorts ``task:10`` after ``task:9``."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", text)]


def _ended(member: Member, why: str) -> UnavailableError:
    return UnavailableError(
        None,
        None,
        f"It cannot take part in {member.request.what}: {why}. Make a new "
        "session on every member, and give their variables the same values again.",
    )


def _disagreement(members: Sequence[Member]) -> InvalidArgumentError | None:
    """The error for members that want different things."""
    last = members[-1].request
    differ = [
        words
        for words, field in (
            ("on what they do", "kind"),
            ("on the group_size", "group_size"),
            ("on the dtype", "dtype"),
            ("on the shape", "shape"),
            ("on the merge_op", "merge"),
            ("on the final_op", "final"),
        )
        if any(getattr(m.request, field) != getattr(last, field) for m in members)
    ]
    if last.kind == "broadcast" and not differ:
        num_sources = sum(m.request.sends for m in members)
        if num_sources > 1:
            differ = ["on who sends: there is one broadcast_send in a group"]
        elif not num_sources:
            differ = ["on who sends: there is no broadcast_send among them"]
    if not differ:
        return None
    rows = "".join(
        f"\n  {m}: {m.request.kind} of {m.request.value}, group_size {m.request.group_size}"
        + (f", {m.request.merge} {m.request.final}" if m.request.merge else "")
        + (", the source" if m.request.sends else "")
        for m in members
    )
    return InvalidArgumentError(
        None,
        None,
        f"The members of collective group {last.group_key}, instance {last.instance_key} do not agree "
        f"{differ[0]}:{rows}\nAll members of an instance do the same with tensors of the same shape and "
        "dtype; give another exchange an instance_key of its own.",
    )
