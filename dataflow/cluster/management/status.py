"""The table that `Cluster.status` returns: a row per task, shown as text and as HTML."""

from __future__ import annotations

from html import escape
from typing import Any

#: The columns; a value is ``None`` if the task does not answer.
FIELDS = (
    *("task", "state", "device", "address", "pid", "restarts"),
    *("steps", "steps_per_second", "received_bytes", "sent_bytes"),
    *("shared_received_bytes", "shared_sent_bytes"),
    *("queues", "updates", "staleness", "largest_staleness", "dropped_gradients"),
    *("variables", "variable_bytes", "variable_sizes", "memory_bytes", "delay_seconds"),
    *("is_cut", "link_delay_seconds", "processor_seconds"),
)


class Status(list[dict[str, Any]]):
    """Rows of a table, one per task; ``pandas.DataFrame(status)`` takes them as they are."""

    _COLUMNS = (
        "task",
        "state",
        "pid",
        "steps",
        "steps_per_second",
        "received_bytes",
        "sent_bytes",
        "queues",
        "staleness",
        "variables",
        "memory_bytes",
    )

    def _cells(self) -> list[list[str]]:
        rows = [[_cell(name, row.get(name)) for name in self._COLUMNS] for row in self]
        at = self._COLUMNS.index("variables")
        for row, cells in zip(self, rows, strict=True):
            if row.get("variables"):
                cells[at] += f" ({_cell('variable_bytes', row['variable_bytes'])})"
        return rows

    def __repr__(self) -> str:
        titles = [name.replace("_bytes", "").replace("_", " ") for name in self._COLUMNS]
        table = [titles, *self._cells()]
        widths = [max(len(row[i]) for row in table) for i in range(len(titles))]
        return "\n".join(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in table
        )

    def _repr_html_(self) -> str:
        head = "".join(
            f"<th>{escape(name.replace('_bytes', '').replace('_', ' '))}</th>"
            for name in self._COLUMNS
        )
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
            for row in self._cells()
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(name: str, value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, dict):
        return ", ".join(f"{key}: {size}" for key, size in value.items()) or "-"
    if name.endswith("_bytes"):
        for unit in ("B", "KB", "MB"):
            if value < 1000:
                return f"{value:.3g} {unit}"
            value /= 1000
        return f"{value:.3g} GB"
    return f"{value:.1f}" if isinstance(value, float) else str(value)


def memory_bytes(pid: int) -> int | None:
    """Return the proportional memory of a process of this machine, ``None`` where it is unknown."""
    try:
        with open(f"/proc/{pid}/smaps_rollup") as file:
            for line in file:
                if line.startswith("Pss:"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    return None
