"""`dataflow lab`: JupyterLab on a folder of lessons."""

from __future__ import annotations

import importlib.util
import os
import re
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from dataflow.capabilities import PROCESSES, refused
from dataflow.cli.server_extension import COURSE
from dataflow.course.copies import Refreshed, refresh
from dataflow.extras import install

PACKAGE_FOLDER = Path(__file__).resolve().parents[1]

# Holds labconfig/default_setting_overrides.json. JupyterLab layers it under the user's own
# settings: widget state is saved with the notebook (a reopened one says "model not found"
# otherwise), and the question about Jupyter news does not cover the first lesson.
JUPYTER_CONFIG_FOLDER = Path(__file__).resolve().parent / "jupyter"
#: Holds dataflow-course, JupyterLab's link to the course page.
LAB_EXTENSIONS_FOLDER = Path(__file__).resolve().parent / "labextensions"

#: The file that a kernel runs first.
KERNEL_STARTUP = Path(__file__).resolve().parent / "kernel_startup.py"

LAB_ELSEWHERE = f"run it on a computer of yours ({install('lab')})."

DEFAULT_COPY_FOLDER = "dataflow-lessons"
#: In a checkout; git ignores it.
CHECKOUT_COPY_FOLDER = "my-lessons"


class LabError(Exception):
    """What stops `dataflow lab`, in words for the person who typed it."""


def checkout_lessons(package_folder: Path = PACKAGE_FOLDER) -> Path | None:
    """The `lessons/` folder of the checkout this package runs from, None when it is installed."""
    root = package_folder.parent
    lessons = root / "lessons"
    return lessons if lessons.is_dir() and (root / "pyproject.toml").is_file() else None


def installed_lessons(package_folder: Path = PACKAGE_FOLDER) -> Path | None:
    """The lessons inside the installed package (the wheel puts them in `dataflow/_lessons`)."""
    lessons = package_folder / "_lessons"
    return lessons if lessons.is_dir() else None


def _count_of_files(paths: Sequence[Path]) -> str:
    return f"{len(paths)} file{'s' * (len(paths) != 1)}"


def lessons_folder(folder: str | None, package_folder: Path = PACKAGE_FOLDER) -> Path:
    """The folder JupyterLab opens: a copy of the lessons, brought up to date; another of a checkout as it is.

    Raises:
        LabError: the folder is a file or cannot be written, or there are no lessons to copy.
    """
    checkout = checkout_lessons(package_folder)
    if checkout is not None and folder:
        chosen = Path(folder).resolve()
        if not chosen.is_dir():
            copy = checkout.parent / CHECKOUT_COPY_FOLDER
            raise LabError(f"no such folder: {chosen}. Leave the name out to open {copy}.")
        return chosen
    if checkout is not None:
        # Not the lessons themselves: what a learner types there would meet the next `git pull`.
        source: Path | None = checkout
        chosen = checkout.parent / CHECKOUT_COPY_FOLDER
    else:
        source = installed_lessons(package_folder)
        chosen = Path(folder or DEFAULT_COPY_FOLDER).resolve()
    if source is None:
        if chosen.is_dir():
            return chosen
        raise LabError(
            f"this installation of dataflow has no lessons in it (looked in "
            f"{package_folder / '_lessons'}). Name a folder: dataflow lab FOLDER"
        )
    try:
        chosen.mkdir(parents=True, exist_ok=True)
        _tell(refresh(source, chosen), chosen)
    except OSError as error:
        raise LabError(f"cannot copy the lessons to {chosen}: {error}") from error
    return chosen


def _tell(done: Refreshed, folder: Path) -> None:
    if done.copied:
        print(f"Copied {_count_of_files(done.copied)} to {folder}")
    if done.corrected:
        print(
            f"Brought {_count_of_files(done.corrected)} up to date in {folder}; your answers stay:"
        )
        for relative in done.corrected:
            num_both = done.both.get(relative, 0)
            cells = (
                "a cell that you changed" if num_both == 1 else f"{num_both} cells that you changed"
            )
            print(
                f"  {relative}" + (f" ({cells}: the new text is below yours)" if num_both else "")
            )
    if done.kept:
        print(f"Kept {_count_of_files(done.kept)} of yours in {folder}, other than this version's:")
        for relative in done.kept:
            print(f"  {relative}")


