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


def test_a_figure_follows_the_theme_of_the_page() -> None:
    """Dark paper and light ink in the dark; colors stay, and so do the pixels of an image."""
    import io

    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt
    import numpy as np

    drawn, (left, right) = plt.subplots(1, 2, figsize=(6, 3))
    left.bar([0, 1], [1, 2], color="0.75", edgecolor="black", hatch="//")
    left.plot([0, 1], [1, 2], color="tab:orange", linewidth=6, label="measured")
    left.set_title("Title")
    left.legend()
    right.imshow(np.zeros((4, 4)), cmap="gray")
    shown = figure(drawn, "two bars, and an image that is all black")
    light, dark = (plt.imread(io.BytesIO(png))[..., :3] for png in (shown.png, shown.dark_png))
    assert light[:3].mean() > 0.99 and dark[:3].mean() < 0.15, "paper"
    middle = light.shape[0] // 2
    at = int(light.shape[1] * 0.8)
    assert light[middle, at].max() == dark[middle, at].max() == 0.0, "the image"
    orange = np.array([1.0, 0.498, 0.055])
    for picture in (light, dark):
        assert (np.abs(picture - orange).max(axis=-1) < 0.02).sum() > 100
    title = dark[: dark.shape[0] // 8]
    assert title.max() > 0.85, "the title is light"
    black = (dark[:, : dark.shape[1] // 2].max(axis=-1) < 0.05).sum()
    assert black < 20, "nothing black is left on dark paper"
    html = shown._repr_html_()
    assert html.count("<img") == 2 and html.count("alt=") == 2
    assert "max-width:100%;display:none" in html, "without style sheets the light one is left"
