"""`Session.explain` of a session on a cluster: what each task does in a step, and in what code."""

from __future__ import annotations

from typing import Any, NamedTuple

from dataflow.introspect import offers
from dataflow.introspect.offers import Offer
from dataflow.introspect.sections import as_html, as_text, rows


class Part(NamedTuple):
    """What a task does in one go, when everything is there that it waits for.

    ``nodes`` names them in order; ``after`` the numbers (from 0) of the task's parts that come
    first; ``receives`` and ``sends`` are (tensor, task), the tensor "" where only the order counts.
    ``may_wait`` says that it waits for other steps too, as a dequeue does. ``journal`` are its
    rewrites, as dictionaries of `rewrites.journal.Hit`, and ``source`` its code as it runs after
    its first few runs.
    """

    nodes: list[str]
    after: list[int]
    receives: list[tuple[str, str]]
    sends: list[tuple[str, str]]
    may_wait: bool
    journal: list[dict[str, Any]]
    source: str


class ClusterExplanation(NamedTuple):
    """A run on a cluster taken apart: ``tasks`` has the parts of each task's partition by its name.

    ``offers`` are as those of an `Explanation`.
    """

    fetches: list[str]
    feeds: list[str]
    tasks: dict[str, list[Part]]
    offers: list[Offer]

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON-safe dictionaries and lists."""
        tasks = {task: [part._asdict() for part in parts] for task, parts in self.tasks.items()}
        told = [offer._asdict() for offer in self.offers]
        return {**self._asdict(), "tasks": tasks, "offers": told}

    def __repr__(self) -> str:
        return as_text(self._sections())

    def _repr_html_(self) -> str:
        return as_html(self._sections())

    def _sections(self) -> list[tuple[str, str]]:
        num_messages = sum(
            len({to for _, to in part.sends}) for parts in self.tasks.values() for part in parts
        )
        sections = [
            (
                f"run of {', '.join(self.fetches) or 'nothing'}"
                + (f", fed {', '.join(self.feeds)}" if self.feeds else ""),
                f"tasks: {len(self.tasks)}, parts: {sum(map(len, self.tasks.values()))}, "
                f"messages between tasks: {num_messages}",
            )
        ]
        if self.offers:
            sections.append(offers.section(self.offers))
        for task, parts in self.tasks.items():
            for number, part in enumerate(parts, 1):
                title = f"{task}, part {number} of {len(parts)}"
                sections.append((title, f"{_words(part)}\n{part.source.rstrip()}"))
        return sections


def _words(part: Part) -> str:
    lines = [f"waits for {_tensor(name)} from {task}" for name, task in part.receives]
    lines += [f"waits for part {number + 1}" for number in part.after]
    if part.may_wait:
        lines.append("may wait for other steps")
    lines = lines or ["begins at once"]
    lines += [f"sends {_tensor(name)} to {task}" for name, task in part.sends]
    lines += [f"rewritten: {h['equation']}    at {h['before']}" for h in part.journal]
    return rows(lines)


def _tensor(name: str) -> str:
    return name or "a signal"


def explain_tasks(remote: Any, fetches: Any, feeds: list[Any]) -> ClusterExplanation:
    """Has ``remote`` cut the graph and each task compile and rewrite its partition."""
    told = remote.explain(fetches, feeds)
    tasks = {
        task: [
            Part(
                part["nodes"],
                part["after"],
                [(name, other) for name, other in part["receives"]],
                [(name, other) for name, other in part["sends"]],
                part["may_wait"],
                part["journal"],
                part["source"],
            )
            for part in parts
        ]
        for task, parts in told["tasks"].items()
    }
    named = {name for parts in tasks.values() for part in parts for name in part.nodes}
    found = offers.find(op for op in remote.graph.get_operations() if op.name in named)
    return ClusterExplanation(told["fetches"], told["feeds"], tasks, found)
