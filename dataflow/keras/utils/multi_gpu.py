"""`multi_gpu_model`: a model whose batches are shared out over GPUs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def multi_gpu_model(
    model: Any, gpus: int | Iterable[int], cpu_merge: bool = True, cpu_relocation: bool = False
) -> Any:
    """A model that gives each of ``gpus`` (how many, or their numbers) an equal part of a batch.

    The results are joined in the order of the batch; the weights are ``model``'s own. Raises `ValueError`
    for fewer than two GPUs, and for GPUs that this machine does not have.
    """
    from dataflow.ops import array
    from dataflow.ops.graph_functions import device
    from dataflow.runtime.devices import list_local_devices

    numbers = list(range(gpus)) if isinstance(gpus, int) else list(gpus)
    if len(numbers) <= 1:
        raise ValueError(
            f"For multi-gpu usage to be effective, call `multi_gpu_model` with `gpus >= 2`. Received: "
            f"`gpus={gpus}`"
        )
    there = [d.name.lower() for d in list_local_devices()]
    missing = [i for i in numbers if not any(name.endswith(f"gpu:{i}") for name in there)]
    if missing:
        raise ValueError(
            f"To call `multi_gpu_model` with `gpus={gpus}`, the devices /gpu:{missing[0]} and so on must be "
            f"there. This machine has {', '.join(there)}. Leave the call out, or use fewer `gpus`."
        )

    def part(x: Any, index: int) -> Any:
        size = array.shape(x)[0]
        share = size // len(numbers)
        end = size if index == len(numbers) - 1 else (index + 1) * share
        return x[index * share : end]

    results: list[list[Any]] = [[] for _ in model.outputs]
    for index, number in enumerate(numbers):
        with device(f"/gpu:{number}"):
            inputs = [part(x, index) for x in model.inputs]
            outputs = model(inputs if len(inputs) > 1 else inputs[0])
        for all_parts, output in zip(
            results, outputs if isinstance(outputs, list) else [outputs], strict=True
        ):
            all_parts.append(output)
    with device("/cpu:0" if cpu_merge else f"/gpu:{numbers[0]}"):
        merged = [
            array.concat(parts, 0, name=n)
            for parts, n in zip(results, model.output_names, strict=True)
        ]
    # Its own class may be Sequential. The module of models uses this one, so it cannot be imported here.
    whole = next(c for c in type(model).__mro__ if c.__name__ == "Model")
    return whole(model.inputs, merged)