def is_root() -> bool:
    """Whether JupyterLab would refuse to start without --allow-root."""
    return hasattr(os, "geteuid") and os.geteuid() == 0


def has_display(environment: Mapping[str, str], platform: str = sys.platform) -> bool:
    """Whether opening a web browser can show something."""
    if platform in ("darwin", "win32"):
        return True
    return bool(environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY"))


def port_is_free(port: int) -> bool:
    """Whether a server can listen on this port of the loopback interface (0: always)."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # As the server itself does; without it a port is "in use" for a minute after a stop.
        if os.name == "posix":
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def lab_command(
    folder: Path,
    *,
    port: int | None = None,
    no_browser: bool = False,
    root: bool = False,
    extra: Sequence[str] = (),
) -> list[str]:
    """The command that starts JupyterLab on `folder`; it opens on the course page."""
    command = [sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={folder}"]
    command += [
        f"--LabApp.default_url={COURSE}",
        f"--LabApp.extra_labextensions_path={LAB_EXTENSIONS_FOLDER}",
    ]
    if port is not None:
        # The port that was asked for, or a refusal: a URL that moved is a URL nobody finds.
        command += [f"--ServerApp.port={port}", "--ServerApp.port_retries=0"]
    if no_browser:
        command.append("--no-browser")
    if root:
        command.append("--allow-root")
    if not any(re.match("--debug$|--log[-_]level|--[A-Za-z]*[.]log_level", one) for one in extra):
        # Else the address stands among twenty lines about extensions.
        command.append("--Application.log_level=WARN")
    return [*command, *extra]


def lab_environment(environment: Mapping[str, str], cluster: str | None = None) -> dict[str, str]:
    """The environment of JupyterLab and of the kernels it starts."""
    result = dict(environment)
    # Else a kernel "python3" in the user's home, of another Python, hides the one of this
    # environment, and the first cell says that there is no module named dataflow.
    result.setdefault("JUPYTER_PREFER_ENV_PATH", "1")
    folders = [str(JUPYTER_CONFIG_FOLDER)]
    if environment.get("JUPYTER_CONFIG_PATH"):
        folders.append(environment["JUPYTER_CONFIG_PATH"])
    result["JUPYTER_CONFIG_PATH"] = os.pathsep.join(folders)
    if environment.get("PYTHONSTARTUP"):
        result["DATAFLOW_PYTHONSTARTUP"] = environment["PYTHONSTARTUP"]
    result["PYTHONSTARTUP"] = str(KERNEL_STARTUP)
    if cluster:
        result["RAY_ADDRESS"] = cluster
    return result


def run_lab(
    *,
    folder: str | None,
    port: int | None,
    cluster: str | None,
    no_browser: bool,
    extra: Sequence[str],
) -> int:
    """Start JupyterLab and become it; returns an exit status when that cannot be done."""
    try:
        if not PROCESSES:
            told = refused("dataflow lab", "processes and sockets", LAB_ELSEWHERE)
            raise LabError(told.message)
        if importlib.util.find_spec("jupyterlab") is None:
            raise LabError(f"JupyterLab is not installed here. Install it: {install('lab')}")
        if port is not None and not 0 <= port <= 65535:
            raise LabError(f"--port: got {port}, needed a number from 0 to 65535")
        if port and not port_is_free(port):
            raise LabError(
                f"port {port} is in use. Take another (make lab PORT={min(port + 1, 65535)}, "
                f"dataflow lab --port {min(port + 1, 65535)}), or leave it out."
            )
        chosen = lessons_folder(folder)
    except LabError as error:
        print(f"dataflow lab: {error}", file=sys.stderr)
        return 2
    command = lab_command(
        chosen,
        port=port,
        no_browser=no_browser or not has_display(os.environ),
        root=is_root(),
        extra=extra,
    )
    environment = lab_environment(os.environ, cluster)
    print(f"JupyterLab on {chosen}; its address follows. Ctrl-C twice stops it.", flush=True)
    if os.name == "posix":
        os.execve(command[0], command, environment)
    try:
        return subprocess.call(command, env=environment)
    except KeyboardInterrupt:
        return 130
