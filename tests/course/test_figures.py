"""Figures with a description."""

from __future__ import annotations

import pytest

from dataflow.course import figure


def test_a_figure_has_alt_text_and_is_shown_once() -> None:
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    drawn, axes = plt.subplots()
    axes.plot([3, 2, 1])
    shown = figure(drawn, 'The loss falls from 3 to 1 "quickly" & <surely>')
    html = shown._repr_html_()
    assert 'alt="The loss falls from 3 to 1 &quot;quickly&quot; &amp; &lt;surely&gt;"' in html
    assert shown.png.startswith(b"\x89PNG")
    assert repr(shown).startswith("[figure: The loss falls")
    assert drawn.number not in plt.get_fignums()
    with pytest.raises(ValueError, match="in words"):
        figure(plt.figure(), "loss")
    plt.close("all")
