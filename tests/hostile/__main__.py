"""``make fuzz``: many damaged inputs for each format, and a table of what became of them.

Usage: ``python -m tests.hostile [--inputs 10000] [--seed 0] [--index N] [format ...]``. Each failure is
printed with the command that reads that input again; ``--index`` does so, and shows the whole error.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import sys
import tempfile
import time
from pathlib import Path

from tests.hostile.formats import FORMATS
from tests.hostile.harness import damaged, run

#: An input that takes this long hangs: the place is printed and the process ends.
_HANGS_AFTER_SECONDS = 120
_AT_ONCE = 200
#: What asks for more has failed, without the machine suffering from it.
_MOST_BYTES = 8 << 30


def _again(name: str, seed: int, index: int, folder: Path) -> None:
    """Reads one input; an error is shown as it comes."""
    item = damaged(FORMATS[name], seed, index)
    print(repr(item)[:2000])
    FORMATS[name].read(item, folder)
    print("accepted")


def main(arguments: list[str] | None = None) -> int:
    """Returns the number of formats with failures."""
    parser = argparse.ArgumentParser(prog="python -m tests.hostile")
    parser.add_argument("formats", nargs="*", choices=[[], *FORMATS], metavar="format")
    parser.add_argument("--inputs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--index", type=int)
    options = parser.parse_args(arguments)
    names = options.formats or list(FORMATS)
    with contextlib.suppress(ImportError):  # Windows
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MOST_BYTES, _MOST_BYTES))
    with tempfile.TemporaryDirectory() as folder:
        if options.index is not None:
            _again(names[0], options.seed, options.index, Path(folder))
            return 0
        print(f"{'format':12} {'inputs':>7} {'accepted':>8} {'refused':>7} {'failed':>6}", end="")
        print(f" {'slowest (input)':>20} {'most memory (input)':>22} {'s':>6}", flush=True)
        num_failed = 0
        for name in names:
            failed = _table_row(name, options.seed, options.inputs, Path(folder))
            num_failed += bool(failed)
            for text in failed[:20]:
                print(f"  {text}", flush=True)
    return num_failed


def _table_row(name: str, seed: int, num_inputs: int, folder: Path) -> list[str]:
    start = time.perf_counter()
    parts = []
    folder = folder / name  # files of another format must not be found
    folder.mkdir()
    for first in range(0, num_inputs, _AT_ONCE):
        faulthandler.dump_traceback_later(_HANGS_AFTER_SECONDS, exit=True)
        indices = range(first, min(first + _AT_ONCE, num_inputs))
        parts.append(run(FORMATS[name], seed, indices, folder))
    faulthandler.cancel_dump_traceback_later()
    failures = [text for part in parts for text in part.failures]
    slowest = max(parts, key=lambda part: part.slowest_seconds)
    largest = max(parts, key=lambda part: part.largest_megabytes)
    print(
        f"{name:12} {sum(p.tried for p in parts):7,} {sum(p.accepted for p in parts):8,} "
        f"{sum(p.refused for p in parts):7,} {len(failures):6,} "
        f"{slowest.slowest_seconds:9.3f} s ({slowest.slowest_index:5}) "
        f"{largest.largest_megabytes:10.1f} MB ({largest.largest_index:5}) "
        f"{time.perf_counter() - start:6.0f}",
        flush=True,
    )
    return failures


if __name__ == "__main__":
    sys.exit(main())
