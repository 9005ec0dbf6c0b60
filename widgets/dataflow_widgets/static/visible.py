"""Which part of a graph a static picture shows: scopes open as long as it stays small enough.

The same rules as ``shared/graph.js``, without opening and closing by hand: in a graph of more than
`PLAIN_LIMIT` nodes whose roles are known (`dataflow.introspect.node_roles`), the model alone, where
a scope of one node is that node, and loops are closed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dataflow_widgets.static.control import control_words, nature

PLAIN_LIMIT = 60
#: More boxes are hard to read, and Graphviz is asked for straight lines then.
MOST_BOXES = 40
#: So many may be drawn without closing what a variable is made of.
FEW_BOXES = 16
#: A tensor that goes to more boxes has its shape written on one of the arrows.
MOST_LABELS = 3
_VARIABLES = {"Variable", "VariableV2", "VarHandleOp", "TemporaryVariable"}
_SOURCES = {"Placeholder", "PlaceholderWithDefault", "PlaceholderV2"}


@dataclass
class Item:
    """One box: an operation, or a closed scope that stands for ``members``."""

    key: str
    title: str
    detail: str
    kind: str
    members: list[int]
    scope: str = ""
    width: float = 0.0
    height: float = 0.0
    x: float = 0.0
    y: float = 0.0


@dataclass
class Link:
    """One arrow between two boxes."""

    tail: str
    head: str
    control: bool
    labels: dict[str, str] = field(default_factory=dict)
    path: str = ""
    arrow: str = ""
    label_at: tuple[float, float] | None = None

    @property
    def label(self) -> str:
        """What is written on it: a shape that is new, or how many tensors it stands for."""
        if self.control:
            return ""
        if len(self.labels) == 1:
            return next(iter(self.labels.values()))
        return f"{len(self.labels)} tensors"


@dataclass
class Visible:
    """Boxes, arrows and open scopes (path, x, y, width, height) of one picture; ``natures`` says of some what they are."""

    items: list[Item]
    links: list[Link]
    scopes: list[str]
    natures: dict[str, str] = field(default_factory=dict)
    boxes: list[tuple[str, float, float, float, float]] = field(default_factory=list)
    width: float = 0.0
    height: float = 0.0


def parse_input(text: str) -> tuple[str, int]:
    """``"x:0"`` to ``("x", 0)``; a control input ``"^init"`` to ``("init", -1)``."""
    if text.startswith("^"):
        return text[1:], -1
    name, _, slot = text.rpartition(":")
    return (name, int(slot)) if name else (text, 0)


def kind_of(node: dict[str, Any]) -> str:
    """The family a node is drawn as."""
    op = node["op"]
    if op == "Const":
        return "const"
    if op in _SOURCES:
        return "placeholder"
    if op in _VARIABLES:
        return "variable"
    return "gradient" if node["name"].startswith("gradients") else "op"


def scope_of(nodes: Sequence[dict[str, Any]]) -> list[str]:
    """The scope that holds each node; an op's own literals (``Add/x``) belong to the op's scope.

    Own are those that nothing else of the model reads: gradients may.
    """
    names = {node["name"]: i for i, node in enumerate(nodes)}
    members: dict[str, list[int]] = {}
    for i, node in enumerate(nodes):
        path = node["name"].rpartition("/")[0]
        while path:
            members.setdefault(path, []).append(i)
            path = path.rpartition("/")[0]
    users: dict[int, set[int]] = {}
    for i, node in enumerate(nodes):
        for text in node["inputs"]:
            source = names.get(parse_input(text)[0])
            if source is not None and "role" not in node:
                users.setdefault(source, set()).add(i)
    inline = {
        path
        for path, below in members.items()
        if path in names
        and all(nodes[i]["op"] == "Const" and users.get(i, set()) <= {names[path]} for i in below)
    }

    def outside(path: str) -> str:
        while path in inline:
            path = path.rpartition("/")[0]
        return path

    return [
        node["name"]
        if node["name"] in members and node["name"] not in inline
        else outside(node["name"].rpartition("/")[0])
        for node in nodes
    ]


def chain(path: str) -> list[str]:
    """``"a/b"`` to ``["a", "a/b"]``."""
    parts = path.split("/") if path else []
    return ["/".join(parts[: i + 1]) for i in range(len(parts))]


def visible(
    nodes: Sequence[dict[str, Any]],
    only: set[int] | None = None,
    limit: int = MOST_BOXES,
    whole: bool = False,
) -> Visible:
    """The picture's content: everything if that is at most ``limit`` boxes, else scopes closed.

    ``whole``: the machinery too, however large the graph is, and what is inside of loops.
    """
    above = {i: chain(scope) for i, scope in enumerate(scope_of(nodes))}
    names = {node["name"]: i for i, node in enumerate(nodes)}
    shown = [i for i in range(len(nodes)) if only is None or i in only]
    parts: dict[int, int] = {}
    titles: dict[int, str] = {}
    loops: set[str] = set()
    if len(nodes) > PLAIN_LIMIT and not whole:
        stand_in = {i: _stand_in(i, nodes, names) for i in shown}
        parts = {i: at for i, at in stand_in.items() if at not in (i, None)}
        shown = [i for i in shown if stand_in[i] == i]
        loops = {above[i][-1] for i in shown if nodes[i]["op"] == "LoopCond" and above[i]}
        titles = _name_by_scope(shown, above)
    chains = {i: above[i] for i in shown}
    open_ones = _open_scopes(chains, limit, loops)
    if not whole and _num_boxes(chains, open_ones) > FEW_BOXES:
        open_ones = _open_scopes(chains, limit, loops | _details(nodes))
    holder, items = _hold(nodes, shown, above, open_ones, titles, names)
    for i, at in parts.items():
        if at in holder:
            holder[i] = holder[at]
            items[holder[at]].members.append(i)
    links: dict[tuple[str, str, bool], Link] = {}
    for i in sorted(holder):
        for text in nodes[i]["inputs"]:
            name, slot = parse_input(text)
            source = names.get(name)
            if source not in holder or holder[source] == holder[i]:
                continue
            key = (holder[source], holder[i], slot < 0)
            link = links.setdefault(key, Link(*key))
            is_scope = holder[source].startswith("s:")
            link.labels[text] = _edge_label(nodes, names, source, slot, is_scope)
    _label_once(links.values())
    open_scopes = sorted({p for item in items.values() for p in chain(item.scope)})
    natures = {
        path: words
        for path in open_scopes
        if (words := nature(nodes[i]["op"] for i in above if _lies_in(i, path, above)))
    }
    return Visible(list(items.values()), list(links.values()), open_scopes, natures)


def _num_boxes(above: Mapping[int, list[str]], opened: set[str]) -> int:
    """How many boxes there are with these scopes open."""
    closed = (next((p for p in paths if p not in opened), i) for i, paths in above.items())
    return len(set(closed))


def _details(nodes: Sequence[dict[str, Any]]) -> set[str]:
    """The scopes of a variable's own ops: how it begins, and how it is read."""
    return {node["name"] for node in nodes if node["op"] in _VARIABLES}


