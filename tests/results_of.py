"""What a function of the project gives while a test runs."""

from __future__ import annotations

from typing import Any

import pytest


def results_of(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> list[Any]:
    """A list that gets what each call of ``owner.name`` returns."""
    original, results = getattr(owner, name), []

    def watched(*arguments: Any, **named: Any) -> Any:
        results.append(original(*arguments, **named))
        return results[-1]

    monkeypatch.setattr(owner, name, watched)
    return results
