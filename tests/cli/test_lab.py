"""`dataflow lab`: which folder, which command, which environment."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys

import pytest

from dataflow.cli import lab, main

OPENS_ON_THE_COURSE = [
    "--LabApp.default_url=/dataflow/course",
    f"--LabApp.extra_labextensions_path={lab.LAB_EXTENSIONS_FOLDER}",
]
QUIET = "--Application.log_level=WARN"


@pytest.fixture
def installed(tmp_path):
    """A package as pip installs it: lessons inside, no checkout around."""
    package = tmp_path / "site-packages" / "dataflow"
    (package / "_lessons" / "images").mkdir(parents=True)
    (package / "_lessons" / "01_graphs.ipynb").write_text("one")
    (package / "_lessons" / "images" / "a.svg").write_text("<svg/>")
    (package / "_lessons" / ".ipynb_checkpoints").mkdir()
    (package / "_lessons" / ".ipynb_checkpoints" / "x").write_text("not a lesson")
    return package


@pytest.fixture
def checkout_package(tmp_path):
    root = tmp_path / "checkout"
    for name in ("dataflow", "lessons"):
        (root / name).mkdir(parents=True)
    (root / "pyproject.toml").write_text("")
    return root / "dataflow"


def test_a_checkout_opens_a_copy_of_its_lessons(checkout_package, capsys):
    root = checkout_package.parent
    (root / "lessons" / "01_graphs.ipynb").write_text("one")
    assert lab.lessons_folder(None, checkout_package) == root / "my-lessons"
    assert (root / "my-lessons" / "01_graphs.ipynb").read_text() == "one"
    assert "Copied 1 file" in capsys.readouterr().out
    lab.lessons_folder(None, checkout_package)
    assert capsys.readouterr().out == ""


def test_git_ignores_the_copy(checkout):
    done = subprocess.run(
        ["git", "check-ignore", "my-lessons/01_graphs.ipynb", "my-lessons/.course/x"],
        cwd=checkout, capture_output=True, text=True, timeout=240,
    )  # fmt: skip
    assert len(done.stdout.split()) == 2


def test_a_checkout_can_open_another_folder(checkout_package, tmp_path):
    (tmp_path / "mine").mkdir()
    assert lab.lessons_folder(str(tmp_path / "mine"), checkout_package) == tmp_path / "mine"
    with pytest.raises(lab.LabError, match="no such folder"):
        lab.lessons_folder(str(tmp_path / "other"), checkout_package)


def test_an_installed_package_copies_its_lessons(installed, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    folder = lab.lessons_folder(None, installed)
    assert folder == tmp_path / "dataflow-lessons"
    files = [p.relative_to(folder) for p in folder.rglob("*") if p.is_file()]
    copied = sorted(str(p) for p in files if p.parts[0] != ".course")
    assert copied == ["01_graphs.ipynb", os.path.join("images", "a.svg")]
    assert "Copied 2 files" in capsys.readouterr().out


def test_a_copy_never_overwrites_and_says_what_it_kept(installed, tmp_path, capsys):
    folder = lab.lessons_folder(str(tmp_path / "mine"), installed)
    (folder / "01_graphs.ipynb").write_text("my answers")
    (installed / "_lessons" / "01_graphs.ipynb").write_text("another one")
    (installed / "_lessons" / "02_sessions.ipynb").write_text("two")
    capsys.readouterr()
    assert lab.lessons_folder(str(tmp_path / "mine"), installed) == folder
    assert (folder / "01_graphs.ipynb").read_text() == "my answers"
    assert (folder / "02_sessions.ipynb").read_text() == "two"
    said = capsys.readouterr().out
    assert "Copied 1 file to" in said
    assert "Kept 1 file of yours" in said
    assert "01_graphs.ipynb" in said


def test_a_correction_goes_into_a_lesson_that_was_answered(installed, tmp_path, capsys):
    lesson = installed / "_lessons" / "01_graphs.ipynb"
    cells = [{"cell_type": "code", "id": i, "source": i, "metadata": {}} for i in "abc"]
    lesson.write_text(json.dumps({"cells": cells}))
    folder = lab.lessons_folder(str(tmp_path / "mine"), installed)
    mine = json.loads((folder / "01_graphs.ipynb").read_text())
    mine["cells"][1]["source"] = mine["cells"][2]["source"] = "my answer"
    (folder / "01_graphs.ipynb").write_text(json.dumps(mine))
    cells[0]["source"], cells[2]["source"] = "A", "C"
    lesson.write_text(json.dumps({"cells": cells}))
    capsys.readouterr()
    lab.lessons_folder(str(folder), installed)
    said = capsys.readouterr().out
    assert "Brought 1 file up to date" in said and "a cell that you changed" in said
    now = json.loads((folder / "01_graphs.ipynb").read_text())
    sources = [cell["source"] for cell in now["cells"]]
    assert sources[:3] == ["A", "my answer", "my answer"] and "```python\nC\n```" in sources[3]


def test_a_dangling_link_of_the_learners_is_left_alone(installed, tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    elsewhere = tmp_path / "elsewhere.ipynb"
    (folder / "01_graphs.ipynb").symlink_to(elsewhere)
    lab.lessons_folder(str(folder), installed)
    assert not elsewhere.exists()


def test_a_folder_that_is_a_file_is_refused(installed, tmp_path):
    (tmp_path / "mine").write_text("")
    with pytest.raises(lab.LabError, match="cannot copy the lessons"):
        lab.lessons_folder(str(tmp_path / "mine"), installed)


def test_an_installation_without_lessons_says_so(tmp_path):
    with pytest.raises(lab.LabError, match="has no lessons"):
        lab.lessons_folder(str(tmp_path / "mine"), tmp_path / "dataflow")
    assert not (tmp_path / "mine").exists()


def test_the_command(tmp_path):
    command = lab.lab_command(tmp_path, port=8891, no_browser=True, root=True, extra=["--debug"])
    assert command[:3] == [sys.executable, "-m", "jupyterlab"]
    assert set(command[3:]) == {
        f"--ServerApp.root_dir={tmp_path}",
        *OPENS_ON_THE_COURSE,
        "--ServerApp.port=8891",
        "--ServerApp.port_retries=0",
        "--no-browser",
        "--allow-root",
        "--debug",
    }


def test_the_command_of_a_user_with_a_display_asks_for_nothing_special(tmp_path):
    expected = [f"--ServerApp.root_dir={tmp_path}", *OPENS_ON_THE_COURSE, QUIET]
    assert lab.lab_command(tmp_path)[3:] == expected


@pytest.mark.parametrize(
    ("option", "quiet"),
    [
        ("--ip=0.0.0.0", True),
        ("--ServerApp.log_level=DEBUG", False),
        ("--log-level=10", False),
        ("--debug", False),
    ],
)
def test_the_address_does_not_stand_among_lines_about_extensions(tmp_path, option, quiet):
    assert (QUIET in lab.lab_command(tmp_path, extra=[option])) is quiet


def test_the_environment_layers_our_settings_above_what_was_there():
    environment = lab.lab_environment({"JUPYTER_CONFIG_PATH": "/theirs", "HOME": "/h"})
    ours, theirs = environment["JUPYTER_CONFIG_PATH"].split(os.pathsep)
    assert theirs == "/theirs"
    assert environment["HOME"] == "/h"
    assert environment["JUPYTER_PREFER_ENV_PATH"] == "1"
    assert "RAY_ADDRESS" not in environment
    path = os.path.join(ours, "labconfig", "default_setting_overrides.json")
    with open(path, encoding="utf-8") as file:
        overrides = json.load(file)
    assert overrides["@jupyter-widgets/jupyterlab-manager:plugin"]["saveState"] is True
    assert overrides["@jupyterlab/apputils-extension:notification"]["fetchNews"] == "false"
    viewers = overrides["@jupyterlab/docmanager-extension:plugin"]["defaultViewers"]
    assert viewers == {"markdown": "Markdown Preview"}
    columns = overrides["@jupyterlab/filebrowser-extension:browser"]
    assert columns == {"showFileSizeColumn": False, "showLastModifiedColumn": False}


def _kernel(tmp_path, environment, *cells):
    """What cells print in the IPython of a kernel, which runs the file of PYTHONSTARTUP first."""
    program = (
        "import sys\nfrom IPython.core.interactiveshell import InteractiveShell\n"
        "shell = InteractiveShell.instance()\nshell.colors = 'NoColor'\n"
        "import os\nshell.safe_execfile(os.environ['PYTHONSTARTUP'], shell.user_ns)\n"
        "for cell in sys.argv[1:]:\n    shell.run_cell(cell)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *cells],
        env=lab.lab_environment(os.environ | environment) | {"IPYTHONDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return done.stdout


def test_a_kernel_that_was_restarted_says_so_before_anything_is_imported(tmp_path):
    own = tmp_path / "own.py"
    own.write_text("mine = 6\n")
    text = _kernel(
        tmp_path,
        {"PYTHONSTARTUP": str(own)},
        "tf.constant(1)",
        "1 / 0",
        "print('names', '_begin' in globals(), 'annotations' in globals(), mine)",
        "import dataflow as tf\nlogits",
    )
    assert text.count("What to do") == 2
    assert "tf comes from a cell with `import dataflow as tf`" in text.partition("ZeroDivision")[0]
    assert "names False False 6" in text


def test_a_python_that_is_no_kernel_runs_the_users_file_alone(tmp_path):
    own = tmp_path / "own.py"
    own.write_text("print('mine')\n")
    environment = lab.lab_environment(os.environ | {"PYTHONSTARTUP": str(own)})
    assert environment["PYTHONSTARTUP"] == str(lab.KERNEL_STARTUP)
    done = subprocess.run(
        [sys.executable, environment["PYTHONSTARTUP"]],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.stdout, done.stderr) == ("mine\n", "")


def test_a_cluster_reaches_the_kernels():
    assert lab.lab_environment({}, "10.0.0.1:6379")["RAY_ADDRESS"] == "10.0.0.1:6379"


@pytest.mark.parametrize(
    ("environment", "platform", "expected"),
    [
        ({}, "linux", False),
        ({"DISPLAY": ""}, "linux", False),
        ({"DISPLAY": ":0"}, "linux", True),
        ({"WAYLAND_DISPLAY": "wayland-0"}, "linux", True),
        ({}, "darwin", True),
        ({}, "win32", True),
    ],
)
def test_has_display(environment, platform, expected):
    assert lab.has_display(environment, platform) is expected


@pytest.fixture
def taken_port():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield server.getsockname()[1]


def test_a_port_in_use_is_refused_before_anything_starts(taken_port, capsys, monkeypatch):
    monkeypatch.setattr(os, "execve", lambda *_: pytest.fail("JupyterLab was started"))
    assert main(["lab", "--port", str(taken_port)]) == 2
    said = capsys.readouterr().err
    assert f"port {taken_port} is in use" in said
    assert "PORT=" in said


@pytest.mark.parametrize("port", ["-1", "65536"])
def test_a_port_out_of_range_is_refused(port, capsys):
    assert main(["lab", f"--port={port}"]) == 2
    assert "from 0 to 65535" in capsys.readouterr().err


@pytest.mark.skipif(os.name != "posix", reason="platform: starts by exec")
def test_main_becomes_jupyterlab_and_passes_the_rest_through(tmp_path, monkeypatch, capsys):
    started = []
    monkeypatch.setattr(os, "execve", lambda *arguments: started.append(arguments))
    monkeypatch.setattr(subprocess, "call", lambda *_, **__: 0)
    monkeypatch.setattr(lab, "is_root", lambda: True)
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    arguments = ["lab", str(tmp_path), "--cluster", "ray://head:10001", "--ip=0.0.0.0"]
    main(arguments)
    ((program, command, environment),) = started
    assert program == sys.executable
    assert "--ip=0.0.0.0" in command
    assert "--no-browser" in command
    assert "--allow-root" in command
    assert environment["RAY_ADDRESS"] == "ray://head:10001"
    assert str(tmp_path) in capsys.readouterr().out


def test_a_missing_jupyterlab_says_how_to_get_it(monkeypatch, capsys):
    monkeypatch.setattr(lab.importlib.util, "find_spec", lambda name: None)
    assert main(["lab"]) == 2
    assert "pip install 'dataflow-learn[lab]'" in capsys.readouterr().err


def test_an_unknown_option_of_doctor_is_refused(capsys):
    with pytest.raises(SystemExit):
        main(["doctor", "--no-such-option"])
    assert "--no-such-option" in capsys.readouterr().err
