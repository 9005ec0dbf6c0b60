"""A small picture of a node that could not be made or run: its inputs' shapes, the wrong one marked."""

from __future__ import annotations

from dataflow.errors import FailedInput, FailedNode

_MOST_INPUTS = 4
_ROW = 46  # px
_WIDE = 8.2  # px of a character, on the wide side
_LONGEST = 40  # characters of a node's name: longer ones are cut at the left
_RED = "var(--jp-error-color1, #c62828)"
_INK = "var(--jp-ui-font-color1, currentColor)"


def picture_text(node: FailedNode) -> str:
    """The picture in characters, a line for each input."""
    inputs = _shown(node)
    names = [f"{'✗' if one.is_wrong else ' '} {one.tensor}" for one in inputs]
    kinds = [f"{one.dtype}{one.shape}" for one in inputs]
    wide, kind_wide = max(map(len, names)), max(map(len, kinds))
    lines = []
    for i, (one, name, kind) in enumerate(zip(inputs, names, kinds, strict=True)):
        last = i == len(inputs) - 1
        corner = "───" if len(inputs) == 1 else "──┐" if i == 0 else "──┴" if last else "──┤"
        end = f"─▶ {node.op_type} {node.name!r}" if last else ""
        argument = f"{one.argument} " if one.argument else ""
        lines.append(f"  {name:<{wide}}  {kind:<{kind_wide}}  {argument}{corner}{end}")
    # All corners stand below each other.
    column = max(line.index("──") for line in lines)
    return "\n".join(_widened(line, column) for line in lines)


def in_ascii(text: str) -> str:
    """The same for a terminal that has no such characters."""
    return text.translate(str.maketrans("─┐┴┤▶✗", "-+++>x"))


def _widened(line: str, column: int) -> str:
    at = line.index("──")
    return line[:at] + "─" * (column - at) + line[at:]


def picture_svg(node: FailedNode) -> str:
    """The picture as SVG, in the colors of JupyterLab's theme where there is one."""
    import html  # its table of names takes 1 ms

    inputs = _shown(node)
    texts = [(_cut(one.tensor), f"{one.dtype} {one.shape}") for one in inputs]
    name = _cut(node.name)
    left = max(70.0, *(_WIDE * max(len(a), len(b)) + 24 for a, b in texts))
    middle = max(50.0, *(_WIDE * len(one.argument) + 46 for one in inputs))
    right = max(70.0, _WIDE * max(len(node.op_type), len(name)) + 24)
    height = _ROW * len(inputs) + 8
    center = height / 2
    words = "; ".join(
        f"{one.argument or 'input'} {one.tensor}: {one.dtype} {one.shape}"
        + (", which does not fit" if one.is_wrong else "")
        for one in inputs
    )
    label = html.escape(f"{node.op_type} {node.name} with the inputs {words}", quote=True)
    parts = [
        f'<svg role="img" aria-label="{label}" width="{left + middle + right + 8:.0f}" '
        f'height="{height:.0f}" style="display:block;margin:4px 0;max-width:100%;overflow:visible" '
        'font-family="system-ui, sans-serif" font-size="13">'
    ]
    for i, (one, (tensor, kind)) in enumerate(zip(inputs, texts, strict=True)):
        color = _RED if one.is_wrong else _INK
        y = 4 + _ROW * i + _ROW / 2
        parts.append(_box(4, y, left, tensor, kind, color, one.is_wrong))
        end = center + (i - (len(inputs) - 1) / 2) * 8
        x0, x1 = left + 4, left + middle - 4
        parts.append(
            f'<path d="M{x0:.0f},{y:.1f}C{x0 + 24:.0f},{y:.1f} {x1 - 24:.0f},{end:.1f} {x1:.0f},{end:.1f}" '
            f'style="fill:none;stroke:{color};stroke-width:{2.4 if one.is_wrong else 1.3}"/>'
            f'<path d="M{x1 + 7:.0f},{end:.1f}l-8,-4v8z" style="fill:{color}"/>'
        )
        if one.argument:
            beside = y - 6 if y <= end else y + 15  # where the line does not go
            parts.append(
                f'<text x="{x0 + 8:.0f}" y="{beside:.1f}" style="fill:{color}" font-size="12">'
                f"{html.escape(one.argument)}</text>"
            )
    parts.append(_box(left + middle + 4, center, right, name, node.op_type, _RED, True))
    return "".join(parts) + "</svg>"


def _box(x: float, y: float, width: float, above: str, below: str, color: str, red: bool) -> str:
    import html

    middle = x + width / 2
    fill = f"color-mix(in srgb, {_RED} 12%, transparent)" if red else "none"
    return (
        f'<rect x="{x:.0f}" y="{y - 19:.1f}" width="{width:.0f}" height="38" rx="6" '
        f'style="fill:{fill};stroke:{color};stroke-width:{2.2 if red else 1.2}"/>'
        f'<text x="{middle:.1f}" y="{y - 3:.1f}" text-anchor="middle" font-weight="600" '
        f'style="fill:{_INK}">{html.escape(above)}</text>'
        f'<text x="{middle:.1f}" y="{y + 13:.1f}" text-anchor="middle" font-size="12" '
        f'style="fill:{color}">{html.escape(below)}</text>'
    )


def _cut(name: str) -> str:
    """The end of a long name, from a scope on where one fits."""
    if len(name) <= _LONGEST:
        return name
    end = name[-_LONGEST:]
    return "…" + (end[end.index("/") :] if "/" in end else end)


def _shown(node: FailedNode) -> list[FailedInput]:
    """At most four inputs, the wrong one among them."""
    if len(node.inputs) <= _MOST_INPUTS:
        return list(node.inputs)
    first = list(node.inputs[: _MOST_INPUTS - 1])
    wrong = [one for one in node.inputs[_MOST_INPUTS - 1 :] if one.is_wrong]
    return first + (wrong or [node.inputs[-1]])[:1]
