"""`launch`: a cluster from a notebook cell, in one line and gone with the next."""

from __future__ import annotations

import atexit
import contextlib
import sys
import time
import weakref
from collections.abc import Callable, Mapping
from typing import Any

from dataflow.capabilities import ELSEWHERE, PROCESSES, THREADS, refused, why_not
from dataflow.cluster.execution.calls import call
from dataflow.cluster.management import kept_ray, launch_progress
from dataflow.cluster.management.launch_progress import LaunchProgress, PrintedProgress
from dataflow.cluster.management.running_cluster import Cluster
from dataflow.cluster.transport import registry
from dataflow.cluster.transport.connection_pool import connect
from dataflow.cluster.transport.handshake import new_key
from dataflow.cluster_spec import ClusterSpec
from dataflow.errors import OpError
from dataflow.graph import tracebacks

_clusters: weakref.WeakSet[Cluster] = weakref.WeakSet()
#: Clusters of servers that were started by hand in this process, as `find` saw them.
_attached: dict[ClusterSpec, Cluster] = {}


def launch(
    ps: int = 1,
    workers: int = 2,
    *,
    jobs: dict[str, int] | None = None,
    resources: dict[str, Any] | None = None,
    address: str | None = None,
    placement: str | None = None,
    restart: bool = True,
    logs: bool = True,
    object_store_bytes: int | None = None,
    timeout_seconds: float = 120.0,
    backend: str = "ray",
    progress: LaunchProgress | None = None,
) -> Cluster:
    """Start a cluster of ``ps`` parameter servers and ``workers`` workers, each a Ray actor.

    A Ray that is started for it lasts for half a minute after its last cluster, so that the next
    launch is quick; `shutdown` ends it at once, as does the end of this process.

    Parameters
    ----------
    jobs: further jobs, or other names: ``{"evaluator": 1}``. A count of 0 leaves a job out.
    resources: what each task of a job may take, as Ray's options:
        ``{"worker": {"num_cpus": 1, "num_gpus": 1}, "ps": {"resources": {"big": 1}}}``; ``env`` is
        a dict of environment variables, ``node`` a Ray node's id.
    address: a running Ray (``"auto"``, ``"host:port"``); else ``RAY_ADDRESS``, else one that is
        started here, on loopback and small.
    placement: ``"PACK"``, ``"SPREAD"``, ``"STRICT_PACK"``, ``"STRICT_SPREAD"``: Ray's placement
        groups.
    restart: start a task that died again, at its old address and without its variables.
    logs: print a line for each phase of the launch (Ray starts, a task is ready), and then what the
        tasks print, each line with the task's name before it.
    object_store_bytes: of the Ray that is started; 80 MB unless given, at most 300 MB.
    timeout_seconds: for all tasks to listen.
    backend: ``"ray"``, a process for each task, or ``"threads"``: servers of this process, where
        no processes can be started. Their names, sessions and messages are the same; killing and
        pausing are simulated, they share this process's memory and processors, and what Ray offers
        (``address``, ``resources``, ``placement``, ``object_store_bytes``) is refused. Where Python
        can start neither processes nor threads (in a web page), either of them gives tasks that
        take turns in this very thread: one makes a step when another one waits.
    progress: hears of each phase of the launch, in place of what ``logs`` prints of it, and may end it.

    Raises ResourceExhaustedError at once for more than the machines have, ValueError for counts
    that make no cluster, UnavailableError when a task does not start (nothing is left running).
    """
    counts = {"ps": ps, "worker": workers, **(jobs or {})}
    progress = progress or (PrintedProgress() if logs else LaunchProgress())
    _check_counts(counts, resources or {})
    if backend not in ("ray", "threads"):
        raise ValueError(f"launch: backend must be 'ray' or 'threads', got {backend!r}.")
    if backend == "threads" or not PROCESSES:
        _refuse_options_of_ray(
            backend,
            resources=resources,
            address=address,
            placement=placement,
            object_store_bytes=object_store_bytes,
        )
        return _launch_here(counts, restart, logs, progress)
    options: dict[str, Any] = {"resources": resources, "progress": progress}
    if object_store_bytes is not None:
        options["object_store_bytes"] = object_store_bytes
    try:
        cluster = _start_on_ray(
            address,
            counts,
            placement,
            timeout_seconds,
            options,
            lambda tasks, key, took: Cluster(tasks, key, restart, logs, took),
        )
    except KeyboardInterrupt:
        # Without the frames of Ray in which it came.
        raise KeyboardInterrupt(launch_progress.INTERRUPTED) from None
    _clusters.add(cluster)
    _stop_first_at_exit()
    return cluster


def _start_on_ray(
    address: str | None,
    counts: dict[str, int],
    placement: str | None,
    timeout_seconds: float,
    options: dict[str, Any],
    made: Callable[[Any, str, float], Cluster],
) -> Cluster:
    """Start the tasks; ``made`` of them, the key that they ask for, and the seconds that it took.

    ``options`` are those of `RayBackend`. Whatever ends it, nothing of it is left running.
    """
    started = time.monotonic()
    progress = options["progress"]
    if "ray" not in sys.modules:
        progress.say(launch_progress.LOADING)
    from dataflow.cluster.management import ray_backend

    backend = ray_backend.RayBackend(address, **options)
    try:
        tasks = [
            backend.make_task(job, index) for job, count in counts.items() for index in range(count)
        ]
        backend.check_room(tasks)
        key = new_key()
        backend.start(tasks, key, placement, timeout_seconds)
        took = time.monotonic() - started
        progress.say(launch_progress.done(took))
        return made(backend, key, took)
    except BaseException:
        backend.stop(keep_ray=False)
        raise


