"""The `dataflow` command itself."""

from __future__ import annotations

import pytest

from dataflow.cli import main


def test_without_a_command_it_says_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    said = capsys.readouterr().out
    for command in ("lab", "doctor", "course", "class"):
        assert f"\n    {command} " in said


def test_what_it_does_not_know_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["lessons"], ["--loud"]):
        with pytest.raises(SystemExit):
            main(arguments)
    assert "unrecognized arguments: --loud" in capsys.readouterr().err
