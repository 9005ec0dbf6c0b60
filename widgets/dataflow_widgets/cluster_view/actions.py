"""What the page can ask for. Each request runs in a thread of its own: neither the page nor the
kernel waits for a cluster to start."""

from __future__ import annotations

import itertools
import threading
import time
from typing import Any

from dataflow_widgets import side_tasks
from dataflow_widgets.cluster_view.demo import digits_training
from dataflow_widgets.cluster_view.snapshot import counts_of, short, size_words

_MOST_TASKS = 64
_SHOWN_SECONDS = 8.0


class _Canceled(Exception):
    pass


class _Request:
    """What is being done: in words, since when, what it has said of itself, and whether it shall end."""

    def __init__(self, words: str) -> None:
        self.words = words
        self.began = time.monotonic()
        self.lines: list[str] = []
        self.is_canceled = False

    def seconds(self) -> float:
        return time.monotonic() - self.began

    def told(self) -> list[str]:
        """A line for each phase, after how many seconds it began, and how long it has taken so far."""
        seconds = self.seconds()
        return [*self.lines, *([f"{seconds:.0f} s so far"] if seconds >= 1 else [])]


class Actions:
    """Requests of the page that are under way, and how the last ones ended."""

    def __init__(self, panel: Any) -> None:
        self._panel = panel
        self._numbers = itertools.count(1)
        self._pending: dict[int, _Request] = {}
        self._news: tuple[int, str, float] = (0, "", 0.0)
        self._problem: tuple[int, str] = (0, "")
        self._lock = threading.Lock()

    def state(self) -> dict[str, Any]:
        """What the page shows of them; numbers tell a new text from one that was seen."""
        with self._lock:
            fresh = time.monotonic() - self._news[2] < _SHOWN_SECONDS
            return {
                "pending": [request.words for request in self._pending.values()],
                "progress": "\n".join(
                    line for request in self._pending.values() for line in request.told()
                ),
                "news": {"id": self._news[0], "text": self._news[1] if fresh else ""},
                "problem": {"id": self._problem[0], "text": self._problem[1]},
            }

    def begin(self, act: dict[str, Any]) -> str:
        """Check a request and start it; returns what is being done, in words.

        Raises ValueError for a request that makes no sense.
        """
        if act.get("do") == "cancel":
            return self._cancel()
        words, work = self._plan(act)
        number = next(self._numbers)
        with self._lock:
            if any(words == request.words for request in self._pending.values()):
                return words  # pressed twice
            self._pending[number] = _Request(words)
        side_tasks.begin_call(self._run, number, work, act, name=f"panel {act.get('do')}")
        return words

    def _run(self, number: int, work: Any, act: dict[str, Any]) -> None:
        try:
            done = work(number) if act.get("do") == "launch" else work()
            with self._lock:
                self._news = (number, done, time.monotonic())
            self._panel._acted(act, done)
        except _Canceled:
            with self._lock:
                said = "The launch was canceled; nothing of it is left running."
                self._news = (next(self._numbers), said, time.monotonic())
        except BaseException as e:
            with self._lock:
                self._problem = (number, f"{type(e).__name__}: {e}"[:1500])
        finally:
            with self._lock:
                self._pending.pop(number, None)
            self._panel._changed()

    def _plan(self, act: dict[str, Any]) -> tuple[str, Any]:
        do = act.get("do")
        if do == "launch":
            return self._plan_launch(act)
        cluster = (
            self._panel._cluster_called(str(act["cluster"]))
            if act.get("cluster")
            else self._panel.cluster
        )
        if do in ("start", "stop training", "switch"):
            return self._plan_training(str(do), act)
        if cluster is None:
            raise ValueError("There is no cluster; launch one first.")
        if do == "auto restart":
            wanted = bool(act.get("restart"))

            def allow() -> str:
                cluster.auto_restart = wanted
                return f"A task that dies {'is started again' if wanted else 'stays dead until Restart'}."

            return "telling the cluster…", allow
        if do == "train":
            mode, spare = str(act.get("mode", "asynchronous")), int(act.get("backups", 1))
            return "preparing the training…", lambda: self._train(cluster, mode, spare)
        if do == "stop":
            return "stopping the cluster…", lambda: (cluster.stop(), "The cluster is stopped.")[1]
        if do == "resize":
            counts = _counts(act.get("jobs") or {})
            return (
                f"resizing to {size_words(counts_of(cluster) | counts)}…",
                lambda: (cluster.resize(**counts), f"Now {size_words(counts_of(cluster))}.")[1],
            )
        task = str(act.get("task", ""))
        if do == "slow_down":
            seconds = float(act.get("seconds", 0))
            if not 0 <= seconds <= 60:
                raise ValueError(f"A step can be slowed by 0 to 60 seconds, not {seconds:g}.")
            said = (
                f"{task} takes {seconds:g} s longer a step."
                if seconds
                else f"{task} is quick again."
            )
            return f"telling {task}…", lambda: (cluster.slow_down(task, seconds), said)[1]
        if do == "delay":
            seconds = float(act.get("seconds", 0))
            if not 0 <= seconds <= 60:
                raise ValueError(f"A message can be late by 0 to 60 seconds, not {seconds:g}.")
            late = f"{seconds:g} s late" if seconds else "on time"
            return f"telling {task}…", lambda: (
                cluster.delay(task, seconds),
                f"Messages of {task} are {late}.",
            )[1]
        verbs = {
            "cut": ("cutting the link of", "is cut off", cluster.cut),
            "mend": ("mending the link of", "is linked again", cluster.mend),
            "kill": ("killing", "was killed", cluster.kill),
            "pause": ("pausing", "is paused", cluster.pause),
            "resume": ("continuing", "goes on", cluster.resume),
            "restart": ("restarting", "was started again, without its variables", cluster.restart),
        }
        if do not in verbs:
            raise ValueError(f"A panel cannot {do!r}.")
        doing, done, method = verbs[str(do)]
        return f"{doing} {task}…", lambda: (method(task), f"{task} {done}.")[1]

    def _plan_launch(self, act: dict[str, Any]) -> tuple[str, Any]:
        import dataflow.cluster

        counts = _counts({"ps": act.get("ps", 1), "workers": act.get("workers", 2)})
        address = str(act.get("address") or "").strip() or None
        restart = bool(act.get("restart", True))
        words = size_words({"ps": counts["ps"], "worker": counts["workers"]})

        def work(number: int) -> str:
            # The page shows the tasks' lines: they are not printed into the cell as well.
            cluster = dataflow.cluster.launch(
                **counts, address=address, restart=restart, logs=False, progress=self._told(number)
            )
            self._panel._selected = cluster
            return f"Launched {words} in {cluster.launch_seconds:.1f} s."

        where = f" at {address}" if address else ""
        return f"launching {words}{where}…", work

    def _told(self, number: int) -> Any:
        """What hears of a launch for the page, and ends it where that was asked for."""
        from dataflow.cluster.management.launch_progress import LaunchProgress

        actions, request = self, self._pending[number]

        class Told(LaunchProgress):
            def say(self, line: str) -> None:
                self.check()
                with actions._lock:
                    request.lines.append(f"{request.seconds():.1f} s: {short(line)}")
                    actions._news = (next(actions._numbers), short(line), time.monotonic())
                actions._panel._changed()

            def check(self) -> None:
                if request.is_canceled:
                    raise _Canceled

        return Told()

    def _cancel(self) -> str:
        """Ends the launches that are under way, each at its next look."""
        with self._lock:
            for request in self._pending.values():
                request.is_canceled = True
        return "canceling the launch…"

    def _plan_training(self, do: str, act: dict[str, Any]) -> tuple[str, Any]:
        number, trainings = int(act.get("training", 0)), self._panel._trainings()
        if not 0 <= number < len(trainings):
            raise ValueError("That training is gone.")
        training = trainings[number]
        if do == "stop training":
            return "stopping the training…", lambda: (
                training.stop(),
                "The training stops after this step; its variables stay.",
            )[1]
        if do == "start":
            return "starting the training…", lambda: (training.start(), "The training goes on.")[1]
        mode, spare = str(act.get("mode")), int(act.get("backups", 1))
        batch = {} if act.get("batch") is None else {"batch_size": int(act["batch"])}

        def switch() -> str:
            training.switch(mode, spare, **batch)
            self._panel._draw_training(training)
            status = training.status()
            each = f", {batch['batch_size']} examples a step" if batch else ""
            return (
                f"{status['name']}: {mode}{each}. The workers began anew, with the variables as they "
                f"were at step {status['global_step']}."
            )

        return f"switching to {mode}…", switch

    def _train(self, cluster: Any, mode: str, num_backups: int) -> str:
        training = digits_training(cluster, mode, num_backups)
        training.start()
        self._panel._draw_training(training)
        return f"Training {training.name}, {mode}."


def _counts(given: dict[str, Any]) -> dict[str, int]:
    counts = {}
    for job, count in given.items():
        number = int(count) if str(count).strip().isdigit() else -1
        if not 0 <= number <= _MOST_TASKS:
            raise ValueError(f"The number of {job} is from 0 to {_MOST_TASKS}, not {count!r}.")
        counts[str(job)] = number
    return counts
