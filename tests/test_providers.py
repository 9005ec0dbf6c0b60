"""What higher layers provide to lower ones."""

from __future__ import annotations

import pytest

import dataflow
from dataflow import providers
from dataflow.providers import provide, provided


@pytest.mark.parametrize("need", sorted(providers._providers))
def test_every_need_is_provided_by_something_that_loads(need: str) -> None:
    assert provided(need) is provided(need)


def test_a_provider_is_loaded_when_it_is_first_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(providers, "_providers", {})
    provide(version="dataflow:__version__", module="dataflow", other="dataflow.no_such_module")
    assert provided("version") == dataflow.__version__
    assert provided("module") is dataflow
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        provided("other")
    provide(other=len)
    assert provided("other") is len
    with pytest.raises(KeyError, match="missing"):
        provided("missing")
