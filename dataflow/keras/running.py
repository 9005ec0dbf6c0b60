"""`K.function`: tensors as a Python function of arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow.graph import nest
from dataflow.graph.eager_tensor import EagerTensor
from dataflow.graph.tensor import Tensor
from dataflow.keras.sparse_rows import sparse_rows
from dataflow.ops.sparse_tensor import is_sparse

_OF_RUN = ("options", "run_metadata")


class Function:
    """Runs ``outputs`` and ``updates`` (ops, or pairs of a variable and its new value) in a session.

    ``outputs``: a tensor, or a list or dict of them; their values come in the same structure.

    ``session`` is a function that returns it.
    ``fetches`` run along; ``feed_dict`` are values of other tensors, looked up with each call;
    ``options`` and ``run_metadata`` are those of `Session.run`. Raises `ValueError` for other names.
    """

    def __init__(
        self,
        session: Callable[[], Any],
        inputs: Any,
        outputs: Any,
        updates: Any,
        name: Any,
        **kwargs: Any,
    ) -> None:
        if unknown := kwargs.keys() - {"fetches", "feed_dict", *_OF_RUN}:
            raise ValueError(
                f"Some keys in session_kwargs are not supported at this time: {sorted(unknown)}"
            )
        if not isinstance(inputs, (list, tuple)):
            raise TypeError("`inputs` to a TensorFlow backend function should be a list or tuple.")
        if updates is not None and not isinstance(updates, (list, tuple)):
            raise TypeError("`updates` in a TensorFlow backend function should be a list or tuple.")
        self._session = session
        self.name = name
        self._inputs = list(inputs)
        self._structure = list(outputs) if isinstance(outputs, tuple) else outputs
        self._outputs = nest.flatten(self._structure)
        self._updates = [u[0].assign(u[1]) if isinstance(u, tuple) else u for u in updates or []]
        self.fetches = list(kwargs.get("fetches") or [])
        self.feed_dict = {} if kwargs.get("feed_dict") is None else kwargs["feed_dict"]
        self.session_kwargs = {key: kwargs[key] for key in _OF_RUN if key in kwargs}

    def __call__(self, inputs: Any) -> Any:
        """The outputs for a list with a value of each input, as they were asked for."""
        if not isinstance(inputs, (list, tuple)):
            raise TypeError("`inputs` should be a list or tuple.")
        if len(inputs) != len(self._inputs):
            raise ValueError(
                f"K.function: it takes {len(self._inputs)} inputs, got {len(inputs)}; "
                "pass them as one list."
            )
        feed = dict(self.feed_dict)
        for tensor, value in zip(self._inputs, inputs, strict=True):
            if is_sparse(tensor):
                feed[tensor] = sparse_rows(value, tensor.name).fed(tensor.dtype.as_numpy_dtype)
            elif isinstance(tensor, Tensor):
                feed[tensor] = value
        graph = (self._outputs or self._inputs)[0].graph
        with graph.as_default():
            for tensor, value in feed.items():
                if isinstance(value, EagerTensor):
                    feed[tensor] = value.numpy()
                elif isinstance(value, Tensor):
                    feed[tensor] = self._session().run(value)
            run = (self._outputs, self._updates, self.fetches)
            values = self._session().run(run, feed, **self.session_kwargs)[0]
        return nest.pack_like(self._structure, values)
