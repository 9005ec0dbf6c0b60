"""Resources: who looks one up again finds the one that is there now."""

import numpy as np
import pytest

import dataflow as tf
from dataflow.runtime.cancellation import Cancellation
from dataflow.runtime.kernel_context import KernelContext
from dataflow.runtime.resources import ResourceManager, VariableResource


def context_of(resources, **attrs):
    """The context of a node that names a resource of its own."""
    return KernelContext(np, "node", attrs, resources, None, {})


@pytest.mark.parametrize("change", ["clear", "clear container", "remove", "put"])
def test_a_resource_is_looked_up_anew_after_a_change(change):
    resources = ResourceManager()
    context = context_of(resources, container="here", shared_name="name")
    made = context.resource("kind", object)
    assert context.resource("kind", object) is made
    assert context.resource("other kind", object) is not made
    assert context.resource("kind", object) is made
    if change == "put":
        resources.put("here", "kind", "name", change)
        assert context.resource("kind", object) is change
        return
    if change == "remove":
        resources.remove("here", "kind", "name")
    else:
        resources.clear(["here"] if change == "clear container" else None)
    assert context.resource("kind", object) is not made


def test_a_kernel_that_looks_up_is_not_called_while_what_it_found_is_valid():
    resources, calls = ResourceManager(), []
    context = context_of(resources)

    def look_up():
        calls.append(1)
        return context.resource("kind", object)

    find = context.found_or(look_up)
    made = find()
    assert find() is made and len(calls) == 1
    resources.clear()
    assert find() is not made and len(calls) == 2


def test_what_does_not_fit_is_refused_each_time():
    resources = ResourceManager()
    context = context_of(resources)

    def refuse(found):
        raise ValueError(f"{found} does not fit")

    for _ in range(2):
        with pytest.raises(ValueError, match="7 does not fit"):
            context.resource("kind", lambda: 7, refuse)
    assert context.resource("kind", lambda: 8) == 7


def variable(value):
    resource = VariableResource("v", tf.float32)
    resource.array = value
    return resource


def frozen():
    array = np.zeros(2, np.float32)
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    ("make", "copies"),
    [
        (lambda: np.zeros(2, np.float32), False),
        (lambda: np.zeros((2, 2), np.float32)[0], True),  # a part of another array
        (frozen, True),
        (lambda: KEPT, True),  # somebody else reads it
        (lambda: np.float32(3.0), True),
    ],
)
def test_an_array_is_changed_in_place_where_nobody_else_sees_it(make, copies):
    resource = variable(make())
    before = id(resource.array)
    array = resource.exclusive()
    assert type(array) is np.ndarray and array is resource.array and array.flags.writeable
    assert (id(array) != before) is copies
    np.testing.assert_array_equal(array, make())


KEPT = np.zeros(2, np.float32)


@pytest.mark.parametrize("use", [VariableResource.read, VariableResource.exclusive])
def test_a_variable_without_a_value_says_so(use):
    with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value v"):
        use(variable(None))


def test_who_is_called_when_a_run_is_cancelled():
    called = []
    cancellation = Cancellation()
    tokens = [cancellation.register(lambda i=i: called.append(i)) for i in range(3)]
    assert len(set(tokens)) == 3 and 0 not in tokens
    cancellation.unregister(tokens[1])
    cancellation.unregister(tokens[1])  # twice is once
    assert not cancellation.cancelled
    cancellation.cancel()
    assert cancellation.cancelled and called == [0, 2]
    cancellation.cancel()
    assert called == [0, 2]
    assert cancellation.register(lambda: called.append("late")) == 0  # at once, and never again
    cancellation.cancel()
    assert called == [0, 2, "late"]


def test_resources_are_told_apart_by_container_kind_and_name():
    resources = ResourceManager()
    for key in (("", "queue", "a"), ("here", "queue", "a"), ("", "table", "a"), ("", "queue", "b")):
        assert resources.get(*key) is None
        assert resources.get_or_create(*key, lambda key=key: key) == key
        assert resources.get_or_create(*key, object) == resources.get(*key) == key
    assert [name for name, _ in resources.items("queue")] == ["a", "a", "b"]
    assert resources.items("table") == [("a", ("", "table", "a"))]
    resources.clear(["here", "elsewhere"])
    assert [found for _, found in resources.items("queue")] == [
        ("", "queue", "a"),
        ("", "queue", "b"),
    ]
    assert resources.remove("", "queue", "a") == ("", "queue", "a")
    assert resources.remove("", "queue", "a") is None
    resources.clear()
    assert resources.items("queue") == resources.items("table") == []


def test_a_variable_is_made_once():
    resources = ResourceManager()
    made = resources.variable("", "v", tf.float32)
    assert (made.name, made.dtype, made.array) == ("v", tf.float32, None)
    assert resources.variable("", "v", tf.float32) is made
    assert resources.variable("here", "v", tf.float32) is not made


def test_a_resource_has_its_shared_name_or_the_nodes():
    resources = ResourceManager()
    assert context_of(resources).resource_name == "node" and context_of(resources).container == ""
    named = context_of(resources, shared_name="shared", container="here")
    assert (named.resource_name, named.container) == ("shared", "here")
    assert named.resource("kind", lambda: 7) == resources.get("here", "kind", "shared") == 7
    assert context_of(resources).resource("kind", lambda: 8) == resources.get("", "kind", "node")


def test_a_reset_leaves_variables_without_a_value_and_drops_the_rest():
    resources = ResourceManager()
    kept = resources.variable("", "kept", tf.float32, dims=(2,))
    kept.array = np.ones(2, np.float32)
    elsewhere = resources.variable("there", "kept", tf.float32)
    elsewhere.array = np.ones(1, np.float32)
    no_elements = resources.variable("", "empty", tf.int32, dims=(0, 3))
    resources.put("", "queue", "q", object())
    changes = resources.changes
    resources.reset([""])
    assert kept.array is None and elsewhere.array is not None and resources.changes > changes
    assert no_elements.array.shape == (0, 3)
    assert resources.get("", "queue", "q") is None
    assert [name for name, _ in resources.items("variable")] == ["kept", "empty"]
    assert resources.variable("", "kept", tf.float32, dims=(2,)) is kept


def test_after_a_reset_a_name_may_stand_for_another_variable():
    resources = ResourceManager()
    first = resources.variable("", "v", tf.float32, dims=(2,))
    assert resources.variable("", "v", tf.float32, dims=(3,)) is first, "never reset"
    resources.reset()
    for other in ((tf.int32, False, (2,)), (tf.int32, True, None), (tf.int32, False, (3,))):
        found = resources.variable("", "v", *other)
        assert found is not first and (found.dtype, found.by_handle, found.dims) == other
        resources.reset()
        first = found
