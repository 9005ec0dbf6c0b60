"""`make lab` and `make test` install what they need, once, and say what is wrong when they cannot.

The environment's Python is a script that writes down what it is asked for: nothing is installed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(os.name != "posix", reason="platform: needs a POSIX shell")

# Answers the version question with the real Python; writes what it is asked for to a file beside it.
# `venv` makes an environment by copying itself.
RECORDING_PYTHON = """#!/bin/sh
case "$1 $2" in
    "-c "*) exec {python} "$@" ;;
    "-m pip") [ "$3" = --version ] || {{ sleep {seconds}; echo "$@" >>"{log}"; exit {status}; }} ;;
    "-m compileall") echo "$@" >>"{log}" ;;
    "-m venv") mkdir -p "$3/bin" && cp "$0" "$3/bin/python"; echo "$@" >>"{log}" ;;
    "--version ") echo Python 3.99 ;;
esac
"""

ROOT = Path(__file__).resolve().parents[2]
#: The variables of the Makefile that may be given, on its command line or in the environment.
SETTINGS = frozenset(
    re.findall(r"^(\w+) \?=", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
)


class Checkout:
    """A folder with the files that make needs, and a log of what would have been installed."""

    def __init__(self, folder: Path, source: Path) -> None:
        self.folder = folder
        self.log = folder / "installed.log"
        (folder / "tools").mkdir()
        shutil.copy(source / "Makefile", folder)
        shutil.copy(source / "pyproject.toml", folder)
        shutil.copy(source / "tools" / "install.sh", folder / "tools")
        # Older than every stamp: file times have a coarse clock on some systems.
        for path in (folder / "pyproject.toml", folder / "tools" / "install.sh"):
            os.utime(path, (time.time() - 100, time.time() - 100))

    def python(self, *, seconds: float = 0, status: int = 0) -> Path:
        path = self.folder / "recording-python"
        path.write_text(
            RECORDING_PYTHON.format(
                python=sys.executable, log=self.log, seconds=seconds, status=status
            )
        )
        path.chmod(0o755)
        return path

    def start(self, *command: str, **variables: str) -> subprocess.Popen[str]:
        if "PATH" not in variables:  # an npm that does nothing: a test reaches no network
            programs = self.folder / "programs"
            programs.mkdir(exist_ok=True)
            (programs / "npm").write_text("#!/bin/sh\n")
            (programs / "npm").chmod(0o755)
            variables["PATH"] = f"{programs}{os.pathsep}{os.environ['PATH']}"
        # What the suite's own `make test ARGS=...` was given is not for the `make` under test.
        environment = {
            k: v for k, v in os.environ.items() if not k.startswith("MAKE") and k not in SETTINGS
        }
        return subprocess.Popen(
            command,
            cwd=self.folder,
            env=environment | variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, *command: str, **variables: str) -> tuple[int, str]:
        process = self.start(*command, **variables)
        output, _ = process.communicate(timeout=60)
        return process.returncode, output

    def pip_commands(self) -> list[str]:
        """What pip installed, uv itself apart."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        installed = [line for line in lines if line.startswith("-m pip install")]
        return [line for line in installed if not line.endswith(" uv")]

    def uv(self, *, status: int = 0) -> str:
        """A PATH on which there is a uv that writes down what it is asked for."""
        programs = self.folder / "programs"
        programs.mkdir(exist_ok=True)
        for name, text in (("uv", f'echo "uv $*" >>"{self.log}"; exit {status}'), ("npm", "")):
            (programs / name).write_text(f"#!/bin/sh\n{text}\n")
            (programs / name).chmod(0o755)
        return f"{programs}{os.pathsep}{os.environ['PATH']}"


@pytest.fixture
def fresh(tmp_path, checkout):
    return Checkout(tmp_path, checkout)


def install(fresh, extra="lab", **variables):
    return fresh.run("sh", "tools/install.sh", ".venv", extra, **variables)


def test_it_makes_an_environment_and_installs_the_extra_editable(fresh):
    status, output = install(fresh, PYTHON=str(fresh.python()))
    assert status == 0, output
    (command,) = fresh.pip_commands()
    assert command.endswith("--editable .[lab]")
    assert (fresh.folder / ".venv" / ".installed-lab").exists()
    assert not (fresh.folder / ".venv.lock").exists()


def test_uv_installs_where_it_is_there_from_the_index_that_pip_asks(fresh):
    python = str(fresh.python())
    index = "https://index.invalid/simple"
    status, output = install(fresh, PYTHON=python, PATH=fresh.uv(), PIP_INDEX_URL=index)
    assert status == 0, output
    assert fresh.pip_commands() == []
    (command,) = [x for x in fresh.log.read_text().splitlines() if x.startswith("uv ")]
    assert command == (
        f"uv pip install --python .venv/bin/python --index-url {index} --editable .[lab]"
    )
    assert (fresh.folder / ".venv" / ".installed-lab").exists()


def test_pip_installs_what_uv_could_not(fresh):
    status, output = install(fresh, PYTHON=str(fresh.python()), PATH=fresh.uv(status=2))
    assert status == 0, output
    assert "pip tries" in output
    (command,) = fresh.pip_commands()
    assert command.endswith("--editable .[lab]")


def test_pip_installs_where_it_is_asked_to(fresh):
    path = fresh.uv()
    status, _ = install(fresh, PYTHON=str(fresh.python()), PATH=path, DATAFLOW_UV="0")
    assert status == 0
    assert len(fresh.pip_commands()) == 1
    assert "uv " not in fresh.log.read_text()