def _check_counts(counts: dict[str, int], resources: dict[str, Any]) -> None:
    """Raises ValueError for counts of tasks that make no cluster, and for resources of other jobs."""
    for job, count in counts.items():
        if not isinstance(count, int) or count < 0:
            raise ValueError(f"launch: the number of tasks of {job!r} must be >= 0, got {count!r}.")
    if not any(counts.values()):
        raise ValueError("launch: no task was asked for; give ps= and workers=.")
    for job in resources:
        if job not in counts:
            raise ValueError(f"launch: resources= names {job!r}; the jobs are {sorted(counts)}.")


def _refuse_options_of_ray(backend: str, **options: Any) -> None:
    """Raises for options that only Ray's processes have, where tasks are servers of this process."""
    for name, value in options.items():
        if value is not None:
            if backend != "threads":
                raise refused(f"tf.cluster.launch({name}=...)", "processes (Ray's)", ELSEWHERE)
            raise ValueError(f'launch: {name}= is of Ray; leave it out with backend="threads".')


def _launch_here(
    counts: dict[str, int], restart: bool, logs: bool, progress: LaunchProgress
) -> Cluster:
    """A cluster whose tasks are servers of this process."""
    from dataflow.cluster.management.thread_backend import ThreadBackend

    kind, how = ThreadBackend, "run as threads of this process: killing and pausing are simulated."
    if not THREADS:
        from dataflow.cluster.management.cooperative_backend import CooperativeBackend

        kind = CooperativeBackend
        how = (
            f"are simulated, as {why_not()}: they take turns in this process. Names and messages "
            "are as on a cluster; kills, pauses and delays are simulated, too."
        )
    started, key = time.monotonic(), new_key()
    tasks = [(job, index) for job, count in counts.items() for index in range(count)]
    backend = kind(tasks, key)
    took = time.monotonic() - started
    progress.say(f"{len(tasks)} tasks {how}")
    cluster = Cluster(backend, key, restart, logs, took)
    _clusters.add(cluster)
    _stop_first_at_exit()
    return cluster


def attach(
    cluster: ClusterSpec | Mapping[str, Any],
    key: str | None = None,
    *,
    timeout_seconds: float = 1.0,
) -> Cluster:
    """Return a running cluster of plain servers, for watching and disturbing it.

    ``cluster`` is what `ClusterSpec` takes; ``key`` by default the one that this process knows for
    its addresses. `Cluster.status`, ``kill``, ``pause``, ``resume``, ``slow_down`` and ``stop``
    work (signals on this machine only); functions, restarts and resizing need `launch`, and there
    are no log lines. Raises UnavailableError when no task answers.
    """
    from dataflow.cluster.management.external_cluster import ExternalBackend

    spec = ClusterSpec(cluster)
    if key is None:
        key = registry.key_for(next(iter(spec.addresses().values())))
    backend = ExternalBackend(spec, key, timeout_seconds)
    return Cluster(backend, key, restart=False, logs=False, launch_seconds=0.0)


def find() -> list[Cluster]:
    """Return the running clusters of this process: launched, or of servers that live in it."""
    launched = [cluster for cluster in _clusters if not cluster.stopped]
    specs = {cluster.spec for cluster in launched}
    here = {server.cluster_spec: server for server in registry.servers()}
    for spec in [spec for spec in _attached if spec not in here]:
        del _attached[spec]
    for spec, server in here.items():
        if spec not in specs and spec not in _attached:
            with contextlib.suppress(OpError):
                _attached[spec] = attach(spec, registry.key_for(server.address))
    return sorted([*launched, *_attached.values()], key=lambda cluster: cluster.target)


def shutdown(target_or_spec: str | ClusterSpec | Cluster | None = None) -> None:
    """Stop servers: those at a target or of a `ClusterSpec`, or all clusters launched from here.

    With all clusters ends the Ray that was started for them, at once. Their ``server.join()`` returns. One that is gone already is passed over.
    """
    how = f"tf.cluster.shutdown() stopped it at {tracebacks.where(tracebacks.capture())}"
    if target_or_spec is None:
        _stop_all(how)
        return
    if isinstance(target_or_spec, str):
        addresses = [target_or_spec.removeprefix("grpc://")]
    else:
        addresses = list(ClusterSpec(target_or_spec).addresses().values())
    for address in addresses:
        with contextlib.suppress(OpError):
            connection = connect(
                address, registry.key_for(address), "a client", timeout_seconds=0.5
            )
            connection.deadline = time.monotonic() + 2.0
            try:
                call(connection, "shutdown")
            finally:
                # The task may be gone before its answer is here.
                registry.note_stopped([address], how, for_good=False)
                connection.close()


def _stop_all(how: str) -> None:
    for cluster in list(_clusters):
        cluster.stop_because(how)
    kept_ray.end()


def _stop_first_at_exit() -> None:
    """At the end of this process, stop the clusters before Ray ends itself.

    Handlers run last in, first out, and Ray registered its own when it was started. A
    cluster that is watched still would have Ray start again, in the middle of the exit.
    """
    atexit.unregister(_stop_all)
    atexit.register(_stop_all, "this process ended")
