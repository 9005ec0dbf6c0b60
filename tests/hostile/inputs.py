"""What the fuzzers of this folder share: how many inputs to try, and what none of them may do.

The everyday run tries a few hundred inputs of each format; `make fuzz` tries `DATAFLOW_FUZZ_INPUTS` of
each (10,000) and prints how many there were. The rule for all of them: it is read, or refused with a
clear error of ours, with less than two seconds of the processor and 200 MB.
"""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable

SECONDS = 2.0
BYTES = 200_000_000


def num_inputs(few: int = 300) -> int:
    """How many inputs to try: ``few``, or as many as were asked for."""
    return int(os.environ.get("DATAFLOW_FUZZ_INPUTS") or few)


class Rule:
    """Calls a reader with one input after the other; raises AssertionError for one that breaks the rule."""

    def __init__(self, format_name: str, *refusals: type[BaseException]) -> None:
        """``refusals`` are the errors that may refuse an input of the format."""
        self.format_name = format_name
        self.num_read = 0
        self.num_refused = 0
        self._refusals = refusals
        self._peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    def try_one(self, what: object, read: Callable[[], object]) -> None:
        """Read one input; ``what`` is shown where it breaks the rule."""
        started = time.thread_time()
        said = "read"
        try:
            read()
            self.num_read += 1
        except self._refusals as error:
            said = str(error).strip()
            self.num_refused += 1
        except Exception as error:
            raise AssertionError(
                f"{self.format_name}: {type(error).__name__}: {error} for {what!r}"
            ) from error
        seconds = time.thread_time() - started
        assert said, f"{self.format_name}: an error without a word for {what!r}"
        assert seconds < SECONDS, f"{self.format_name}: {seconds:.1f} s for {what!r}"
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # KB
        more = 1024 * (peak - self._peak)
        assert more < BYTES, f"{self.format_name}: {more >> 20} MB for {what!r}"

    def report(self) -> None:
        """Print how many inputs were tried, and check that some were of either kind."""
        print(
            f"{self.format_name}: {self.num_read + self.num_refused} inputs, "
            f"{self.num_read} read, {self.num_refused} refused"
        )
        assert self.num_read, f"{self.format_name}: nothing could be read; the inputs are no test"
        assert self.num_refused, f"{self.format_name}: nothing was refused"
