"""What a task says of those whom it refuses: all are counted, few are logged."""

from dataflow.cluster.transport import refusals
from dataflow.cluster.transport.refusals import Refusals


def test_lines_are_bounded_and_those_left_out_are_counted(caplog):
    now = [1000.0]
    found = Refusals("/job:ps/task:0", clock=lambda: now[0])
    for number in range(250):
        found.add(f"10.0.0.{number}", "no key")
    assert found.count == 250
    assert len(found.last) == 100
    assert found.last[-1] == ("10.0.0.249", "no key")
    assert len(caplog.messages) == refusals.LINES
    assert caplog.messages[0] == "/job:ps/task:0 refused 10.0.0.0: no key"
    caplog.clear()
    now[0] += refusals.PERIOD_SECONDS
    found.add("10.0.0.7", "garbage")
    assert caplog.messages == [
        "/job:ps/task:0 refused 245 more connections.",
        "/job:ps/task:0 refused 10.0.0.7: garbage",
    ]
    caplog.clear()
    found.close()
    assert not caplog.messages
