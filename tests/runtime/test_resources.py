"""Resources: who looks one up again finds the one that is there now."""

import numpy as np
import pytest

from dataflow.runtime.resources import KernelContext, ResourceManager


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


def test_what_does_not_fit_is_refused_each_time():
    resources = ResourceManager()
    context = context_of(resources)

    def refuse(found):
        raise ValueError(f"{found} does not fit")

    for _ in range(2):
        with pytest.raises(ValueError, match="7 does not fit"):
            context.resource("kind", lambda: 7, refuse)
    assert context.resource("kind", lambda: 8) == 7
