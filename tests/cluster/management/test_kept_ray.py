"""A private Ray between two launches: used again, ended in time, and out of the way of a user's own."""

import types

import pytest

from dataflow.cluster.management import kept_ray, private_ray


@pytest.fixture
def ray(monkeypatch):
    """What `kept_ray` uses of Ray; ``ended`` counts how often the private one was left."""
    ray = types.SimpleNamespace(
        is_initialized=lambda: True,
        init=lambda *args: ("init", *args),
        shutdown=lambda: None,
        get_runtime_context=lambda: types.SimpleNamespace(gcs_address="127.0.0.1:1"),
        ended=[],
    )
    monkeypatch.setattr(private_ray, "head_answers", lambda address: True)
    monkeypatch.setattr(private_ray, "leave", lambda ray, kill: ray.ended.append(kill))
    yield ray
    kept_ray.end()


def test_it_is_used_again_in_the_same_circumstances(ray):
    here = kept_ray.circumstances(80)
    public = dict(vars(ray))
    kept_ray.keep(ray, here)
    assert not kept_ray.use(kept_ray.circumstances(81))
    assert ray.ended == [False]
    kept_ray.keep(ray, here)
    assert kept_ray.use(kept_ray.circumstances(80))
    assert vars(ray) == public, "Ray's functions were not put back"
    kept_ray.end()  # which is not kept any more
    assert len(ray.ended) == 1


@pytest.mark.parametrize("change", ["environment", "folder", "path"])
def test_other_circumstances_need_another(ray, change, monkeypatch, tmp_path):
    kept_ray.keep(ray, kept_ray.circumstances(80))
    if change == "environment":
        monkeypatch.setenv("LESSON", "17")
    elif change == "folder":
        monkeypatch.chdir(tmp_path)
    else:
        monkeypatch.syspath_prepend(str(tmp_path))
    assert not kept_ray.use(kept_ray.circumstances(80))
    assert ray.ended == [False]


def test_one_without_its_head_is_not_used(ray, monkeypatch):
    kept_ray.keep(ray, kept_ray.circumstances(80))
    monkeypatch.setattr(private_ray, "head_answers", lambda address: False)
    assert not kept_ray.use(kept_ray.circumstances(80))
    assert ray.ended == [True], "what is left of it is killed"


def test_it_ends_after_its_time(ray, monkeypatch, eventually):
    monkeypatch.setattr(kept_ray, "KEPT_SECONDS", 0.01)
    kept_ray.keep(ray, kept_ray.circumstances(80))
    eventually(lambda: ray.ended)
    assert ray.is_initialized(), "Ray's functions were not put back"


def test_a_user_of_ray_finds_none(ray):
    kept_ray.keep(ray, kept_ray.circumstances(80))
    assert not ray.is_initialized()
    assert ray.init("address") == ("init", "address")
    assert ray.ended == [False]
