"""``from dataflow.python.client import timeline``: see `dataflow.summary.chrome_trace`."""

from dataflow.summary.chrome_trace import Timeline

__all__ = ["Timeline"]
