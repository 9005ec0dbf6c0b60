"""This process's knowledge of clusters: its own servers, their keys, and the tasks that it has stopped."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, NamedTuple

from dataflow.cluster.transport.handshake import default_key

if TYPE_CHECKING:
    from dataflow.cluster.management.server import Server


_lock = threading.Lock()
_servers: dict[str, Any] = {}
keys_by_address: dict[str, str] = {}


class Stopped(NamedTuple):
    """How this process stopped a task; ``for_good``: no other task will get its address."""

    how: str
    for_good: bool


#: The tasks that were stopped most recently, by address.
_stopped: dict[str, Stopped] = {}
_MOST_STOPPED = 1000


def add_server(address: str, server: Server) -> None:
    """A server listens at ``address`` in this process."""
    with _lock:
        _servers[address] = server
        _stopped.pop(address, None)


def remove_server(address: str, server: Server) -> None:
    """No server of this process listens there now."""
    with _lock:
        if _servers.get(address) is server:
            del _servers[address]


def server_at(target: str) -> Any:
    """Return this process's server with that target, or ``None``."""
    return _servers.get(target.removeprefix("grpc://"))


def servers() -> list[Any]:
    """The servers that listen in this process."""
    with _lock:
        return list(_servers.values())


def num_processes_here() -> int:
    """How many processes of this process's clusters compute on this machine, itself included.

    A parameter server (of the job "ps") waits most of the time and is not counted, unless it is
    this process.
    """
    here = servers()
    addresses = {server.address for server in here}
    others = {
        address
        for server in here
        for job in server.cluster_spec.jobs
        if job != "ps"
        for address in server.cluster_spec.job_tasks(job)
        if address and address not in addresses and _host(address) == _host(server.address)
    }
    return 1 + len(others)


def _host(address: str) -> str:
    return address.rpartition(":")[0]


def add_keys(addresses: list[str], key: str) -> None:
    """Tasks at these addresses belong to the cluster with this key."""
    with _lock:
        keys_by_address.update(dict.fromkeys(addresses, key))
        for address in addresses:
            _stopped.pop(address, None)


def forget_keys(addresses: list[str]) -> None:
    """Undo `add_keys`."""
    with _lock:
        for address in addresses:
            keys_by_address.pop(address, None)


def note_stopped(addresses: list[str], how: str, for_good: bool) -> None:
    """This process has stopped the tasks at these addresses; ``how`` says by which call and where."""
    with _lock:
        for address in addresses:
            _stopped.pop(address, None)
            _stopped[address] = Stopped(how, for_good)
        while len(_stopped) > _MOST_STOPPED:
            del _stopped[next(iter(_stopped))]


def forget_stopped(address: str) -> None:
    """Somebody listens at the address again: what this process has stopped there was another task."""
    with _lock:
        _stopped.pop(address, None)


def stopped_at(address: str) -> Stopped | None:
    """How this process has stopped the task at an address; ``None``: it has not."""
    return _stopped.get(address)


def key_for(address: str) -> str:
    """Return the key for talking to ``address``."""
    found = keys_by_address.get(address.removeprefix("grpc://"))
    return found if found is not None else default_key()
