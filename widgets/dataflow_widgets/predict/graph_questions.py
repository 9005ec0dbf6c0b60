"""Questions about a run of a graph: which nodes it leaves out, in which order it computes them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from dataflow_widgets.predict.question import Grade, Question, brief, listed, picks, subset_grade
from dataflow_widgets.text_description import plural

_MAX_ORDERED = 12
_COLORS = ("", "device", "type")


def op_name(element: Any) -> str:
    """The operation's name for an operation, a tensor, a variable or a name."""
    return element if isinstance(element, str) else str(getattr(element, "op", element).name)


def recorded_run(session: Any, fetches: Any, feed_dict: Any) -> Any:
    """The `Trace` of one real run; the session's variables are afterwards what they were."""
    from dataflow.introspect import variables
    from dataflow.runtime.stepper import record

    before = variables.snapshot(session)
    try:
        return record(session, fetches, feed_dict)
    finally:
        if before is not None:
            variables.restore(session, before)


def fetch_words(graph: Any, fetches: Any) -> str:
    """The names of what is fetched."""
    from dataflow.introspect.graph_json import resolve

    elements, _ = resolve(graph, fetches)
    return listed([op_name(e) for e in elements])


def _asked_about(graph: Any, show: Any) -> set[str] | None:
    """The names that a question is about: of what a run of ``show`` needs, or for which it is true."""
    if show is None:
        return None
    if callable(show) and not hasattr(show, "op"):
        return {op.name for op in graph.get_operations() if show(op)}
    from dataflow.introspect.graph_json import needed_names

    return set(needed_names(graph, show)["needed"])


class NodesQuestion(Question):
    """Which nodes of a graph are meant?"""

    form = "nodes"
    what = "node"
    hints = (
        "Take each node in turn and ask the question of it alone.",
        "Look at what goes into the node and at what comes out of it.",
        "Begin with the node of which you are surest, and look for all others of which the same is true.",
    )

    def __init__(
        self,
        text: str,
        right: Any,
        graph: Any,
        show: Any = None,
        color: str = "",
        answer_color: str = "",
    ) -> None:
        """``right``: operations, tensors or names, or a function of an operation, true where
        meant. ``show``: what is asked about, as fetches or such a function; None: the whole graph.
        ``color``: "device" or "type", what the nodes are colored by; "" for their kind.
        ``answer_color``: the same, when the answer is shown."""
        from dataflow.introspect.graph_json import graph_to_dict

        for name, given in (("color", color), ("answer_color", answer_color)):
            if given not in _COLORS:
                raise ValueError(
                    f"{name}= takes {listed([repr(c) for c in _COLORS])}, got {given!r}"
                )
        if callable(right) and not hasattr(right, "op"):
            right = [op for op in graph.get_operations() if right(op)]
        self.text = text
        self._color, self._answer_color = color, answer_color
        every = graph_to_dict(graph)["nodes"]
        self._right = {op_name(each) for each in right}
        unknown = self._right - {node["name"] for node in every}
        if unknown:
            raise ValueError(f"not in this graph: {listed(sorted(unknown))}")
        asked = _asked_about(graph, show)
        self.nodes = [node for node in every if asked is None or node["name"] in asked]
        self._names = [node["name"] for node in self.nodes]
        outside = self._right - set(self._names)
        if outside:
            raise ValueError(f"show= leaves out {listed(sorted(outside))}, which the answer names")

    def public(self) -> dict[str, Any]:
        return {"color": self._color}

    def options_words(self) -> str:
        from dataflow_widgets.text_description import describe_nodes

        return describe_nodes(self.nodes, limit=60)

    def grade(self, given: Any, tries: int) -> Grade:
        marked = set(picks(given, self._names, "node names"))
        grade = subset_grade(marked, self._right, self.what)
        false = [name for name in self._names if name in marked - self._right]
        if grade.right or not tries or not false:
            return grade
        return Grade(False, f"{grade.words} {self._why_not(false[0])}")

    def mistakes(self, given: Any) -> list[str]:
        return [name for name in given if name not in self._right]

    def marks(self) -> dict[str, Any]:
        solution = [i for i, name in enumerate(self._names) if name in self._right]
        return {"solution": solution, "color": self._answer_color}

    def _why_not(self, name: str) -> str:
        return f"{name} does not belong to them."

    def given_words(self, given: Any) -> str:
        return listed(given) if given else "no node"

    def explanation(self) -> str:
        return f"The nodes meant: {listed([n for n in self._names if n in self._right])}."


