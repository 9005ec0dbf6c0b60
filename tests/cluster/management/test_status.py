"""The table of a cluster's tasks, as text and as HTML."""

from dataflow.cluster.management.status import FIELDS, Status


def test_the_size_of_the_variables_stands_beside_their_number():
    ps = dict.fromkeys(FIELDS) | {"task": "/job:ps/task:0", "state": "running", "steps": 7}
    ps |= {"variables": 2, "variable_bytes": 31_400, "sent_bytes": 4_000_000, "queues": {}}
    worker = dict.fromkeys(FIELDS) | {"task": "/job:worker/task:0", "state": "dead"}
    worker |= {"variables": 0, "variable_bytes": 0}
    status = Status([ps, worker])
    titles, first, second = repr(status).splitlines()
    assert titles.split().count("variables") == 1 and "variable " not in titles
    assert "2 (31.4 KB)" in first and "4 MB" in first
    assert second.split()[-2:] == ["0", "-"]
    html = status._repr_html_()
    assert "<td>2 (31.4 KB)</td>" in html
