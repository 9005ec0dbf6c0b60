"""axe-core, as packed by axe-playwright-python: what it finds in a part of a page."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def serious_findings(page: Any, selector: str) -> list[str]:
    """Serious and critical findings inside the elements that ``selector`` names, as sentences."""
    import axe_playwright_python

    source = Path(axe_playwright_python.__file__).parent / "axe.min.js"
    page.evaluate(source.read_text(encoding="utf-8"))
    found: list[str] = page.evaluate(
        """(selector) => axe.run([...document.querySelectorAll(selector)]).then((r) => r.violations
          .filter((v) => ["serious", "critical"].includes(v.impact))
          .map((v) => `${v.id}: ${v.nodes.map((n) => n.html.slice(0, 120) + ' ' + n.failureSummary).join(' | ')}`))""",
        selector,
    )
    return found
