"""The links between the nodes of a drawn graph."""

from __future__ import annotations

from typing import Any

import pytest

from dataflow.introspect.node_links import NodeLinks


def node(name: str, op: str, *inputs: str, dtype: str = "float32") -> dict[str, Any]:
    return {"name": name, "op": op, "inputs": list(inputs), "outputs": [{"dtype": dtype}]}


@pytest.fixture
def links() -> NodeLinks:
    return NodeLinks(
        [
            node("x", "Placeholder"),
            node("shape", "Const"),
            node("flat", "Reshape", "x", "shape"),
            node("square", "Square", "flat:0", "^x"),
            node("W", "VariableV2"),
            node("W/read", "Identity", "W"),
            node("set", "Assign", "W", "square"),
            node("nothing", "NoOp"),
            node("group", "NoOp", "^set"),
            node("large", "Greater", "x", "absent:0", dtype="bool"),
        ]
    )


def test_links(links: NodeLinks) -> None:
    assert links.inputs[2] == (0, 1)
    assert links.readers[0] == [(2, 0), (9, 0)]
    assert links.controls[3] == [0]
    assert links.followers[0] == [3]
    assert links.readers[9] == []
    assert 9 not in links.readers  # asking leaves nothing behind


def test_kinds_of_nodes(links: NodeLinks) -> None:
    assert links.sources == {0}
    assert links.constants == {1}
    assert links.variables == {4}


def test_readers_behind_a_reshape(links: NodeLinks) -> None:
    assert sorted(links.after(0)) == [2, 3, 9]


def test_what_nodes_do_to_variables(links: NodeLinks) -> None:
    assert [i for i in range(10) if links.writes(i)] == [6]
    assert [i for i in range(10) if links.is_unread(i)] == [5]
    assert links.sets(6, 4)
    assert not links.sets(5, 4)


def test_small_values_and_groups(links: NodeLinks) -> None:
    assert [i for i in range(10) if links.is_small(i)] == [1, 9]
    assert [i for i in range(10) if links.is_nothing(i)] == [7]
