"""`dataflow class`: what it says, and what it needs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from dataflow.cli import classroom, main
from dataflow.errors import UnimplementedError
from tests.course.classroom.a_class import Process, lessons

pytestmark = pytest.mark.threads


def test_a_port_that_is_taken_and_a_damaged_file_are_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(lessons(tmp_path / "lessons"))
    running = Process(tmp_path)
    options = ["class", "--no-browser", "--lessons", folder]
    assert main([*options, "--port", str(running.port), "--data", str(tmp_path / "other")]) == 2
    running.stop()
    assert "choose another --port or --host" in capsys.readouterr().err
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "class.sqlite").write_bytes(b"nothing" * 200)
    assert main([*options, "--port", "0", "--data", str(tmp_path / "bad")]) == 2
    assert "is not a class's file" in capsys.readouterr().err
    assert main(["class", "--lessons", str(tmp_path / "none")]) == 2
    assert "no such folder of lessons" in capsys.readouterr().err
    assert main([*options, "--site", str(tmp_path)]) == 2
    assert "make site" in capsys.readouterr().err


def test_it_says_how_to_join_and_where_everything_is_kept(tmp_path: Path) -> None:
    room = Process(tmp_path)
    room.stop()
    assert f'join("http://127.0.0.1:{room.port}", "{room.code}", name="...")' in room.said
    assert room.teacher not in room.said.partition("The projector's page")[0]
    assert (tmp_path / "class" / "class.sqlite").is_file()


def test_help_says_what_a_teacher_wants_to_know(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["class", "--help"])
    said = " ".join(capsys.readouterr().out.split())
    for part in (
        "--host 0.0.0.0",
        "without encryption",
        "never run",
        "--data DIR",
        "--site FOLDER",
    ):
        assert part in said


def test_without_tornado_it_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "tornado", None)
    assert main(["class", "--no-browser"]) == 2
    assert "dataflow-learn[lab]" in capsys.readouterr().err


def test_without_sockets_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(classroom, "SOCKETS", False)
    with pytest.raises(UnimplementedError, match="dataflow class needs a socket"):
        main(["class"])
