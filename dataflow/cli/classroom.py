"""`dataflow class`: the server of a class, until Ctrl+C."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from dataflow.capabilities import ELSEWHERE, SOCKETS, refused
from dataflow.extras import install

if TYPE_CHECKING:
    from dataflow.course.classroom.server import Server


def run_class(
    *,
    port: int,
    host: str,
    data: str,
    lessons: str | None,
    site: str | None,
    no_browser: bool,
) -> int:
    """Serves a class; the return value is the exit status.

    Raises `UnimplementedError` where no socket can be opened.
    """
    if not SOCKETS:
        raise refused("dataflow class", "a socket to listen on", ELSEWHERE)
    try:
        import sqlite3  # noqa: F401

        import tornado  # noqa: F401
    except ImportError as e:
        if e.name != "tornado":
            print(f"dataflow class: this Python has no SQLite ({e})", file=sys.stderr)
            return 2
        print(
            f"dataflow class: it needs Tornado, which JupyterLab brings: {install('lab')}",
            file=sys.stderr,
        )
        return 2
    if site is not None and not (Path(site) / "index.html").is_file():
        print(
            f"dataflow class: there is no site in {site}; `make site` builds one", file=sys.stderr
        )
        return 2
    try:
        asyncio.run(_serve(port, host, Path(data), _lessons(lessons), site, no_browser))
    except (OSError, ValueError, OverflowError) as e:
        print(f"dataflow class: {_words(e, host, port)}", file=sys.stderr)
        return 2
    return 0


def _lessons(folder: str | None) -> Path:
    from dataflow.cli.lab import checkout_lessons, installed_lessons

    found = Path(folder) if folder else checkout_lessons() or installed_lessons()
    if found is None:
        raise NotADirectoryError("no lessons were found; name their folder with --lessons")
    return found


def _words(error: Exception, host: str, port: int) -> str:
    if isinstance(error, OSError) and error.errno is not None and error.filename is None:
        return f"cannot listen on {host}, port {port}: {error.strerror}; choose another --port or --host"
    return str(error)


async def _serve(
    port: int, host: str, data: Path, lessons: Path, site: str | None, no_browser: bool
) -> None:
    from dataflow.course.classroom.questions import read_catalog
    from dataflow.course.classroom.server import Server, addresses

    place = Path(site).resolve() if site else None
    server = Server(data, read_catalog(lessons), host, port, place)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError):  # Windows: KeyboardInterrupt ends it
            loop.add_signal_handler(number, stop.set)
    reached = addresses(host, server.port)
    print(_told(server, reached, site is not None), flush=True)
    if not no_browser:
        import webbrowser

        webbrowser.open(_teachers_page(server, reached[0]))
    try:
        await stop.wait()
    finally:
        await server.close()
        print(f"\nThe class is kept in {server.store.path}; start it again with the same --data.")


def _teachers_page(server: Server, address: str) -> str:
    # After "#": no server, log or other site ever sees that part of an address.
    return f"{address}/teacher#token={server.store.teacher}"


def _told(server: Server, reached: list[str], has_site: bool) -> str:
    lines = [
        f"The class's code is {server.store.code}. Learners write in a lesson:",
        f'    from dataflow.course import join; join("{reached[0]}", "{server.store.code}", name="...")',
        f"or hand in notebooks at {reached[0]}/",
    ]
    if has_site:
        lines.append(f"The course, nothing to install: {reached[0]}/site/")
    lines.append(
        f"The projector's page, for the teacher only: {_teachers_page(server, reached[0])}"
    )
    lines += [f"This machine is also {other}" for other in reached[1:]]
    return "\n".join(lines)
