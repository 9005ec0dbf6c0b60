"""What happens to a running cluster, each thing in one line of plain words, kept until it is dismissed."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from dataflow_widgets.cluster_view.snapshot import short
from dataflow_widgets.text_description import plural

_MOST_LINES = 5
_ALARMS = ("died", "lost", "cut")


class Telling:
    """The lines about one cluster. A line with the key of an earlier one takes its place."""

    def __init__(self, cluster: Any) -> None:
        self._cluster = cluster
        self._num_events = len(cluster.events)
        self._numbers = itertools.count(1)
        self._dropped: dict[str, int] = {}
        self.lines: list[dict[str, Any]] = []

    def say(self, text: str, level: str = "info", key: str = "") -> None:
        """Add a line; ``key`` replaces the line that has the same."""
        if any(line["text"] == text and line["key"] == key for line in self.lines):
            return
        self.lines = [line for line in self.lines if not key or line["key"] != key]
        self.lines.append({"id": next(self._numbers), "key": key, "text": text, "level": level})
        del self.lines[:-_MOST_LINES]

    def dismiss(self, number: int) -> None:
        """Take a line away."""
        self.lines = [line for line in self.lines if line["id"] != number]

    def take(
        self,
        events: Sequence[Any],
        tasks: Sequence[Mapping[str, Any]],
        training: Mapping[str, Any] | None,
    ) -> None:
        """Say what has happened since the last time: the cluster's events, and then its tasks as of
        `cluster_state`."""
        for event in events[self._num_events :]:
            text = sentence(event, training, self._stays_dead(), len(tasks))
            level = "alarm" if event.kind in _ALARMS else "info"
            self.say(text, level, f"{event.task} {_THEME.get(event.kind, event.kind)}")
        self._num_events = len(events)
        for task in tasks:
            count, before = task["dropped"] or 0, self._dropped.get(task["name"])
            self._dropped[task["name"]] = count
            if before is not None and count > before:
                what = "gradient has" if count == 1 else "gradients have"
                self.say(
                    f"{count} late {what} been dropped: the step that they were for was over.",
                    key=f"{task['name']} dropped",
                )
            silent = f"{task['name']} runs, but has not answered for a second."
            if task["state"] == "silent":
                self.say(silent, "alarm", f"{task['name']} silent")
            else:
                self.lines = [line for line in self.lines if line["text"] != silent]

    def _stays_dead(self) -> bool:
        return not (self._cluster.launched and self._cluster.auto_restart)


#: A later event of the same theme replaces the line of an earlier one of the same task.
_THEME = {
    "died": "life", "restarted": "life", "lost": "life", "paused": "pause", "resumed": "pause",
    "cut": "link", "delayed": "link", "mended": "link",
}  # fmt: skip


def sentence(
    event: Any, training: Mapping[str, Any] | None, stays_dead: bool, num_tasks: int
) -> str:
    """One event, and what follows from it in the mode in which the cluster trains."""
    name, why = short(event.task), event.why
    is_ps = not name.startswith("worker:")
    mode = training["mode"] if training and training["state"] == "running" else ""
    match event.kind:
        case "died":
            because = f" ({why})" if why else ""
            after = " It stays dead until Restart." if stays_dead else " It is being started again."
            return f"{name} died{because}: {_without(is_ps, mode)}{after}"
        case "restarted" if is_ps:
            put_back = (
                f"; the training puts its variables back to those of step {training['global_step']}."
                if training and mode
                else ". Its variables are gone: initialize them, or restore a checkpoint."
            )
            return f"{name} was started again{put_back}"
        case "restarted":
            return f"{name} was started again{' and joins the training' if mode else ''}."
        case "lost":
            return f"{name} is dead and is not started again: {why}."
        case "paused":
            return f"{name} is paused: to the others it is slow, not dead. {_waits(is_ps, mode)}"
        case "resumed":
            return f"{name} goes on."
        case "slowed" if why.startswith("0 s"):
            return f"{name} is quick again."
        case "slowed":
            return f"{name} takes {why.replace(' a step', '')} longer a step. {_slow(is_ps, mode)}"
        case "cut":
            return (
                f"The link of {name} is cut: what it sends, and what it is sent, is held back. "
                f"{_waits(is_ps, mode)}"
            )
        case "delayed" if why.startswith("0 s"):
            return f"Messages from and to {name} are on time again."
        case "delayed":
            late = why.replace(" a message", "")
            return f"Each message from and to {name} arrives {late} later. {_slow(is_ps, mode)}"
        case "mended":
            return f"The link of {name} is whole: what was held back arrives now."
        case "added" | "removed":
            anew = (
                " The data is dealt anew to the workers, and the training goes on." if mode else ""
            )
            return f"{name} was {event.kind}; there are {plural(num_tasks, 'task')} now.{anew}"
    return f"{name}: {event.kind}{f' ({why})' if why else ''}."


def _without(is_ps: bool, mode: str) -> str:
    if is_ps:
        return "its variables are gone, and the workers cannot step."
    return {
        "asynchronous": "the other workers go on; the gradient that it was computing is lost.",
        "synchronous": "the step waits for its gradient.",
        "backup workers": "the steps go on while enough others send gradients.",
        "all-reduce": "the ring is broken; the others wait, and begin anew when it is back.",
        "ZeRO": "the ring is broken; the others wait, and begin anew when it is back.",
    }.get(mode, "what ran there is lost.")


def _waits(is_ps: bool, mode: str) -> str:
    if is_ps:
        return "Who needs its variables waits."
    return {
        "asynchronous": "The others go on; its next gradient will be stale.",
        "synchronous": "The step waits for its gradient.",
        "backup workers": "The steps go on with the gradients of the others.",
        "all-reduce": "The ring, and with it every worker, waits.",
        "ZeRO": "The ring, and with it every worker, waits.",
    }.get(mode, "Who needs it waits.")


def _slow(is_ps: bool, mode: str) -> str:
    if is_ps:
        return "All workers feel it."
    return {
        "asynchronous": "Its gradients become stale: the others change the variables meanwhile.",
        "synchronous": "The slowest sets the pace of all.",
        "backup workers": "Its gradients come too late, and are dropped.",
        "all-reduce": "The slowest sets the pace of the ring.",
        "ZeRO": "The slowest sets the pace of the ring.",
    }.get(mode, "Who needs it waits longer.")
