"""A small Ray of this process's own: started on loopback, without what one machine does not need.

Here is all that knows Ray's private names; where they change, Ray starts as it does by itself.
`ray_backend`, which alone imports Ray, hands it over.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from dataflow.cluster.management.processes import Reaper, descendants, of_ray
from dataflow.errors import UnavailableError

log = logging.getLogger("dataflow.cluster")

#: How long Ray waits for its own node's first process (it would wait for 30 s; on two busy cores it
#: has taken more than 60), and what it says then.
_START_SECONDS = 120
_SLOW_START = "timed out during startup"

#: Set while Ray starts, and inherited by its processes.
_ENVIRONMENT = {
    # Listen on 127.0.0.1 only, as Ray does by itself on Windows and macOS; elsewhere it replaces a
    # loopback address by one that other machines can reach.
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_raylet_start_wait_time_s": str(_START_SECONDS),
    # Every second a process tells Ray's head what it did, for a dashboard that is not there. Where
    # that happens while Ray is left, the driver's log and connection stay open forever.
    "RAY_task_events_report_interval_ms": "0",
    "RAY_enable_metrics_collection": "0",
}

#: Modules that stand before slow ones, which Ray imports and never calls.
LATE_IMPORTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "late_imports")

_reaper: Reaper | None = None
_left = threading.Event()  # the thread that started Ray may end


@contextlib.contextmanager
def late_imports() -> Iterator[None]:
    """Import Ray in here: it takes 0.5 s, and where Jupyter is installed it would take 1.8 s."""
    sys.path.insert(0, LATE_IMPORTS)
    try:
        yield
    finally:
        sys.path.remove(LATE_IMPORTS)


def start(ray: ModuleType, object_store_bytes: int, **options: object) -> None:
    """Start Ray and connect to it; ``options`` are those of `ray.init`.

    Raises UnavailableError when Ray's own processes are not there in time.
    """
    global _reaper
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    with contextlib.suppress(OSError):
        if shutil.disk_usage("/dev/shm").free < 2 * object_store_bytes:
            os.environ.setdefault("RAY_OBJECT_STORE_ALLOW_SLOW_STORAGE", "1")
    with _without_extra_processes(ray), _private_environment(ray):
        try:
            _twice_if_slow(
                lambda: _in_lasting_thread(
                    lambda: ray.init(
                        address="local",
                        include_dashboard=False,
                        object_store_memory=object_store_bytes,
                        _node_ip_address="127.0.0.1",
                        **options,
                    )
                )
            )
        except BaseException:
            with contextlib.suppress(Exception):
                ray.shutdown()  # forget what has been started of it
            raise
    _quieten(ray)
    # Ray's own processes end with their parent, except its two agents, which want to report that
    # to the head and wait for it forever.
    pids = of_ray(descendants(os.getpid()))
    _reaper = Reaper(pids) if pids else None


def leave(ray: ModuleType, kill: bool = False) -> None:
    """Leave Ray, and end it if `start` started it; ``kill`` where its head is gone already."""
    global _reaper
    ray.shutdown()
    if _reaper is not None:
        _reaper.send_away(kill)
        _reaper = None
    _left.set()


def head_answers(address: str) -> bool:
    """Whether a process listens at ``host:port``, as Ray's head does."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=5).close()
    except OSError:
        return False
    return True


def _twice_if_slow(begin: Callable[[], Any]) -> None:
    """Call ``begin``, once more where Ray gave up on its own node for not being there in time.

    Where it fails, or is interrupted, none of its processes is left. That Ray gives up happens on a machine that is busy; the second time, its files are in memory.
    """
    known = set(descendants(os.getpid()))

    def end_what_was_started() -> None:
        for pid in of_ray(set(descendants(os.getpid())) - known):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)

    for attempt in ("first", "second"):
        try:
            begin()
            return
        except BaseException as error:
            end_what_was_started()  # of an interrupted start, too
            if _SLOW_START not in str(error):
                raise
            if attempt == "second":
                raise UnavailableError(
                    None,
                    None,
                    f"Ray's own processes did not start within {_START_SECONDS} s, twice: this "
                    "machine is too busy, or has too little memory. End what runs beside it, and "
                    "launch again.",
                ) from None
            log.warning("Ray's own processes did not start within %d s; once more.", _START_SECONDS)


def _in_lasting_thread(begin: Callable[[], Any]) -> None:
    """Call ``begin`` in a thread that lives as long as Ray.

    Linux ends Ray's processes with the thread that started them, not with the process. The main
    thread lasts by itself.
    """
    if threading.current_thread() is threading.main_thread():
        begin()
        return
    _left.clear()
    errors: list[BaseException] = []
    started = threading.Event()

    def run() -> None:
        try:
            begin()
        except BaseException as error:
            errors.append(error)
            return
        finally:
            started.set()
        _left.wait()

    threading.Thread(target=run, name="Ray's parent", daemon=True).start()
    started.wait()
    if errors:
        raise errors[0]


def _quieten(ray: ModuleType) -> None:
    """Keep Ray's twenty lines about a dead worker out of the notebook: the cluster says it in one."""
    worker = ray._private.worker
    original = getattr(worker, "print_to_stdstream", None)
    if original is None or getattr(original, "quiet", False):
        return

    def filtered(data: dict[str, Any], *args: object, **kwargs: object) -> None:
        lines = data.get("lines") or [""]
        if not str(lines[0]).startswith("A worker died or was killed"):
            original(data, *args, **kwargs)

    filtered.quiet = True  # type: ignore[attr-defined]
    worker.print_to_stdstream = filtered


@contextlib.contextmanager
def _private_environment(ray: ModuleType) -> Iterator[None]:
    ray_constants = ray._private.ray_constants
    path = os.environ.get("PYTHONPATH")
    environment = {
        **_ENVIRONMENT,
        "PYTHONPATH": f"{LATE_IMPORTS}{os.pathsep}{path}" if path else LATE_IMPORTS,
    }
    saved = {name: os.environ.get(name) for name in environment}
    os.environ.update(environment)
    # The constant was read from the variable when Ray was imported.
    clustered = getattr(ray_constants, "ENABLE_RAY_CLUSTER", True)
    ray_constants.ENABLE_RAY_CLUSTER = False
    try:
        yield
    finally:
        for name, value in saved.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
        ray_constants.ENABLE_RAY_CLUSTER = clustered


@contextlib.contextmanager
def _without_extra_processes(ray: ModuleType) -> Iterator[None]:
    """Turn off what a private cluster on one machine does not need.

    The autoscaler's monitor, the log monitor and the dashboard's head take 65 to 75 MB each, and
    Ray has no option to leave them out. Where its private names change they simply run.
    """
    try:
        node = ray._private.node.Node
        saved = {
            name: getattr(node, name)
            for name in ("start_monitor", "start_log_monitor", "start_api_server")
        }
    except AttributeError:
        yield
        return

    def nothing(self: Any, *args: object, **kwargs: object) -> None:
        if not getattr(self, "_webui_url", None):
            self._webui_url = ""

    try:
        for name in saved:
            setattr(node, name, nothing)
        yield
    finally:
        for name, function in saved.items():
            setattr(node, name, function)
