"""Lines of captured frames."""

from __future__ import annotations

from dataflow.graph import tracebacks


def test_equal_code_on_other_lines_is_told_apart() -> None:
    """A cell that is run again with empty lines more."""
    near, far = (compile(text, "cell", "exec") for text in ("x = 1\ny = 2", "x = 1\n\n\ny = 2"))
    last = [max(start for start, _, line in code.co_lines() if line) for code in (near, far)]
    for _ in range(2):
        assert tracebacks._line_of(near, last[0]) == 2
        assert tracebacks._line_of(far, last[1]) == 4


def test_no_more_lines_are_remembered_than_are_looked_at_again() -> None:
    code = compile("\n".join(f"x{i} = {i}" for i in range(3000)), "cell", "exec")
    places = {start: line for start, _, line in code.co_lines() if line}
    assert len(places) > 2000
    for start, line in places.items():
        assert tracebacks._line_of(code, start) == line
        assert len(tracebacks._lines) <= tracebacks._MOST_LINES
