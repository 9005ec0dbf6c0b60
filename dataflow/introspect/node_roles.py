"""What each node of a graph is there for: the model itself, or the machinery around it.

`assign_roles` marks nodes in the form of `dataflow.introspect.graph_json`. A node of the model has
no mark. ``"role"`` names the machinery that a node belongs to:

========== =====================================================================================
gradient   made by ``tf.gradients``, or computed from what it made (clipping, norms)
optimizer  updates of variables by gradients, their slots, what only they read (rates, powers), and
           what makes workers take a step together (accumulators, queues of tokens)
initializer  the values that variables begin with, the ops that assign them, and reports of which
           variables have none yet
saver      saving and restoring
summary    summaries, and what only they read
assertion  assertions, and what only they read
========== =====================================================================================

``"owner"`` is the name of the node that a node is part of in a picture of the model: a variable for
its read, its initial value and its first assignment; an op for the constants and shape arithmetic
that say how it is to work; the producer of a value for an ``Identity`` that nobody named.

The rules look at what is connected with what. Names are looked at only where a graph says nothing
else: the scope ``gradients``, and a variable's own scope.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from dataflow.graph.registry import get_op
from dataflow.introspect.node_links import READS, NodeLinks

#: The machinery, in the order in which a picture names it.
ROLES = ("gradient", "optimizer", "initializer", "saver", "summary", "assertion")

_GRADIENT_SCOPE = re.compile(r"(^|/)gradients(_\d+)?/")
_UPDATE = re.compile(r"^(Resource)?(Sparse)?Apply")
_ACCUMULATOR = re.compile(r"ConditionalAccumulator$")
_QUEUE = re.compile(r"Queue(V2)?$")
_IS_INITIALIZED = re.compile(r"^(IsVariableInitialized|VarIsInitializedOp)$")
_TABLE = re.compile(r"^(LookupTableImport|InitializeTable)")
_SAVER = re.compile(r"^(Save|Restore|MergeV2Checkpoints|ShardedFilename|DisableCopyOnRead)")
_SUMMARY = re.compile(r"Summary(V2)?$")
_UNNAMED_IDENTITY = re.compile(r"(^|/)Identity(_\d+)?$")
_UNNAMED_SETTER = re.compile(r"(^|/)(AssignVariableOp|Placeholder)(_\d+)?$")
_INTEGERS = frozenset({"int32", "int64"})


def assign_roles(nodes: Sequence[dict[str, Any]]) -> list[int]:
    """Writes ``"role"`` and ``"owner"`` into the nodes; returns the indices of those that changed.

    ``nodes`` is a whole graph: what a node is there for depends on what reads it.
    """
    roles = _Roles(nodes)
    roles.find()
    changed = []
    for index, node in enumerate(nodes):
        owner = roles.owner.get(index)
        new = {
            key: value
            for key, value in (
                ("role", roles.role.get(index)),
                ("owner", None if owner is None else nodes[owner]["name"]),
            )
            if value is not None
        }
        if new != {key: node[key] for key in ("role", "owner") if key in node}:
            node.pop("role", None)
            node.pop("owner", None)
            node.update(new)
            changed.append(index)
    return changed


class _Roles(NodeLinks):
    def __init__(self, nodes: Sequence[dict[str, Any]]) -> None:
        super().__init__(nodes)
        self.role: dict[int, str] = {}
        self.owner: dict[int, int] = {}

    def find(self) -> None:
        """Fills in ``role`` and ``owner``."""
        self._own_parts_of_variables()
        self._take_by_type(_SAVER.match, "saver")
        self._take_restores()
        self._take_by_type(_SUMMARY.search, "summary")
        self._take_by_type(re.compile("^Assert$").match, "assertion")
        self._take_by_type(_TABLE.match, "initializer")
        self._take_setters()
        self._take_guards()
        self._take_reports()
        self._take_accumulators()
        self._take_gradients()
        self._take_updates()
        self._take_queues()
        self._take_slots()
        for role in ("saver", "summary", "assertion", "initializer"):
            self._take_what_only_they_read(role)
        self._take_groups()
        self._take_unread_settings()
        self._own_plumbing()

    def _take_by_type(self, matches: Callable[[str], object], role: str) -> None:
        for index, node in enumerate(self.nodes):
            if matches(node["op"]):
                self.role.setdefault(index, role)

    def _take(self, role: str) -> set[int]:
        return {index for index, own in self.role.items() if own == role}

    def _own_parts_of_variables(self) -> None:
        """A variable's reads, and the assignments in its own scope with what only they read."""
        for variable in self.variables:
            scope = self.nodes[variable]["name"] + "/"
            for reader, position in self.readers[variable]:
                node = self.nodes[reader]
                if node["op"] in READS:
                    if node["name"].startswith(scope):
                        self.owner[reader] = variable
                elif position == 0 and node["op"].startswith("Assign"):
                    if node["name"] == f"{scope}Assign":
                        self.role[reader] = "initializer"
                        self.owner[reader] = variable
        self._take_what_only_they_read("initializer")

    def _take_restores(self) -> None:
        """What restores assign, in the order of the graph."""
        for index in sorted(self._take("saver")):
            for reader in self.after(index):
                if self.nodes[reader]["op"].startswith("Assign"):
                    self.role.setdefault(reader, "saver")
            for follower in self.followers[index]:
                if self.nodes[follower]["op"] == "Identity":
                    self.role.setdefault(follower, "saver")
        for index, node in enumerate(self.nodes):  # the results of a function that saves
            before = (*self.inputs[index], *self.controls.get(index, ()))
            if node["op"] in ("Identity", "IdentityN", "NoOp") and before:
                if all(self.role.get(i) == "saver" for i in before):
                    self.role.setdefault(index, "saver")

    def _take_setters(self) -> None:
        """Assignments of fed values that nobody has named, with what is for them alone: Keras sets its metrics so."""
        for index, node in enumerate(self.nodes):
            set_by = self.inputs[index][1:2] if node["op"].startswith("Assign") else ()
            if set_by and set_by[0] in self.sources and len(self.readers[set_by[0]]) == 1:
                if all(_UNNAMED_SETTER.search(self.nodes[i]["name"]) for i in (index, *set_by)):
                    for one in (index, *set_by, *self.followers[index]):
                        self.role.setdefault(one, "initializer")

    def _take_guards(self) -> None:
        """The conditional around an assertion, which makes its message only when it fails."""
        scopes = {_scope(self.nodes[index]) for index in self._take("assertion")}
        guards = tuple(f"{scope}/" for scope in scopes if scope.endswith("/AssertGuard"))
        for index, node in enumerate(self.nodes):
            if node["name"].startswith(guards):
                self.role.setdefault(index, "assertion")

    def _take_reports(self) -> None:
        """Questions whether variables have values, and what is computed from the answers alone."""
        self._take_by_type(_IS_INITIALIZED.match, "initializer")
        answers = {i for i, node in enumerate(self.nodes) if _IS_INITIALIZED.match(node["op"])}
        if not answers:
            return
        for index, inputs in enumerate(self.inputs):
            if index not in self.role and not answers.isdisjoint(inputs):
                if all(i in answers or i in self.constants for i in inputs):
                    answers.add(index)
                    self.role[index] = "initializer"

    def _take_accumulators(self) -> None:
        """What gathers the gradients of several workers, with all that is done to it.

        With it go a queue that is only closed, and an op that only names a place: the optimizer for
        replicas makes both.
        """
        if not any(_ACCUMULATOR.search(node["op"]) for node in self.nodes):
            return
        for index, node in enumerate(self.nodes):
            readers = [reader for reader, _ in self.readers[index]]
            waits = self.controls[index] or self.followers[index]
            if (
                _ACCUMULATOR.search(node["op"])
                or (node["op"] == "NoOp" and not waits)
                or (
                    _QUEUE.search(node["op"])
                    and all("QueueClose" in self.nodes[reader]["op"] for reader in readers)
                )
            ):
                for one in (index, *readers):
                    self.role.setdefault(one, "optimizer")

    def _take_queues(self) -> None:
        """Queues through which steps wait for one another: an update fills them, or waits for them."""
        for index, node in enumerate(self.nodes):
            if index in self.role or not _QUEUE.search(node["op"]):
                continue
            users = [reader for reader, _ in self.readers[index]]
            if any(self.role.get(user) == "optimizer" for user in users):
                for one in (index, *users):
                    self.role.setdefault(one, "optimizer")
        self._take_what_only_they_read("optimizer")

    def _take_gradients(self) -> None:
        """What stands in a scope of ``tf.gradients``, and what is computed from it."""
        waiting = []
        for index, node in enumerate(self.nodes):
            if _GRADIENT_SCOPE.search(node["name"]) and index not in self.role:
                self.role[index] = "gradient"
                waiting.append(index)
        while waiting:
            index = waiting.pop()
            for reader, _ in self.readers[index]:
                if reader in self.role or reader in self.variables:
                    continue
                updates = _UPDATE.match(self.nodes[reader]["op"]) or self.writes(reader)
                self.role[reader] = "optimizer" if updates else self.role[index]
                waiting.append(reader)
        self._take_what_only_they_read("gradient")

    def _take_updates(self) -> None:
        """Updates by gradients, what only they read, and what counts their steps."""
        for index, node in enumerate(self.nodes):
            if _UPDATE.match(node["op"]):
                self.role.setdefault(index, "optimizer")
        self._take_what_waits_for_updates()
        for index in range(len(self.nodes) - 1, -1, -1):
            if index in self.role or not self.writes(index):
                continue
            after = [*self.followers[index], *(reader for reader, _ in self.readers[index])]
            after = [one for one in after if not self.is_unread(one)]
            if any(self.role.get(source) == "optimizer" for source in self.inputs[index]) or (
                after and all(self.role.get(one) == "optimizer" for one in after)
            ):
                self.role[index] = "optimizer"
        self._take_what_waits_for_updates()
        self._take_what_only_they_read("optimizer")

    def _take_what_waits_for_updates(self) -> None:
        """The step counter, the power of a decay, and their groups."""
        waiting = [i for i in self._take("optimizer") if self.followers[i]]
        while waiting:
            for follower in self.followers[waiting.pop()]:
                if follower not in self.role:
                    self.role[follower] = "optimizer"
                    waiting.append(follower)

    def _take_slots(self) -> None:
        """Variables that only the optimizer uses, with all that is theirs."""
        parts: dict[int, list[int]] = {}
        for index, owner in self.owner.items():
            parts.setdefault(owner, []).append(index)
        changed = True
        while changed:
            changed = False
            for variable in sorted(self.variables - self.role.keys()):
                used = [
                    reader
                    for reader in self._readers_of(variable)
                    if self.role.get(reader) not in ("initializer", "saver", "summary")
                ]
                # What only sets a variable that the optimizer uses is no use of it by the model.
                sets = [i for i in used if i not in self.role and self.sets(i, variable)]
                used = [i for i in used if i not in sets]
                if used and all(self.role.get(reader) == "optimizer" for reader in used):
                    changed = True
                    for index in (variable, *parts.get(variable, ()), *sets):
                        self.role[index] = "optimizer"
            if changed:
                self._take_what_only_they_read("optimizer")

    def _readers_of(self, variable: int) -> list[int]:
        """Who reads a variable, also through its own reads."""
        readers = []
        for reader, _ in self.readers[variable]:
            if self.owner.get(reader) == variable and self.nodes[reader]["op"] in READS:
                readers += [further for further, _ in self.readers[reader]]
            else:
                readers.append(reader)
        return readers

    def _take_what_only_they_read(self, role: str) -> None:
        """Nodes that are read by nodes of this role alone; part of the same variable, if of one."""
        waiting = sorted(self._take(role))
        while waiting:
            index = waiting.pop()
            for source in self.inputs[index]:
                if source in self.role or source in self.variables:
                    continue
                if source in self.sources and role != "saver":
                    continue  # what is fed is a part of the model, but for a file's name
                if source in self.owner and role not in ("optimizer", "gradient"):
                    continue
                readers = self.readers[source]
                found = {self.role.get(reader) for reader, _ in readers}
                if not found <= {role, "gradient"}:
                    continue
                looked_at = found & {"summary", "assertion"} or any(
                    _GRADIENT_SCOPE.search(self.nodes[reader]["name"])
                    for reader, _ in readers
                    if self.role.get(reader) == "gradient"
                )
                if looked_at and not self.is_small(source):
                    continue  # a loss that is only looked at is a part of the model
                self.role[source] = role
                owners = {self.owner.get(reader) for reader, _ in readers}
                if role == "initializer" and len(owners) == 1 and None not in owners:
                    self.owner[source] = next(iter(owners))  # type: ignore[assignment]
                waiting.append(source)

    def _take_groups(self) -> None:
        """A group of nodes of one role, with what depends on it alone."""
        for index, node in enumerate(self.nodes):
            if node["op"] != "NoOp" or index in self.role:
                continue
            # An initializer's group also assigns slots; a training step also its counter.
            found = {
                "initializer" if self._initializes(s) else self.role.get(s)
                for s in self.controls[index]
                if not self.is_nothing(s)
            }
            if found and None not in found:
                self.role[index] = _group_role({str(role) for role in found})
            elif not found and self.controls[index] and "initializer" in self.role.values():
                # Of groups of nothing alone, beside variables that begin: a session's local initializers.
                self.role[index] = "initializer"
        for index in range(len(self.nodes)):  # groups of nothing: there were no tables, for one
            found = {self.role.get(follower) for follower in self.followers[index]}
            if index not in self.role and self.is_nothing(index) and len(found) == 1:
                if None not in found:
                    self.role[index] = str(*found)

    def _take_unread_settings(self) -> None:
        """A setting that nobody reads is what the nodes beside it are; one may be a variable, or computed."""
        unread = [
            i for i in range(len(self.nodes)) if not self.readers[i] and not self.followers[i]
        ]
        idle = {i for i in unread if i not in self.role}
        for index in sorted(idle):
            idle.update(i for i in self.inputs[index] if len(self.readers[i]) == 1)
        for variable in self.variables - self.role.keys():
            if all(i in self.role or i in idle for i in self._readers_of(variable)):
                idle.add(variable)
        beside: dict[str, set[str | None]] = {}
        for index, node in enumerate(self.nodes):
            if index not in idle:
                beside.setdefault(_scope(node), set()).add(self.role.get(index))
        for index in sorted(idle - self.role.keys()):
            scope = _scope(self.nodes[index])
            while scope and scope not in beside:
                scope = scope.rpartition("/")[0]
            roles = beside.get(scope, {None}) if scope else {None}
            if None not in roles:
                self.role[index] = _group_role({str(role) for role in roles})

    def _initializes(self, index: int) -> bool:
        """Whether a node assigns a variable's initial value, be it that of a slot, or starts an iterator."""
        owner = self.owner.get(index)
        if self.nodes[index]["op"] == "MakeIterator":
            return True  # a part of the model: it joins the data to what reads them
        return owner is not None and self.nodes[index]["op"].startswith("Assign")

    def _own_plumbing(self) -> None:
        """Shape arithmetic belongs to the op it is for, an ``Identity`` without a name to its input."""
        for index in range(len(self.nodes) - 1, -1, -1):
            if index in self.role or index in self.owner or index in self.variables:
                continue
            node = self.nodes[index]
            if node["op"] == "Identity" and _UNNAMED_IDENTITY.search(node["name"]):
                if self.inputs[index] and self.readers[index] and not self.controls[index]:
                    self.owner[index] = self.inputs[index][0]
                continue
            kinds = {output.get("dtype") for output in node.get("outputs", [])}
            readers = [(r, p) for r, p in self.readers[index] if r not in self.role]
            if not readers or not kinds <= _INTEGERS or index in self.sources:
                continue
            if all(self._is_setting(reader, position) for reader, position in readers):
                self.owner[index] = readers[0][0]

    def _is_setting(self, index: int, position: int) -> bool:
        """Whether an input says how an op works (an axis, a shape), directly or through others."""
        if index in self.owner and index not in self.variables:
            owner = self.owner[index]
            return self.nodes[index]["op"] != "Identity" and owner not in self.variables
        try:
            op_def = get_op(self.nodes[index]["op"])
        except KeyError:
            return False  # a node of another program
        args = op_def.inputs
        if any(arg.is_list for arg in args[: position + 1]):
            position -= len(self.inputs[index])  # counted from the end, behind the list
        if not -len(args) <= position < len(args) or args[position].is_list:
            return False
        return args[position].name in op_def.host_inputs


def _scope(node: dict[str, Any]) -> str:
    return str(node["name"]).rpartition("/")[0]


def _group_role(found: set[str]) -> str:
    for role in ("saver", "optimizer", "gradient", "summary", "assertion"):
        if role in found:
            return role
    return "initializer"
