"""Who this learner is in a class, kept so that the next lesson's kernel is the same learner.

In a file of the user's cache; in a web page in the browser's IndexedDB, which the class's own page for
learners reads as well (``pages/learner.js``). Where nothing can be kept, each kernel is a new learner.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from typing import Any

from dataflow.user_cache import cache_folder

_BASE, _STORE = "dataflow class", "kept"


def code_as_typed(code: str) -> str:
    """A code without what people put in between: case, blanks and hyphens do not count."""
    return "".join(c for c in code.upper() if c.isalnum())


def place(address: str, code: str) -> str:
    """What a class is kept under."""
    return f"{address} {code_as_typed(code)}"


def read_file(name: str) -> dict[str, Any]:
    """What was kept under ``name``; {} for nothing."""
    try:
        found = json.loads(_path(name).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def write_file(name: str, told: dict[str, Any]) -> None:
    """Keeps ``told``, for this user only."""
    path = _path(name)
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.touch(mode=0o600)
        path.write_text(json.dumps(told), encoding="utf-8")
    except OSError:
        pass


def _path(name: str) -> Any:
    return cache_folder("class", f"{hashlib.sha256(name.encode()).hexdigest()[:16]}.json")


async def read_page(name: str) -> dict[str, Any]:
    """As `read_file`, in a web page."""
    try:
        text = await _in_page("readonly", lambda store: store.get(name))
        found = json.loads(text) if isinstance(text, str) else {}
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


async def write_page(name: str, told: dict[str, Any]) -> None:
    """As `write_file`, in a web page."""
    try:
        await _in_page("readwrite", lambda store: store.put(json.dumps(told), name))
    except OSError:
        pass


async def _in_page(mode: str, ask: Any) -> Any:
    """The result of one request to the browser's storage. Raises `OSError` where it has or gives none."""
    try:
        from js import indexedDB  # type: ignore[import-not-found,attr-defined,unused-ignore]
    except ImportError:
        raise OSError("this page has no storage") from None
    opening = indexedDB.open(_BASE, 1)
    opening.onupgradeneeded = lambda _event: opening.result.createObjectStore(_STORE)
    base = await _answered(opening)
    try:
        return await _answered(ask(base.transaction(_STORE, mode).objectStore(_STORE)))
    finally:
        base.close()


async def _answered(request: Any) -> Any:
    done: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    def succeeded(_event: Any) -> None:
        if not done.done():
            done.set_result(request.result)

    def failed(event: Any) -> None:
        event.preventDefault()
        if not done.done():
            done.set_exception(OSError("the browser forbids storage"))

    request.onsuccess, request.onerror = succeeded, failed
    return await done
