"""Who hears of a launch while it lasts, and may end it; and what is said of it."""

from __future__ import annotations

LOADING = "Loading Ray."
STARTING_RAY = "Starting Ray on this machine."
KEPT_RAY = "Using the Ray of the last cluster."
FOUND_RAY = "Using the Ray that this process is connected to."
INTERRUPTED = "The launch was interrupted; nothing of it is left running."


def joining(address: str) -> str:
    """A Ray runs already."""
    return f"Joining the Ray at {address}."


def starting(num_tasks: int) -> str:
    """The tasks' processes start."""
    return f"Starting {num_tasks} tasks." if num_tasks > 1 else "Starting 1 task."


def ready(task: str, count: int, num_tasks: int) -> str:
    """A task listens; ``count`` of them do."""
    return f"{task} is ready, {count} of {num_tasks}."


def done(seconds: float) -> str:
    """All tasks know of each other."""
    return f"The cluster is ready after {seconds:.1f} s."


class LaunchProgress:
    """Hears of the phases of `tf.cluster.launch`; this one keeps them to itself.

    What either method raises ends the launch, and nothing of it is left running.
    """

    def say(self, line: str) -> None:
        """A phase begins, or a task is ready."""

    def check(self) -> None:
        """The launch still waits for its tasks; called several times a second."""


class PrintedProgress(LaunchProgress):
    """Prints each phase immediately: in a notebook and in a file, too."""

    def say(self, line: str) -> None:
        """Print it."""
        print(line, flush=True)
