"""Which faults of links each task is told of."""

import pytest

from dataflow.cluster.management.backend import TaskHandle
from dataflow.cluster.management.faulty_links import FaultyLinks
from dataflow.cluster.transport.link_faults import WHOLE, Fault
from dataflow.errors import UnavailableError

CUT = Fault(True, 0.0)


def running(job: str, index: int) -> TaskHandle:
    task = TaskHandle(job, index, "127.0.0.1:1")
    task.state = "running"
    return task


def test_each_task_is_told_of_all_and_of_its_own_as_all_its_links():
    told = {}
    links = FaultyLinks(lambda task, method, head: told.update({task.name: (method, head)}))
    ps, worker, paused = running("ps", 0), running("worker", 0), running("worker", 1)
    paused.state = "paused"
    links.set(worker, CUT, [ps, worker, paused])
    assert told == {
        worker.name: ("links", {"faults": {"": CUT}}),
        ps.name: ("links", {"faults": {worker.name: CUT}}),
    }
    assert links.of(worker.name) == CUT and links.of(ps.name) == WHOLE and links
    links.set(worker, WHOLE, [ps, worker])
    assert told[ps.name] == ("links", {"faults": {}}) and not links


def test_nothing_changes_when_the_task_does_not_answer():
    asked = []

    def ask(task, method, head):
        asked.append(task.name)
        if len(asked) > 1:
            raise UnavailableError(None, None, "gone")

    links = FaultyLinks(ask)
    ps, worker = running("ps", 0), running("worker", 0)
    links.set(ps, CUT, [ps])
    with pytest.raises(UnavailableError, match="gone"):
        links.set(worker, CUT, [ps, worker])
    assert links.of(ps.name) == CUT and links.of(worker.name) == WHOLE
    assert asked == [ps.name, worker.name]  # the others are not told
    links.tell(ps)  # does not answer either: it is told when it is back
    links.forget(ps.name)
    assert not links
