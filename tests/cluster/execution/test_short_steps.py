"""Which messages a task's one thread handles for all connections."""

from types import SimpleNamespace

import pytest

from dataflow.cluster.transport.messages import Kind, Message

PING = Message(Kind.PING, 0, 1, [])


@pytest.mark.parametrize(("may_share", "limit"), [(True, 1 << 18), (False, 1 << 14)])
def test_a_connection_on_which_much_is_sent_keeps_its_own_thread(cluster, may_share, limit):
    service = cluster["ps:0"].service
    connection = SimpleNamespace(may_share=may_share, largest_sent=limit)
    assert service.is_short(connection, PING)
    connection.largest_sent = limit + 1
    assert not service.is_short(connection, PING)
