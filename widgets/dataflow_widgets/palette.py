"""Colors of lines and groups in static pictures: the light half of the page's, in its order."""

COLORS = (
    "#1f6fd6", "#d9541e", "#138a4b", "#8a4fd0", "#a37208",
    "#c2357a", "#0e8f9a", "#7a5c3e", "#5b7f1d", "#5a6472",
)  # fmt: skip
