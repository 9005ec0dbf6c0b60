"""Several programs that use one session at once: in threads, or, in a web page, by turns."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataflow.runtime.cooperative import Wait

#: Yields what is to be run, ``(fetches, feed_dict)``, and gets the values of the fetches.
Program = Generator[tuple[Any, dict[Any, Any]], Any, None]


def together(session: Any, *programs: Program) -> None:
    """Runs generators side by side until all have ended, each in a thread of its own.

    Each ``yield fetches, feed_dict`` of a program is one `Session.run`, whose values it gives back. Where no
    thread can be started, the programs have turns, one run at a time. Raises the first error of a program,
    once the others have ended.
    """
    from dataflow.runtime.cooperative import Task

    errors: list[BaseException] = []
    tasks = [
        Task(_steps, (session, program, errors), name=f"program {i}", daemon=True)
        for i, program in enumerate(programs)
    ]
    for task in tasks:
        task.start()
    for task in tasks:
        task.join()
    if errors:
        raise errors[0]


def _steps(session: Any, program: Program, errors: list[BaseException]) -> Iterator[Wait | None]:
    from dataflow.runtime.cooperative import finish

    values = None
    try:
        while True:
            try:
                fetches, feed = program.send(values)
            except StopIteration:
                return
            values = yield from finish(partial(session.run, fetches, feed))
            yield None
    except Exception as error:
        errors.append(error)