def _label_once(links: Iterable[Link]) -> None:
    """Of many arrows that carry the same tensor, the first alone says its shape."""
    carries: dict[tuple[str, str], list[Link]] = {}
    for link in links:
        if not link.control and len(link.labels) == 1:
            carries.setdefault((link.tail, next(iter(link.labels))), []).append(link)
    for (_, tensor), alike in carries.items():
        for link in alike[1:] if len(alike) > MOST_LABELS else ():
            link.labels[tensor] = ""


def _stand_in(index: int, nodes: Sequence[dict[str, Any]], names: dict[str, int]) -> int | None:
    """The node that stands for one in a picture of the model; ``None``: it is left out."""
    at: int | None = index
    for _ in range(50):
        if at is None:
            break
        owner = nodes[at].get("owner")
        if "role" not in nodes[at] and owner is None:
            return at
        at = names.get(owner) if owner is not None else None
    return None


def _edge_label(
    nodes: Sequence[dict[str, Any]], names: dict[str, int], source: int, slot: int, whole: bool
) -> str:
    """A shape where it is new, and "scalar" for that of a number."""
    node = nodes[source]
    outputs = node.get("outputs", [])
    if not 0 <= slot < len(outputs):
        return ""
    shape = str(outputs[slot].get("shape", ""))
    for text in node["inputs"] if not whole else ():
        name, from_slot = parse_input(text)
        before = nodes[names[name]].get("outputs", []) if name in names else []
        if 0 <= from_slot < len(before) and before[from_slot].get("shape") == shape:
            return ""
    if shape == "()":
        return "" if node["op"] == "Const" else "scalar"
    return shape.replace(",)", ")")


def _name_by_scope(shown: Sequence[int], above: dict[int, list[str]]) -> dict[int, str]:
    """Takes each node that its scopes hold alone out of them; the names that such nodes get."""
    count = Counter(path for i in shown for path in above[i])
    titles = {}
    for i in shown:
        paths = above[i]
        shared = [path for path in paths if count[path] > 1]
        if len(shared) < len(paths):
            titles[i] = paths[len(shared)].rpartition("/")[2]
            above[i] = shared
    return titles


