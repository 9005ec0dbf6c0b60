"""The processes of a cluster on one machine divide its processors among those that compute."""

import pytest

from dataflow.cluster.management.server import Server
from dataflow.cluster.transport import registry
from dataflow.kernels import parallel
from tests.cluster.conftest import KEY, free_addresses


@pytest.fixture(autouse=True)
def eight_processors(monkeypatch):
    monkeypatch.setattr(parallel, "num_threads", lambda: 8)


@pytest.fixture
def serve():
    servers = []

    def start(spec, job, index=0):
        servers.append(Server(spec, job, index, key=KEY))
        return servers[-1]

    yield start
    for server in servers:
        server.stop()


def test_the_others_that_compute_are_counted_and_this_process(serve):
    ps, first, second, third = free_addresses(4)
    spec = {"ps": [ps], "worker": [first, second, third]}
    worker = serve(spec, "worker")
    assert registry.num_processes_here() == 3  # the ps waits most of the time
    assert parallel.num_workers() == 2
    worker.stop()
    assert parallel.num_workers() == 8
    serve(spec, "ps")
    assert registry.num_processes_here() == 4
    assert parallel.num_workers() == 2


def test_tasks_of_this_process_and_of_other_machines_take_nothing(serve):
    ps, first, second = free_addresses(3)
    spec = {"ps": [ps], "worker": [first, second, "10.1.2.3:4000"]}
    serve(spec, "worker", 0)
    assert parallel.num_workers() == 4
    serve(spec, "worker", 1)
    assert parallel.num_workers() == 8


def test_one_that_learns_of_its_cluster_later(serve):
    first, second = free_addresses(2)
    server = serve({"worker": [first]}, "worker")
    assert parallel.num_workers() == 8
    server.set_cluster({"worker": [first, second]})
    assert parallel.num_workers() == 4


def test_a_limit_of_the_session_holds_as_well(serve):
    addresses = free_addresses(2)
    serve({"worker": addresses}, "worker")
    with parallel.limited_to(3):
        assert parallel.num_workers() == 3
    with parallel.limited_to(6):
        assert parallel.num_workers() == 4


def test_there_is_always_one(serve):
    serve({"worker": free_addresses(20)}, "worker")
    assert parallel.num_workers() == 1
