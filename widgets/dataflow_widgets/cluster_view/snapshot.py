"""A cluster as the page sees it: plain dictionaries, rates over the last seconds, and advice."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from dataflow_widgets.text_description import plural

_WINDOW_SECONDS = 3.0
_MOST_EVENTS = 40
_MOST_LINES = 60
_MOST_LETTERS = 500
_NEWS_SECONDS = 20.0
_COUNTERS = ("steps", "received_bytes", "sent_bytes", "processor_seconds")


class Rates:
    """Counters of tasks over the last three seconds, as rates.

    The cluster's own ``steps_per_second`` is since whoever asked last, so it cannot be shared.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: dict[Any, deque[tuple[float, tuple[float, ...]]]] = {}

    def of(self, key: Any, row: dict[str, Any]) -> dict[str, float | None]:
        """Note a row's counters; return ``{"steps": per second, ...}``, None before two are known."""
        now = self._clock()
        if row.get("steps") is None:
            self._seen.pop(key, None)
            return dict.fromkeys(_COUNTERS)
        values = tuple(float(row.get(name) or 0) for name in _COUNTERS)
        seen = self._seen.setdefault(key, deque())
        if seen and values[0] < seen[-1][1][0]:
            seen.clear()  # another process
        seen.append((now, values))
        while len(seen) > 2 and now - seen[0][0] > _WINDOW_SECONDS:
            seen.popleft()
        then, first = seen[0]
        if now - then < 0.05:
            return dict.fromkeys(_COUNTERS)
        # A link that was closed takes its bytes with it: never below nothing.
        return {
            name: max(0.0, (b - a) / (now - then))
            for name, a, b in zip(_COUNTERS, first, values, strict=True)
        }


def short(task: str) -> str:
    """``"worker:1"`` of ``"/job:worker/task:1"``."""
    return task.replace("/job:", "").replace("/task:", ":")


def counts_of(cluster: Any) -> dict[str, int]:
    """The number of tasks by job."""
    spec = cluster.spec
    return {job: spec.num_tasks(job) for job in spec.jobs}


def size_words(counts: dict[str, int]) -> str:
    """``"1 ps and 2 workers"``."""
    parts = [
        f"{n} ps" if job == "ps" else plural(n, job)
        for job, n in counts.items()
        if n or len(counts) == 1
    ]
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def cluster_state(cluster: Any, name: str, rates: Rates) -> dict[str, Any]:
    """All that is shown of a cluster but its logs."""
    if cluster.stopped:
        return {
            "id": name,
            "words": "stopped",
            "state": "stopped",
            "target": "",
            "launched": bool(cluster.launched),
            "jobs": {},
            "tasks": [],
            "events": _events(cluster),
            "notices": [_notice("info", "This cluster was stopped. Launch starts a new one.")],
        }
    counts = counts_of(cluster)
    tasks = [_task(row, rates.of((name, row["task"]), row)) for row in cluster.status()]
    notices = _notices(cluster, tasks)
    dead = all(task["state"] == "dead" for task in tasks)
    return {
        "id": name,
        "words": size_words(counts),
        "state": "dead" if dead else "running",
        "target": cluster.target,
        "launched": bool(cluster.launched),
        "jobs": counts,
        "tasks": tasks,
        "events": _events(cluster),
        "notices": notices,
    }


def _task(row: dict[str, Any], rates: dict[str, float | None]) -> dict[str, Any]:
    silent = row["state"] == "running" and row.get("steps") is None
    return {
        "task": row["task"],
        "name": short(row["task"]),
        "state": "silent" if silent else row["state"],
        "device": row.get("device"),
        "address": row.get("address"),
        "pid": row.get("pid"),
        "restarts": row.get("restarts") or 0,
        "steps": row.get("steps"),
        "stepsPerSecond": rates["steps"],
        "received": row.get("received_bytes"),
        "sent": row.get("sent_bytes"),
        "sharedReceived": row.get("shared_received_bytes"),
        "sharedSent": row.get("shared_sent_bytes"),
        "receivedPerSecond": rates["received_bytes"],
        "sentPerSecond": rates["sent_bytes"],
        "busy": rates["processor_seconds"],
        "queues": row.get("queues") or {},
        "updates": row.get("updates"),
        "staleness": row.get("staleness"),
        "largestStaleness": row.get("largest_staleness"),
        "dropped": row.get("dropped_gradients"),
        "variables": row.get("variables"),
        "variableBytes": row.get("variable_bytes"),
        "sizes": row.get("variable_sizes") or {},
        "memory": row.get("memory_bytes"),
        "delay": row.get("delay_seconds") or 0,
        "isCut": bool(row.get("is_cut")),
        "linkDelay": row.get("link_delay_seconds") or 0,
    }


def _events(cluster: Any) -> list[dict[str, Any]]:
    return [
        {
            "seconds": round(event.seconds, 1),
            "task": short(event.task),
            "kind": event.kind,
            "why": event.why[:_MOST_LETTERS],
        }
        for event in list(cluster.events)[-_MOST_EVENTS:]
    ]


