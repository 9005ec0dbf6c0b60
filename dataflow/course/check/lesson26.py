"""Checks of lesson 26: serving."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from dataflow.course.exercise import exercise, expect, expect_type
from dataflow.course.variants import drawn


@exercise(
    "Which of these does json.loads refuse, which does np.array, and which go through both?",
    "A missing key is a KeyError and a list in place of a dictionary a TypeError: catch both, and raise "
    "ValueError. Then look at the shape, and at np.isfinite.",
    lambda v: (
        "After images = np.array(json.loads(body)['images'], np.float32): if images.ndim != 2 or "
        f"images.shape[1] != {v.width} or len(images) < 1 or not np.isfinite(images).all(): raise ValueError(...)."
    ),
)
def ex1(read: Callable[[bytes], Any]) -> str:
    """Reading a request that may be anything."""
    width = drawn("lesson26.ex1").width
    rng = np.random.default_rng(14)
    for num in (1, 5):
        images = rng.uniform(size=(num, width)).round(3)
        got = read(json.dumps({"images": images.tolist()}).encode())
        expect_type(
            isinstance(got, np.ndarray),
            f"for {num} images it returned {type(got).__name__}, needed an array",
        )
        expect(
            got.shape == (num, width) and got.dtype == np.float32,
            f"for {num} images it returned {got.dtype}{list(got.shape)}, needed float32[{num}, {width}]",
        )
        expect(np.allclose(got, images), "the numbers are not those of the request")
    row = [0.5] * width
    bad = {
        "no JSON": b"{images",
        "no text": b"\xff\xfe\x00",
        "nothing": b"",
        "no images": json.dumps({"pictures": [row]}).encode(),
        "a list": json.dumps([row]).encode(),
        "a number": b"7",
        "one number too few": json.dumps({"images": [row[1:]]}).encode(),
        "one row without its list": json.dumps({"images": row}).encode(),
        "rows of unequal length": json.dumps({"images": [row, row[:3]]}).encode(),
        "no rows": json.dumps({"images": []}).encode(),
        "words": json.dumps({"images": [["a"] * width]}).encode(),
        "null": json.dumps({"images": None}).encode(),
        "NaN": json.dumps({"images": [[*row[1:], float("nan")]]}).encode(),
        "infinity": json.dumps({"images": [[*row[1:], float("inf")]]}).encode(),
    }
    for what, body in bad.items():
        try:
            got = read(body)
        except ValueError:
            continue
        except Exception as e:
            expect(False, f"{what}: it raised {type(e).__name__} ({e}), needed ValueError")
        expect(False, f"{what}: it returned {str(got)[:60]}, needed ValueError")
    return f"Right: two good requests were read, and {len(bad)} kinds of bad ones refused."


@exercise(
    "Go through what lies in the folder: which names are whole numbers, and what has to be in them?",
    "pathlib.Path(folder).iterdir() gives the paths; path.name.isdecimal() tells a number. Compare "
    "numbers, not words: 10 is newer than 9.",
    "versions = [int(p.name) for p in pathlib.Path(folder).iterdir() if p.name.isdecimal() and "
    "(p / 'saved_model.pb').is_file()]; max(versions, default=None).",
)
def ex2(newest: Callable[[Any], Any]) -> str:
    """The newest complete version in a folder."""
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)

        def look(needed: int | None, what: str) -> None:
            got = newest(name)
            expect(got == needed, f"{what}: it returned {got!r}, needed {needed}")

        look(None, "an empty folder")
        (home / "3").mkdir()
        look(None, "version 3 without a saved_model.pb: its export is not done")
        (home / "notes.txt").write_text("9")
        (home / "11").write_text("a file")
        for version in ("1", "2", "9"):
            (home / version).mkdir()
            (home / version / "saved_model.pb").write_bytes(b"")
        look(9, "versions 1, 2 and 9, an unfinished 3, and a file called 11")
        for other in ("temp-12", "-5", "old"):
            (home / other).mkdir()
            (home / other / "saved_model.pb").write_bytes(b"")
        look(9, "the same, with folders temp-12, -5 and old")
        (home / "10").mkdir()
        (home / "10" / "saved_model.pb").write_bytes(b"")
        look(10, "versions 1, 2, 9 and 10")
    return "Right: five folders, and an export that is not done is never served."


_BATCH = 32
_LOADS = ((50, 4.0), (2000, 15.0), (6000, 40.0))


def _mean_wait(go: Callable[[int, float], Any], per_second: float) -> float:
    """Milliseconds from arrival to answer, on average, over some seconds of a simulated server."""
    rng = np.random.default_rng(15)
    arrivals = np.cumsum(rng.exponential(1000.0 / per_second, size=min(4000, int(per_second * 4))))
    now, begin, end, total = 0.0, 0, 0, 0.0
    while begin < len(arrivals):
        now = max(now, float(arrivals[begin]))
        end = max(end, begin)
        while end < len(arrivals) and arrivals[end] <= now:
            end += 1
        oldest = now - float(arrivals[begin])
        if oldest > 1000.0:
            return float("inf")  # nobody is still there
        if go(end - begin, oldest):
            num = min(_BATCH, end - begin)
            now += 2.0 + num / 15.0
            total += float(np.sum(now - arrivals[begin : begin + num]))
            begin += num
        else:
            following = float(arrivals[end]) if end < len(arrivals) else np.inf
            now = min(now + 0.1, following)
    return total / len(arrivals)


@exercise(
    "Try it by hand for few requests: what does a lonely request gain by waiting?",
    "A lonely request gains nothing. Under load the batch fills while the processor is busy with the "
    "one before.",
    "Run when the batch is full or the oldest has waited a millisecond: return num_waiting >= 32 or "
    "oldest_ms > 1. Or ask whether to wait at all.",
)
def ex3(go: Callable[[int, float], Any]) -> str:
    """A rule for batches, simulated under three loads."""
    expect_type(
        isinstance(go(1, 0.0), (bool, np.bool_)),
        f"it returned {type(go(1, 0.0)).__name__}, needed True or False",
    )
    told = []
    for per_second, most in _LOADS:
        mean = _mean_wait(go, per_second)
        words = "more than a second" if mean == float("inf") else f"{mean:.1f} ms"
        expect(
            mean <= most,
            f"at {per_second:,} requests a second an answer takes {words} on average, needed {most:g} ms",
        )
        told.append(f"{words} at {per_second:,} a second")
    return f"Right: {', '.join(told)}."