class PrunedQuestion(NodesQuestion):
    """Which nodes does a run leave out?"""

    what = "pruned node"

    def __init__(
        self, fetches: Any, feed_dict: Any, session: Any, graph: Any, show: Any = None
    ) -> None:
        from dataflow.introspect.graph_json import needed_names

        graph = graph if graph is not None else getattr(session, "graph", None)
        if graph is None:
            from dataflow.graph.default_stacks import default_graph

            graph = default_graph()
        self._of = needed_names(graph, fetches, feed_dict)
        self._fetched = fetch_words(graph, fetches)
        fed = listed(self._of["fed"]) if self._of["fed"] else ""
        text = (
            f"A run fetches {self._fetched}. Which nodes will be pruned: neither computed nor fed? "
            "Mark them in the graph."
        )
        if fed:
            text = (
                f"A run fetches {self._fetched} and is fed {fed}. Which nodes will be pruned: neither "
                "computed nor fed? Mark them in the graph."
            )
        asked = _asked_about(graph, show)
        right = [name for name in self._of["pruned"] if asked is None or name in asked]
        super().__init__(text, right, graph, show)
        begin = f"Start at {self._fetched} and walk back, against the arrows."
        path = (
            "Take each node in turn: is there a path along the arrows from it to "
            f"{self._fetched}? If not, mark it."
        )
        if fed:
            begin = (
                f"Start at {self._fetched} and walk back, against the arrows; stop at {fed}, whose "
                "value is given."
            )
            path = (
                "Take each node in turn: is there a path along the arrows from it to "
                f"{self._fetched} that no fed node cuts? If not, mark it."
            )
        self.hints = (
            f"{begin} What you never reach is pruned.",
            path,
            f"{plural(len(right), 'node')} to be marked: those with no way to what is fetched.",
        )
        self._trace = recorded_run(session, fetches, feed_dict) if session is not None else None

    def _why_not(self, name: str) -> str:
        if name in self._of["fed"]:
            why = "its value is fed, so it is part of the run"
        elif name in self._of["fetched"]:
            why = "you asked for it"
        else:
            why = f"{' -> '.join(self._path(name))} is a path to what is fetched"
        return f"{name} is not pruned: {why}."

    def _path(self, start: str) -> list[str]:
        """The shortest path from ``start`` to a fetched node through nodes that run."""
        needed, fetched = set(self._of["needed"]), set(self._of["fetched"])
        readers: dict[str, list[str]] = {}
        for node in self.nodes:
            for source in node["inputs"]:
                readers.setdefault(source.lstrip("^").partition(":")[0], []).append(node["name"])
        paths = [[start]]
        seen = {start}
        for path in paths:
            if path[-1] in fetched:
                return path
            for reader in readers.get(path[-1], []):
                if reader in needed and reader not in seen:
                    seen.add(reader)
                    paths.append([*path, reader])
        return [start]

    def explanation(self) -> str:
        pruned = [n for n in self._names if n in self._right]
        words = (
            f"Pruned: {listed(pruned)}. Needed for {self._fetched}: {listed(self._of['needed'])}."
        )
        if self._trace is not None:
            words += (
                f" The real run took {plural(len(self._trace.steps), 'step')}"
                f" ({', '.join(step.op_name for step in self._trace.steps[:12])}"
                f"{', ...' if len(self._trace.steps) > 12 else ''})"
                f" and returned {brief(self._trace.result)}."
            )
        return words

    def marks(self) -> dict[str, Any]:
        index = {name: i for i, name in enumerate(self._names)}
        keys = ("fetched", "fed", "needed")
        run = {key: sorted(index[n] for n in self._of[key] if n in index) for key in keys}
        return super().marks() | run