@pytest.mark.parametrize("extra, expected", [("test", 1), ("lab", 0)])
def test_the_tests_get_pyodide_from_npm(extra, expected, fresh, tmp_path):
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "npm").write_text(f'#!/bin/sh\necho "npm $*" >>"{fresh.log}"\n')
    (programs / "npm").chmod(0o755)
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    status, output = install(fresh, extra, PYTHON=str(fresh.python()), PATH=path)
    assert status == 0, output
    lines = [line for line in fresh.log.read_text().splitlines() if line.startswith("npm ")]
    assert len(lines) == expected
    assert all("--prefix .venv/pyodide" in x and x.endswith(" pyodide@0.29.3") for x in lines)


def test_the_second_run_installs_nothing(fresh):
    python = str(fresh.python())
    install(fresh, PYTHON=python)
    install(fresh, PYTHON=python)
    assert len(fresh.pip_commands()) == 1


def test_a_changed_pyproject_installs_again_into_the_same_environment(fresh):
    python = str(fresh.python())
    install(fresh, PYTHON=python)
    os.utime(fresh.folder / "pyproject.toml", (time.time() + 100, time.time() + 100))
    install(fresh, PYTHON=python)
    assert len(fresh.pip_commands()) == 2
    assert fresh.log.read_text().count("-m venv") == 1


def test_a_failed_installation_leaves_no_stamp_and_no_lock(fresh):
    status, _ = install(fresh, PYTHON=str(fresh.python(status=3)))
    assert status != 0
    assert not (fresh.folder / ".venv" / ".installed-lab").exists()
    assert not (fresh.folder / ".venv.lock").exists()


def test_two_at_once_install_one_after_the_other(fresh):
    python = str(fresh.python(seconds=1))
    command = ("sh", "tools/install.sh", ".venv")
    processes = [fresh.start(*command, "lab", PYTHON=python) for _ in range(2)]
    processes.append(fresh.start(*command, "test", PYTHON=python))
    for process in processes:
        output, _ = process.communicate(timeout=60)
        assert process.returncode == 0, output
    assert sorted(command.split(".[")[1] for command in fresh.pip_commands()) == ["lab]", "test]"]
    assert fresh.log.read_text().count("-m venv") == 1


def test_the_lock_of_a_process_that_died_is_taken_over(fresh):
    finished = subprocess.Popen(["true"])
    finished.wait(timeout=30)
    (fresh.folder / ".venv.lock").mkdir()
    (fresh.folder / ".venv.lock" / "pid").write_text(str(finished.pid))
    status, output = install(fresh, PYTHON=str(fresh.python()))
    assert status == 0, output
    assert len(fresh.pip_commands()) == 1


def test_a_python_that_is_too_old_is_refused_with_what_to_do(fresh, tmp_path):
    programs = tmp_path / "bin"
    programs.mkdir()
    old = programs / "python3"
    old.write_text('#!/bin/sh\n[ "$1" = --version ] && echo Python 3.9.2 && exit 0\nexit 1\n')
    old.chmod(0o755)
    for name in ("sh", "mkdir", "rm", "cat", "dirname", "mv", "sleep"):
        (programs / name).symlink_to(shutil.which(name))
    status, output = install(fresh, PATH=str(programs), PYTHON="")
    assert status != 0
    assert "Python 3.11 or newer is needed; found: Python 3.9.2" in output
    assert "apt-get install python3" in output
    assert not (fresh.folder / ".venv").exists()


def test_a_named_python_that_does_not_start_is_refused(fresh):
    status, output = install(fresh, PYTHON="/no/such/python")
    assert status != 0
    assert "PYTHON=/no/such/python is not Python 3.11 or newer" in output


def test_make_installs_only_when_pyproject_changed(fresh):
    (fresh.folder / ".venv").mkdir()
    (fresh.folder / ".venv" / ".installed-lab").touch()
    _, output = fresh.run("make", "-n", "lab")
    assert "install.sh" not in output
    os.utime(fresh.folder / "pyproject.toml", (time.time() + 100, time.time() + 100))
    _, output = fresh.run("make", "-n", "lab")
    assert "install.sh" in output


def test_a_checkout_is_compiled_before_it_is_run(fresh):
    python = fresh.python()
    install(fresh, "test", PYTHON=str(python))
    os.utime(fresh.folder / "tools" / "install.sh", (time.time() - 100, time.time() - 100))
    status, output = fresh.run("make", "test")
    assert status == 0, output
    *_, command = fresh.log.read_text().splitlines()
    assert command.startswith("-m compileall")
    assert not [name for name in command.split()[3:] if not (ROOT / name).is_dir()]


def test_make_lab_takes_a_port_and_arguments(fresh):
    (fresh.folder / ".venv").mkdir()
    (fresh.folder / ".venv" / ".installed-lab").touch()
    _, output = fresh.run("make", "-n", "lab", "PORT=8890", "ARGS=--ip=0.0.0.0")
    assert output.strip().endswith("dataflow lab --port 8890 --ip=0.0.0.0")
    _, output = fresh.run("make", "-n", "lab")
    assert output.strip().endswith("dataflow lab")


def test_tensorflow_1_15_is_refused_without_a_python_3_7_in_one_line(fresh):
    status, output = install(fresh, "oracle115", PYTHON37="/no/such/python3.7")
    assert status != 0
    (line,) = [text for text in output.splitlines() if "3.7" in text]
    assert "TensorFlow 1.15 needs Python 3.7" in line
    assert "PYTHON37=" in line
    assert not (fresh.folder / ".venv").exists()


def test_make_oracle_asks_the_tensorflow_that_is_named(fresh):
    _, output = fresh.run("make", "-n", "oracle")
    assert 'install.sh ".venv-oracle" oracle\n' in output
    _, output = fresh.run("make", "-n", "oracle", "TENSORFLOW=1.15")
    assert 'install.sh ".venv-oracle115" oracle115\n' in output
