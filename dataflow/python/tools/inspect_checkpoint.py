"""``from tensorflow.python.tools import inspect_checkpoint``: what is in a checkpoint, as text."""

from __future__ import annotations

from dataflow.formats.checkpoint_reader import NewCheckpointReader


def print_tensors_in_checkpoint_file(
    file_name: str,
    tensor_name: str | None,
    all_tensors: bool,
    all_tensor_names: bool = False,
    count_exclude_pattern: str = "",
) -> None:
    """Prints names, and values of all tensors or of ``tensor_name``; of neither, names with shapes.

    Values of large arrays are shortened as NumPy does. Names that match ``count_exclude_pattern`` are left
    out of the number of elements that is printed last. Raises `NotFoundError` where there is no such
    checkpoint or tensor.
    """
    import re

    import numpy as np

    reader = NewCheckpointReader(file_name)
    shapes = reader.get_variable_to_shape_map()
    if all_tensors or all_tensor_names:
        for key in sorted(shapes):
            print("tensor_name: ", key)
            if all_tensors:
                print(reader.get_tensor(key))
    elif not tensor_name:
        print(reader.debug_string().decode())
    else:
        print("tensor_name: ", tensor_name)
        print(reader.get_tensor(tensor_name))
    counted = [
        shape
        for key, shape in shapes.items()
        if not (count_exclude_pattern and re.match(count_exclude_pattern, key))
    ]
    total = sum(int(np.prod(shape, dtype=np.int64)) for shape in counted)
    print(f"# Total number of params: {total}")
