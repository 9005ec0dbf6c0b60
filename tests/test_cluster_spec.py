"""`ClusterSpec`: what it takes, what it answers, what it refuses and why."""

import pytest
from hypothesis import given, strategies as st

import dataflow as tf
from dataflow.cluster_def import ClusterDef, from_cluster_def
from dataflow.cluster_spec import ClusterSpec

DENSE = {"ps": ["a:1"], "worker": ["b:2", "c:3"]}


def test_dense():
    spec = ClusterSpec(DENSE)
    assert spec.jobs == ["ps", "worker"]
    assert spec.num_tasks("worker") == 2
    assert spec.task_indices("worker") == [0, 1]
    assert spec.task_address("worker", 1) == "c:3"
    assert spec.job_tasks("worker") == ["b:2", "c:3"]
    assert spec.as_dict() == DENSE
    assert spec.addresses() == {
        "/job:ps/task:0": "a:1",
        "/job:worker/task:0": "b:2",
        "/job:worker/task:1": "c:3",
    }
    assert "'ps': ['a:1']" in str(spec)


def test_sparse():
    spec = ClusterSpec({"ps": ["a:1"], "worker": {1: "c:3", 3: "d:4"}})
    assert spec.num_tasks("worker") == 2
    assert spec.task_indices("worker") == [1, 3]
    assert spec.job_tasks("worker") == [None, "c:3", None, "d:4"]
    assert spec.as_dict() == {"ps": ["a:1"], "worker": {1: "c:3", 3: "d:4"}}
    with pytest.raises(ValueError, match=r"job 'worker' has no task 0.*\[1, 3\]"):
        spec.task_address("worker", 0)


def test_equality_copies_and_truth():
    assert ClusterSpec(DENSE) == ClusterSpec(ClusterSpec(DENSE))
    assert hash(ClusterSpec(DENSE)) == hash(ClusterSpec({k: tuple(v) for k, v in DENSE.items()}))
    assert ClusterSpec(DENSE) != ClusterSpec({"ps": ["a:1"]})
    assert ClusterSpec({"ps": {0: "a:1"}}) == ClusterSpec({"ps": ["a:1"]})
    assert not ClusterSpec({})
    assert ClusterSpec({"ps": ["grpc://a:1"]}) == ClusterSpec({"ps": ["a:1"]})


@pytest.mark.parametrize(
    ("cluster", "error", "words"),
    [
        (3, TypeError, "got int 3"),
        ({"ps": "a:1"}, TypeError, "tasks of job 'ps'.*got str"),
        ({"ps": [3]}, TypeError, "/job:ps/task:0 must be text"),
        ({"ps": {"0": "a:1"}}, TypeError, "index of job 'ps'.*'0'"),
        ({"ps": ["a:b"]}, ValueError, "/job:ps/task:0: 'a:b' is not a task's address"),
        ({"ps": ["a:99999"]}, ValueError, "'a:99999' is not a task's address"),
        ({"p s": ["a:1"]}, ValueError, "job name 'p s'"),
        ({3: ["a:1"]}, TypeError, "name must be text, got 3"),
    ],
)
def test_refused(cluster, error, words):
    with pytest.raises(error, match=words):
        ClusterSpec(cluster)


def test_unknown_job_lists_the_jobs():
    with pytest.raises(ValueError, match=r"no job 'worker'; the jobs are \['ps'\]"):
        ClusterSpec({"ps": ["a:1"]}).num_tasks("worker")


def test_merge_completes_and_refuses_contradictions():
    some = ClusterSpec({"worker": {1: "c:3"}})
    assert some.merge({"ps": ["a:1"], "worker": {0: "b:2"}}) == ClusterSpec(DENSE)
    with pytest.raises(ValueError, match=r"/job:worker/task:1 is at c:3 in one and at x:9"):
        some.merge({"worker": {1: "x:9"}})


names = st.from_regex(r"\A[a-z][a-z0-9_]{0,6}\Z")
addresses = st.builds("{}:{}".format, names, st.integers(0, 65535))


@given(st.dictionaries(names, st.dictionaries(st.integers(0, 2000), addresses), max_size=4))
def test_cluster_def_round_trip(jobs):
    spec = ClusterSpec(jobs)
    definition = spec.as_cluster_def()
    assert ClusterSpec(definition) == spec
    assert ClusterSpec(definition.SerializeToString()) == spec
    assert ClusterSpec(spec.as_dict()).addresses() == spec.addresses()


def test_cluster_def_has_tensorflows_bytes():
    # Written by tensorflow.compat.v1: ClusterSpec({"ps": ["a:1"], "w": {3: "b:2"}}).
    expected = bytes.fromhex("0a0d0a027073120708001203613a310a0c0a0177120708031203623a32")
    assert (
        ClusterSpec({"ps": ["a:1"], "w": {3: "b:2"}}).as_cluster_def().SerializeToString()
        == expected
    )


@given(st.binary(max_size=60))
def test_cluster_def_of_any_bytes_is_read_or_refused(data):
    try:
        from_cluster_def(data)
    except ValueError:
        pass  # UnicodeDecodeError is one


def test_empty_cluster_def():
    definition = ClusterDef()
    definition.ParseFromString(b"")
    assert definition.job == []


@pytest.mark.parametrize(
    ("jobs", "first", "second"),
    [
        (
            {"ps": ["h:2222"], "worker": ["h:2223", "h:2222"]},
            "/job:ps/task:0",
            "/job:worker/task:1",
        ),
        (
            {"worker": ["localhost:1", "LocalHost:1"]},
            "/job:worker/task:0",
            "/job:worker/task:1",
        ),
        ({"ps": ["h:1"], "worker": {3: "grpc://h:1"}}, "/job:ps/task:0", "/job:worker/task:3"),
    ],
)
def test_two_tasks_with_one_address_are_refused(jobs, first, second):
    with pytest.raises(
        ValueError, match=f"{first} and {second} have the same address.*another port"
    ):
        tf.train.ClusterSpec(jobs)


def test_one_spec_twice_and_free_ports_are_no_conflict():
    jobs = {"ps": ["h:1"], "worker": ["h:2", "other:1"]}
    spec = tf.train.ClusterSpec(jobs)
    assert tf.train.ClusterSpec(spec).merge(jobs) == spec
    assert tf.train.ClusterSpec({"worker": ["127.0.0.1:0", "127.0.0.1:0"]}).num_tasks("worker") == 2
    with pytest.raises(ValueError, match="have the same address"):
        spec.merge({"evaluator": ["h:2"]})
