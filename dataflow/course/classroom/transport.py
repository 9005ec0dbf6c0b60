"""How an `Outbox` reaches the server: from a thread, or in a web page by the page's own requests."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Protocol

from dataflow.capabilities import ELSEWHERE, SOCKETS, refused
from dataflow.course.classroom.outbox import Outbox, Reply, Request

_TIMEOUT_SECONDS = 10.0
_MAX_REPLY_BYTES = 1_000_000


class Transport(Protocol):
    """Sends what is in an outbox, beside the lesson."""

    def wake(self) -> None:
        """There is something new in the outbox."""

    def wait(self, seconds: float) -> None:
        """Waits until the outbox is settled, at most so long; returns at once where nothing can wait."""

    def stop(self) -> None:
        """Sends no more."""


def transport(
    outbox: Outbox, address: str, begin: Callable[[], Awaitable[None]] | None = None
) -> Transport:
    """The one that this machine has; in a page ``begin`` is awaited first.

    Raises `UnimplementedError` where it has none.
    """
    if sys.platform == "emscripten":
        return FetchTransport(outbox, address, begin)
    if not SOCKETS:
        raise refused("joining a class", "a socket", ELSEWHERE)
    return ThreadTransport(outbox, address)


def reply_of(status: int, retry_after: str | None, body: bytes) -> Reply:
    """A reply, whatever answered: something else than a class's server may listen there."""
    try:
        told = json.loads(body)
    except (ValueError, RecursionError):
        told = {}
    seconds = float(retry_after) if retry_after and retry_after.isdigit() else 0.0
    return Reply(status, told if isinstance(told, dict) else {}, min(seconds, 60.0))


def headers_of(request: Request) -> dict[str, str]:
    """The head of a request."""
    head = {"Content-Type": "application/json"}
    return head | ({"Authorization": f"Bearer {request.token}"} if request.token else {})


class ThreadTransport:
    """A daemon thread with `urllib`: a lesson never waits for it, and it does not keep a kernel alive."""

    def __init__(self, outbox: Outbox, address: str) -> None:
        self._outbox, self._address = outbox, address
        self._news = threading.Condition()
        self._num_news, self._stopped, self._busy = 0, False, True
        threading.Thread(target=self._run, name="dataflow-class", daemon=True).start()

    def wake(self) -> None:
        with self._news:
            self._num_news += 1
            self._busy = True
            self._news.notify_all()

    def wait(self, seconds: float) -> None:
        with self._news:
            self._news.wait_for(lambda: not self._busy or self._stopped, seconds)

    def stop(self) -> None:
        with self._news:
            self._stopped = True
            self._news.notify_all()

    def _run(self) -> None:
        while not self._stopped:
            seen = self._num_news
            request = self._outbox.next_request()
            if request is None:
                with self._news:
                    if seen == self._num_news:
                        self._busy = False
                        self._news.notify_all()
                    self._news.wait_for(partial(self._has_news, seen))
                continue
            try:
                pause = self._outbox.heard(self._send(request))
            except (OSError, ValueError, EOFError):
                pause = self._outbox.failed()
            if pause:
                with self._news:
                    self._news.wait_for(lambda: self._stopped, pause)

    def _has_news(self, since: int) -> bool:
        return self._stopped or self._num_news != since

    def _send(self, request: Request) -> Reply:
        import http.client
        import urllib.error
        import urllib.request

        asked = urllib.request.Request(
            self._address + request.path, request.body, headers_of(request), method="POST"
        )
        # A proxy of the environment has no business with a machine of the room.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(asked, timeout=_TIMEOUT_SECONDS) as got:
                body, status, head = got.read(_MAX_REPLY_BYTES), got.status, got.headers
        except urllib.error.HTTPError as e:
            with e:
                body, status, head = e.read(_MAX_REPLY_BYTES), e.code, e.headers
        except http.client.HTTPException as e:
            raise OSError(str(e)) from e
        return reply_of(status, head.get("Retry-After"), body)


class FetchTransport:
    """A task of the page's event loop with the page's ``fetch``: Pyodide has no sockets and no threads.

    It runs between cells, and while a cell awaits something.
    """

    def __init__(
        self, outbox: Outbox, address: str, begin: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        self._outbox, self._address, self._begin = outbox, address, begin
        self._news = asyncio.Event()
        self._stopped = False
        self._task = asyncio.ensure_future(self._run())

    def wake(self) -> None:
        self._news.set()

    def wait(self, seconds: float) -> None:
        pass

    def stop(self) -> None:
        self._stopped = True
        self._news.set()

    async def _run(self) -> None:
        if self._begin is not None:
            await self._begin()
        while not self._stopped:
            self._news.clear()
            request = self._outbox.next_request()
            if request is None:
                await self._news.wait()
                continue
            try:
                pause = self._outbox.heard(await self._send(request))
            except (OSError, ValueError):
                pause = self._outbox.failed()
            if pause:
                await asyncio.sleep(pause)

    async def _send(self, request: Request) -> Reply:
        from pyodide.http import pyfetch  # type: ignore[import-not-found]

        got: Any = await pyfetch(
            self._address + request.path,
            method="POST",
            headers=headers_of(request),
            body=request.body.decode("utf-8", "replace"),
            credentials="omit",
        )
        return reply_of(got.status, got.headers.get("retry-after"), bytes(await got.bytes()))