def _open_scopes(above: Mapping[int, list[str]], limit: int, loops: set[str]) -> set[str]:
    """The scopes to open so that at most ``limit`` boxes are drawn; those in ``loops`` stay closed.

    From the outermost inwards. Where not all of a level fit, those that hold fewer boxes come first,
    and those that hold as many boxes as each other (the layers of a network) open together.
    """
    inside: dict[str, set[str | int]] = {}
    for i, paths in above.items():
        inner: list[str | int] = [*paths, i]
        for outer, one in zip(["", *paths], inner, strict=True):
            inside.setdefault(outer, set()).add(one)
    opened: set[str] = set()
    boxes = len(inside.get("", ()))
    level = [""]
    while level:
        below = [p for outer in level for p in inside.get(outer, ()) if isinstance(p, str)]
        level = []
        for size in sorted({len(inside[path]) for path in below}):
            alike = [p for p in below if len(inside[p]) == size and p not in loops]
            if boxes + (size - 1) * len(alike) > limit:
                continue
            boxes += (size - 1) * len(alike)
            level += alike
        opened.update(level)
    return opened


def _hold(
    nodes: Sequence[dict[str, Any]],
    shown: list[int],
    above: Mapping[int, list[str]],
    open_ones: set[str],
    titles: Mapping[int, str],
    names: Mapping[str, int],
) -> tuple[dict[int, str], dict[str, Item]]:
    """Which box each node is in when the scopes ``open_ones`` are open."""
    holder: dict[int, str] = {}
    items: dict[str, Item] = {}
    for i in shown:
        paths = above[i]
        depth = next((n for n, path in enumerate(paths) if path not in open_ones), len(paths))
        parent = paths[depth - 1] if depth else ""
        if depth < len(paths):
            path = paths[depth]
            key = f"s:{path}"
            if key not in items:
                kept = path in names and nodes[names[path]]["op"] in _VARIABLES
                kind = "variable" if kept else "scope"
                items[key] = Item(key, path.rpartition("/")[2], "", kind, [], parent)
            items[key].members.append(i)
        else:
            key = f"n:{i}"
            node = nodes[i]
            title = titles.get(i, node["name"].rpartition("/")[2])
            detail = node.get("value", "") if node["op"] == "Const" else ""
            if detail and i not in titles and _is_literal(node["name"], names):
                title, detail = detail, ""
            elif not detail and title.rstrip("0123456789").rstrip("_") != node["op"]:
                detail = node["op"] if title != node["op"] else ""
            elif not detail:
                detail = control_words(node, nodes, names)
            items[key] = Item(key, title, detail, kind_of(node), [i], parent)
        holder[i] = key
    for item in items.values():
        if item.key.startswith("s:"):
            count = len(item.members)
            item.detail = f"{count} op" if count == 1 else f"{count} ops"
            if kind := nature(
                nodes[i]["op"] for i in item.members if _lies_in(i, item.key[2:], above)
            ):
                item.detail += f", {kind}"
        item.title, item.detail = _shorten(item.title, 28), _shorten(item.detail, 30)
        inner = max(text_width(item.title, 12), text_width(item.detail, 10))
        item.width = max(
            44.0, inner + (34 if item.key.startswith("s:") or item.kind == "placeholder" else 24)
        )
        item.height = 38.0 if item.detail else 28.0
    return holder, items


def _lies_in(index: int, path: str, above: Mapping[int, list[str]]) -> bool:
    """Whether a node stands in the scope itself, not in one inside of it."""
    return above[index][-1:] == [path]


def _is_literal(name: str, names: Mapping[str, int]) -> bool:
    """Whether a constant has no name of its own: ``Const_1``, or the ``Add/y`` of ``x + 2``."""
    outer, _, last = name.rpartition("/")
    return (
        bool(re.fullmatch(r"Const(_\d+)?", last))
        or outer in names
        or (outer != "" and last in ("x", "y"))
    )


def _shorten(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    head = (limit - 1) * 3 // 5
    return f"{text[:head]}…{text[len(text) - (limit - 1 - head) :]}"


def text_width(text: str, size: float) -> float:
    """An estimate of the width of ``text`` in px, on the wide side."""
    width = 0.0
    for c in text:
        if ord(c) > 0x10FF:
            width += 1.0
        elif c in "ilj.,:;|'!()[] ":
            width += 0.36
        elif c in "mwMW@%":
            width += 0.92
        else:
            width += 0.7 if c.isupper() else 0.6
    return width * size