def _notice(level: str, text: str, *actions: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    return {
        "level": level,
        "text": text,
        "actions": [{"label": label, "act": act} for label, act in actions],
    }


def _because(why: str | None) -> str:
    return f" ({why})" if why else ""


def _notices(cluster: Any, tasks: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """What died or stands still, what that means, and what to press."""
    whys = {event.task: event.why for event in cluster.events if event.kind == "died"}
    lost = {event.task: event.why for event in cluster.events if event.kind == "lost"}
    if tasks and all(task["state"] == "dead" for task in tasks):
        why = next(iter(reversed(list(whys.values()))), "")
        because = f": {why}" if why else ""
        return [
            _notice(
                "alarm",
                f"All tasks of this cluster are dead{because}. Their variables are lost. Clear it "
                "away, then launch a new one.",
                ("Clear away", {"do": "stop"}),
            )
        ]
    if tasks and all(task["state"] in ("silent", "dead") for task in tasks):
        return [
            _notice(
                "alarm",
                "No task of this cluster answers: its servers were stopped, or their machines are "
                "out of reach. Clear it away, or start them again.",
                ("Clear away", {"do": "stop"}),
            )
        ]
    found = []
    for task in tasks:
        path = task["task"]
        if task["state"] == "dead":
            why = lost.get(path) or whys.get(path) or "it does not answer"
            found.append(_notice_of_death(task["name"], why, cluster.launched))
        elif (notice := _notice_of(cluster, task, _because(whys.get(path)))) is not None:
            found.append(notice)
    return found


def _notice_of_death(name: str, why: str, launched: bool) -> dict[str, Any]:
    if not launched:
        return _notice(
            "alarm",
            f"{name} is dead: {why}. Who started this server must start it again; it "
            "joins by itself.",
        )
    return _notice(
        "alarm",
        f"{name} is dead: {why}. "
        + ("Its variables are lost. " if name.startswith("ps:") else "")
        + "Restart begins it again at its address.",
        (f"Restart {name}", {"do": "restart", "task": name}),
    )


def _notice_of(cluster: Any, task: dict[str, Any], died: str) -> dict[str, Any] | None:
    """What stands still of a task that lives; ``died`` says, behind its name, why it died before."""
    name, state = task["name"], task["state"]
    if state in ("restarting", "starting"):
        return _notice("info", f"{name} died{died} and is being started again.")
    if state == "paused":
        return _notice(
            "info",
            f"{name} is paused: to the others it is slow, not dead. Who needs it waits.",
            (f"Continue {name}", {"do": "resume", "task": name}),
        )
    if state == "silent":
        return _notice("info", f"{name} runs, but has not answered for a second.")
    if not _was_restarted_lately(cluster, task["task"]):
        return None
    lost_words = (
        " It has no variables of before: initialize them, or restore a checkpoint."
        if name.startswith("ps:") and not task["variables"]
        else ""
    )
    return _notice("info", f"{name} died{died} and was started again.{lost_words}")


def _was_restarted_lately(cluster: Any, task: str) -> bool:
    events = [event for event in cluster.events if event.task == task]
    return (
        bool(events)
        and events[-1].kind == "restarted"
        and cluster.seconds - events[-1].seconds < _NEWS_SECONDS
    )


def log_lines(cluster: Any, task: str) -> list[str]:
    """The tail of a task's log, long lines cut."""
    return [
        line if len(line) <= _MOST_LETTERS else line[: _MOST_LETTERS - 1] + "…"
        for line in cluster.log(task, _MOST_LINES)
    ]


def describe_cluster(state: dict[str, Any]) -> list[str]:
    """A cluster in words: a line for each task, then what needs attention and what has happened."""
    lines = [f"Cluster of {state['words']}: {state['target'] or state['state']}."]
    for task in state["tasks"]:
        parts = [task["state"]]
        if task["isCut"]:
            parts.append("link cut")
        if task["linkDelay"]:
            parts.append(f"messages {task['linkDelay']:g} s late")
        if task["delay"]:
            parts.append(f"slowed by {task['delay']:g} s a step")
        if task["device"]:
            parts.append(f"on {task['device']}")
        if task["stepsPerSecond"] is not None:
            parts.append(f"{task['stepsPerSecond']:.3g} steps a second")
        elif task["steps"] is not None:
            parts.append(plural(task["steps"], "step"))
        if task["staleness"] is not None:
            parts.append(f"staleness {task['staleness']:.2g}")
        if task["variables"]:
            parts.append(
                f"{plural(task['variables'], 'variable')}, {task['variableBytes']:,} bytes"
            )
        if task["received"] is not None:
            shared = (task["sharedReceived"] or 0) + (task["sharedSent"] or 0)
            through = f" ({shared:,} of them through shared memory)" if shared else ""
            parts.append(f"{task['received']:,} bytes received, {task['sent']:,} sent{through}")
        if task["restarts"]:
            parts.append(f"started again {plural(task['restarts'], 'time')}")
        lines.append(f"  {task['name']}: {'; '.join(parts)}")
    lines += [f"  ! {notice['text']}" for notice in state["notices"]]
    for event in state["events"][-6:]:
        why = f": {event['why']}" if event["why"] else ""
        lines.append(f"  after {event['seconds']} s {event['task']} {event['kind']}{why}")
    return lines
