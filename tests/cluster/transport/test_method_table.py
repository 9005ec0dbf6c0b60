"""One table answers a task's calls: what services mark, and every call that is made."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

import dataflow as tf
import dataflow.cluster
from dataflow.cluster.execution.collectives import Collectives
from dataflow.cluster.execution.master_service import MasterService
from dataflow.cluster.execution.worker_service import WorkerService
from dataflow.cluster.management.server import Server
from dataflow.cluster.management.task_process import TaskLog
from dataflow.cluster.transport.method_table import MethodTable, answers

#: The functions that make a call.
CALLERS = ("call", "self._ask", "self._ask_about", "self._tell", "self._cluster.ask_all")
SERVICES = (WorkerService, Collectives, MasterService, Server, TaskLog)


class Base:
    """Answers two calls."""

    @answers("one")
    def first(self, connection: Any, head: dict[str, Any], tensors: list[Any]) -> dict[str, Any]:
        return {"answer": 1}

    @answers("two")
    def second(self, connection: Any, head: dict[str, Any], tensors: list[Any]) -> dict[str, Any]:
        return {"answer": 2}


class Derived(Base):
    """Answers one of them in another way."""

    @answers("one")
    def first(self, connection: Any, head: dict[str, Any], tensors: list[Any]) -> dict[str, Any]:
        return {"answer": 10}


def test_marked_methods_are_found_by_name_those_of_base_classes_too() -> None:
    table = MethodTable("/job:ps/task:0", [Derived()])
    assert table.names == ["one", "two"]
    connection: Any = None
    assert [table.find(n)(connection, {}, [])["answer"] for n in table.names] == [10, 2]


def test_a_name_that_nothing_answers_is_told_with_those_that_are_answered() -> None:
    table = MethodTable("/job:ps/task:0", [Base()])
    with pytest.raises(tf.errors.NotFoundError, match=r"no method 'three'; it has one, two\."):
        table.find("three")


def test_two_methods_for_one_call_are_refused() -> None:
    with pytest.raises(ValueError, match="two methods answer 'one'"):
        MethodTable("/job:ps/task:0", [Base(), Derived()])


def marked() -> list[str]:
    """The names that services of a launched task answer."""
    return [
        member.answers
        for service in SERVICES
        for member in vars(service).values()
        if hasattr(member, "answers")
    ]


def calls_made() -> set[str]:
    """The names in ``call(connection, "name", ...)``, ``self._ask("name", ...)`` and the heads of calls."""
    found: set[str] = set()
    for path in Path(dataflow.cluster.__path__[0]).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            values: list[ast.expr] = []
            if isinstance(node, ast.Call) and ast.unparse(node.func) in CALLERS:
                values = node.args
            elif isinstance(node, ast.Dict):
                pairs = zip(node.keys, node.values, strict=True)
                values = [v for k, v in pairs if k and ast.unparse(k) == "'method'"]
            names = [v.value for v in values if isinstance(v, ast.Constant)]
            found.update(name for name in names if isinstance(name, str))
    return found


def test_every_call_that_is_made_is_answered_once() -> None:
    assert len(marked()) == len(set(marked()))
    assert calls_made() == set(marked())
