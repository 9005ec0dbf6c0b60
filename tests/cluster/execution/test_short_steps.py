"""Which messages a task's one thread handles for all connections."""

from types import SimpleNamespace

import numpy as np
import pytest

from dataflow.cluster.execution import worker_service
from dataflow.cluster.execution.worker_service import ADOPT, PartitionRun
from dataflow.cluster.transport.messages import Kind, Message
from dataflow.cluster.transport.shm_send import SHARE_FROM_BYTES

PING = Message(Kind.PING, 0, 1, [])


@pytest.mark.parametrize(("may_share", "limit"), [(True, 1 << 18), (False, 1 << 14)])
def test_a_connection_on_which_much_is_sent_keeps_its_own_thread(cluster, may_share, limit):
    service = cluster["ps:0"].service
    connection = SimpleNamespace(may_share=may_share, largest_sent=limit)
    assert service.is_short(connection, PING)
    connection.largest_sent = limit + 1
    assert not service.is_short(connection, PING)


QUICK = SimpleNamespace(is_quick=True, waits=True)


def connection_of(**more):
    return SimpleNamespace(may_share=True, largest_sent=0, ahead=None, **more)


def test_a_message_as_large_as_the_limit_is_short(cluster):
    service, limit = cluster["ps:0"].service, 1 << 18
    service._partitions[3] = QUICK
    halves = [np.zeros(limit // 2, np.uint8)] * 2
    assert service.is_short(connection_of(), Message(Kind.RUN, 3, 1, halves))
    one_more = [*halves, np.zeros(1, np.uint8)]
    assert not service.is_short(connection_of(), Message(Kind.RUN, 3, 1, one_more))
    del service._partitions[3]


def test_what_waits_for_nothing_is_short_where_its_answer_travels_in_shared_memory(cluster):
    service = cluster["ps:0"].service
    service._partitions[3] = SimpleNamespace(is_quick=True, waits=False)
    connection, run = connection_of(), Message(Kind.RUN, 3, 1, [])
    connection.largest_sent = SHARE_FROM_BYTES
    assert service.is_short(connection, run)
    connection.largest_sent -= 1
    assert not service.is_short(connection, run)
    del service._partitions[3]


def test_what_waits_for_nothing_is_short_where_many_sessions_would_need_threads(
    cluster, monkeypatch
):
    service = cluster["ps:0"].service
    service._partitions[3] = SimpleNamespace(is_quick=True, waits=False)
    many = {f"/job:worker/task:{n}#1": None for n in range(worker_service._FEW_SESSIONS)}
    monkeypatch.setattr(service, "_sessions", many)
    connection, run = connection_of(), Message(Kind.RUN, 3, 1, [])
    assert not service.is_short(connection, run)
    many["/job:worker/task:99#1"] = None
    assert service.is_short(connection, run)
    del service._partitions[3]


def test_values_are_short_where_they_are_of_a_quick_run_of_the_same_connection(cluster):
    service, connection, other = cluster["ps:0"].service, connection_of(), connection_of()
    data = Message(Kind.DATA, 0, 5, [])
    assert not service.is_short(connection, data), "nobody knows the run"
    run = object.__new__(PartitionRun)
    run.transport = SimpleNamespace(registered=QUICK)
    service.runs[5] = (run, connection)
    assert service.is_short(connection, data)
    assert not service.is_short(other, data), "another's run"
    service.runs[5] = (SimpleNamespace(transport=run.transport), connection)
    assert not service.is_short(connection, data), "no run of a partition, as a loop is"
    del service.runs[5]


def test_values_that_adopt_a_run_are_short_where_its_reads_were_done_ahead(cluster):
    service, connection = cluster["ps:0"].service, connection_of()
    adopting = Message(Kind.DATA, 0, 5, [], None, ADOPT)
    assert not service.is_short(connection, adopting)
    connection.ahead = SimpleNamespace(registered=QUICK)
    assert service.is_short(connection, adopting)
    assert not service.is_short(connection, Message(Kind.DATA, 0, 5, []))
