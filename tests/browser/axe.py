"""axe-core, as packed by axe-playwright-python: what it finds in a part of a page; and contrast."""

from __future__ import annotations

from pathlib import Path
from typing import Any

# Text whose contrast with what is behind it is below 4.5:1: HTML text against its background, node
# text against the node's fill.
CONTRAST = """() => {
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const rgb = (color, under = [255, 255, 255]) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = `rgb(${under})`; canvas.fillRect(0, 0, 1, 1);
    canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const light = (c) => {
    const [r, g, b] = c.map((v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratio = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
  const opaque = (e) => {
    for (; e; e = e.parentElement) {
      const c = getComputedStyle(e).backgroundColor;
      if (c && c !== 'rgba(0, 0, 0, 0)' && c !== 'transparent') return rgb(c);
    }
    return [255, 255, 255];
  };
  const low = [];
  const root = document.querySelector('.df-widget');
  const paper = rgb(getComputedStyle(root).backgroundColor);
  for (const e of root.querySelectorAll('*')) {
    if (!e.textContent.trim() || e.children.length && !e.matches('summary, p, dd, dt, button')) continue;
    const style = getComputedStyle(e);
    if (!e.getClientRects().length || style.visibility === 'hidden' || e.closest(':disabled')) continue;
    if (e.tagName === 'title' || e.tagName === 'OPTION') continue;
    const svg = e instanceof SVGElement;
    const shape = svg && e.closest('.df-node') && !e.matches('.df-tag') && e.closest('.df-node').querySelector('.df-shape');
    const behind = shape ? rgb(getComputedStyle(shape).fill, paper) : svg ? paper : opaque(e);
    const value = ratio(rgb(svg ? style.fill : style.color, behind), behind);
    if (value < 4.5) low.push(`${e.className.baseVal ?? e.className} '${e.textContent.slice(0, 30)}': ${value.toFixed(2)}`);
  }
  return low;
}"""


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