class OrderQuestion(Question):
    """In which order can the nodes of a run be computed?"""

    form = "order"

    def __init__(self, session: Any, fetches: Any, feed_dict: Any, ops: Any) -> None:
        self._trace = recorded_run(session, fetches, feed_dict)
        graph = session.graph
        ran = list(dict.fromkeys(step.op_name for step in self._trace.steps))
        self._before = _ancestors(graph, ran, set(self._trace.feeds))
        if ops is not None:
            wanted = {op_name(each) for each in ops}
            unknown = wanted - set(ran)
            if unknown:
                raise ValueError(
                    f"ops= names {listed(sorted(unknown))}, which this run does not compute"
                )
            ran = [name for name in ran if name in wanted]
        if not 2 <= len(ran) <= _MAX_ORDERED:
            raise ValueError(
                f"this run computes {plural(len(ran), 'node')}; a question has 2 to {_MAX_ORDERED}. "
                "Choose some with ops=."
            )
        self._ran = ran
        self._items = self._shuffled(ran)
        self._types = {name: graph.get_operation_by_name(name).type for name in ran}
        self.text = (
            f"A run fetches {fetch_words(graph, fetches)}. Put its nodes in an order in which they "
            "can be computed. More than one order can be right."
        )
        self.hints = (
            "A node can run when everything that it reads is there. Which nodes read nothing?",
            "Go along each edge: its beginning stands before its end. Nodes with no path between "
            "them may stand either way.",
            "Begin with all nodes that read nothing. Then, again and again, take one whose inputs all "
            "stand above it.",
        )

    def _shuffled(self, names: Sequence[str]) -> list[str]:
        """The same mixed order each time, and not a right one where there is a wrong one."""
        dice = random.Random(" ".join(names))
        items = list(names)
        for _ in range(20):
            dice.shuffle(items)
            if self._broken(items):
                break
        return items

    def _broken(self, order: Sequence[str]) -> list[tuple[str, str]]:
        """Pairs (node, what it needs) where the node stands before what it needs."""
        place = {name: i for i, name in enumerate(order)}
        return [
            (name, needed)
            for name in order
            for needed in sorted(self._before[name] & set(order), key=place.__getitem__)
            if place[needed] > place[name]
        ]

    def public(self) -> dict[str, Any]:
        return {
            "items": [
                {"id": name, "text": f"{name}  ({self._types[name]})"} for name in self._items
            ]
        }

    def options_words(self) -> str:
        return "\n".join(f"  {name}: {self._types[name]}" for name in self._items)

    def grade(self, given: Any, tries: int) -> Grade:
        order = picks(given, self._items, "nodes")
        if len(order) != len(self._items):
            raise ValueError(f"needed all {len(self._items)} nodes, got {len(order)}")
        broken = self._broken(order)
        if not broken:
            same = order == self._ran
            return Grade(
                True,
                "Right: it is the very order of the recorded run."
                if same
                else "Right: every node comes after what it needs. The recorded run took another "
                "order, just as valid.",
            )
        total = sum(len(self._before[n] & set(order)) for n in order)
        words = f"{total - len(broken)} of {total} dependencies are respected."
        if tries:
            first, second = broken[0]
            words += f" {first} stands before {second}, whose value it needs."
        return Grade(False, words)

    def given_words(self, given: Any) -> str:
        return " -> ".join(given)

    def explanation(self) -> str:
        free = [
            (a, b)
            for i, a in enumerate(self._ran)
            for b in self._ran[i + 1 :]
            if a not in self._before[b] and b not in self._before[a]
        ]
        words = f"The recorded run computed {', then '.join(self._ran)}."
        if free:
            a, b = free[-1]
            words += (
                f" It could have been otherwise: no path joins {a} and {b}, so either may come "
                "first, or both at once on two processors."
            )
        else:
            words += " Each node needs the one before it, so there is no other order."
        return words


def _ancestors(graph: Any, ran: Sequence[str], fed: set[str]) -> dict[str, set[str]]:
    """For each operation of a run, in execution order, the names of all those it needs."""
    before: dict[str, set[str]] = {}
    for name in ran:
        op = graph.get_operation_by_name(name)
        sources = [t.op.name for t in op.inputs if t.name not in fed]
        sources += [c.name for c in op.control_inputs]
        before[name] = set().union(*({s} | before.get(s, set()) for s in sources if s in before))
    return before
