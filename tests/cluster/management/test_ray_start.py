"""Ray's own start, where the machine is so busy that Ray gives up on itself."""

import subprocess
import sys

import pytest

import dataflow as tf
from dataflow.cluster.management import private_ray

SLOW = Exception("The current node timed out during startup. This could happen because ...")


class Start:
    """Leaves a process behind, as Ray does, and raises what it is told to, call by call."""

    def __init__(self, *errors):
        self.errors = list(errors)
        self.left = []

    def __call__(self):
        command = [sys.executable, "-c", "import sys; sys.stdin.read()  # of ray"]
        self.left.append(subprocess.Popen(command, stdin=subprocess.PIPE))
        error = self.errors.pop(0)
        if error is not None:
            raise error

    def close(self):
        for process in self.left:
            process.kill()
            process.wait(60)
            process.stdin.close()


@pytest.fixture
def start(request):
    made = Start(*request.param)
    yield made
    made.close()


@pytest.mark.parametrize("start", [[SLOW, None]], indirect=True)
def test_a_node_that_was_not_there_in_time_is_started_once_more(start, caplog):
    private_ray._twice_if_slow(start)
    assert start.errors == []
    first, second = start.left
    assert first.wait(60) < 0, "what the first start had left was not ended"
    assert second.poll() is None
    assert "once more" in caplog.text


@pytest.mark.parametrize("start", [[SLOW, SLOW]], indirect=True)
def test_twice_is_enough(start):
    with pytest.raises(tf.errors.UnavailableError, match="120 s, twice: this machine is too busy"):
        private_ray._twice_if_slow(start)


@pytest.mark.parametrize(
    "start", [[ConnectionError("no such head"), None], [KeyboardInterrupt(), None]], indirect=True
)
def test_another_error_or_an_interrupt_is_not_tried_again_and_leaves_nothing(start):
    with pytest.raises((ConnectionError, KeyboardInterrupt)):
        private_ray._twice_if_slow(start)
    (left,) = start.left
    assert left.wait(60) < 0, "what it had started was not ended"
