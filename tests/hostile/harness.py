"""Many damaged inputs for a reader, and what became of each.

The rule: an input is read, or refused with an error of ours that says which file or node, with no more
processor time and memory than `tests.hostile.inputs` allows.
"""

from __future__ import annotations

import contextlib
import random
import re
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dataflow as tf
from tests.hostile.inputs import BYTES, SECONDS

#: A reader raises these for input that is not as it should be. (A subclass that is none of the
#: project's, such as UnicodeDecodeError, says nothing of the input: it is not one of them.)
_CLEAR = (tf.errors.OpError, ValueError, OSError)
_UNCLEAR = (UnicodeError, tf.errors.UnknownError, tf.errors.InternalError)


@dataclass(frozen=True)
class Format:
    """A format that is read: intact inputs, how they are damaged, and the reader."""

    name: str
    #: Intact inputs; each is accepted.
    seeds: Callable[[], list[Any]]
    damage: Callable[[Any, random.Random], Any]
    #: Reads one input, in a folder of its own where it needs files.
    read: Callable[[Any, Path], Any]
    #: What a message must say (a regular expression): the file, the node or the op.
    names: str


@dataclass
class Outcome:
    """What became of the inputs of one format."""

    name: str
    accepted: int = 0
    refused: int = 0
    failures: list[str] = field(default_factory=list)
    slowest_seconds: float = 0.0
    slowest_index: int = -1
    largest_megabytes: float = 0.0
    largest_index: int = -1

    @property
    def tried(self) -> int:
        """How many inputs there were."""
        return self.accepted + self.refused + len(self.failures)


def damaged(of: Format, seed: int, index: int) -> Any:
    """Input number ``index`` of a run; the same in each run with that seed."""
    rng = random.Random(f"{seed} {of.name} {index}")
    return of.damage(rng.choice(of.seeds()), rng)


def run(of: Format, seed: int, indices: range, folder: Path) -> Outcome:
    """Reads the inputs of those numbers."""
    outcome = Outcome(of.name)
    for item in of.seeds():
        of.read(item, folder)  # intact inputs are accepted, and what loads on first use is loaded
    for index in indices:
        item = damaged(of, seed, index)
        with _measured() as used:
            accepted, failure = _read(of, item, folder)
        if used.seconds > outcome.slowest_seconds:
            outcome.slowest_seconds, outcome.slowest_index = used.seconds, index
        if used.megabytes > outcome.largest_megabytes:
            outcome.largest_megabytes, outcome.largest_index = used.megabytes, index
        too_much = []
        if used.seconds > SECONDS:
            too_much.append(f"took {used.seconds:.1f} s of processor time")
        if used.megabytes * 2**20 > BYTES:
            too_much.append(f"took {used.megabytes:.0f} MB")
        failure = failure or " and ".join(too_much)
        if failure:
            again = f"python -m tests.hostile {of.name} --seed {seed} --index {index}"
            outcome.failures.append(f"{of.name} {index}: {failure}\n  again: {again}")
        elif accepted:
            outcome.accepted += 1
        else:
            outcome.refused += 1
    return outcome


def _read(of: Format, item: Any, folder: Path) -> tuple[bool, str | None]:
    """Whether one input is accepted, and what was wrong with how it was refused, if anything."""
    try:
        of.read(item, folder)
    except _CLEAR as error:
        if isinstance(error, _UNCLEAR):
            return False, f"refused unclearly: {_shown(error)}"
        if not re.search(of.names, str(error)):
            return False, f"refused without a name ({of.names}): {_shown(error)}"
        return False, None
    except Exception as error:
        return False, f"refused unclearly: {_shown(error)}"
    return True, None


def _shown(error: BaseException) -> str:
    place = traceback.extract_tb(error.__traceback__)[-1]
    return (
        f"{type(error).__name__} at {Path(place.filename).name}:{place.lineno}: {str(error)[:300]}"
    )


class _Used:
    seconds = 0.0
    megabytes = 0.0


@contextlib.contextmanager
def _measured() -> Iterator[_Used]:
    """Processor time, and the most memory over what was there before (on Linux)."""
    used = _Used()
    before = _reset_peak_megabytes()
    start = time.process_time()
    try:
        yield used
    finally:
        used.seconds = time.process_time() - start
        used.megabytes = max(_megabytes("VmHWM") - before, 0.0)


def _reset_peak_megabytes() -> float:
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return _megabytes("VmRSS")


def _megabytes(name: str) -> float:
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith(name + ":"):
                return int(line.split()[1]) / 1024
    return 0.0
