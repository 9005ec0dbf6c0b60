"""The figures of the seed documents, drawn anew: lessons/images/seeds/*.svg.

    python -m tools.figures

Each function returns one SVG. Sizes are in px; colors are those of the graph view, in a dark notebook
the dark ones (`tools.drawing.DARK`).
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

from tools.cluster_figures import CLUSTER_FIGURES
from tools.drawing import BLUE, GRAY, GREEN, ORANGE, PURPLE, Drawing

FOLDER = Path(__file__).resolve().parents[1] / "lessons" / "images" / "seeds"


def neuron() -> str:
    d = Drawing(560, 220, "A neuron: inputs times weights are added up with a bias, then bent")
    for i in range(3):
        y = 45 + 60 * i
        d.circle(50, y, 20, f"x{i + 1}", GRAY)
        d.arrow((70, y), (218, 95 + 10 * (i - 1) + 10))
        d.text(135, y + (14, -4, -32)[i] - 4, f"w{i + 1}", "s")
    d.circle(250, 105, 32, "sum", BLUE)
    d.circle(250, 190, 18, "b", GRAY)
    d.arrow((250, 172), (250, 137))
    d.text(290, 194, "bias", "s")
    d.arrow((282, 105), (350, 105))
    d.box(350, 78, 84, 54, "", ORANGE)
    d.line([(362, 118), (392, 118), (422, 90)])
    d.text(392, 150, "relu", "s")
    d.arrow((434, 105), (490, 105))
    d.text(524, 110, "output", "b")
    return d.svg()


def deep_network() -> str:
    sizes = (4, 5, 5, 5, 5, 5, 3)
    d = Drawing(700, 270, "A deep network: four inputs, five hidden layers, three outputs")
    places = [
        [(60 + 97 * i, 120 + 38 * (k - (size - 1) / 2)) for k in range(size)]
        for i, size in enumerate(sizes)
    ]
    for left, right in itertools.pairwise(places):
        for x0, y0 in left:
            for x1, y1 in right:
                d.raw(f"<path d='M{x0 + 13:.0f},{y0:.0f}L{x1 - 13:.0f},{y1:.0f}' opacity='.35'/>")
    for i, layer in enumerate(places):
        color = GRAY if i == 0 else GREEN if i == len(sizes) - 1 else BLUE
        for x, y in layer:
            d.circle(x, y, 13, "", color)
    d.text(60, 250, "inputs", "b")
    d.text(351, 250, "hidden layers", "b")
    d.text(642, 250, "outputs", "b")
    return d.svg()


def iris() -> str:
    d = Drawing(660, 330, "An iris: three petals stand up, three longer sepals hang down")
    for angle in (90, 210, 330):
        d.raw(
            f"<ellipse cx='200' cy='78' rx='34' ry='76' transform='rotate({angle + 90} 200 150)' "
            f"fill='{PURPLE[0]}' stroke='{PURPLE[1]}'/>"
        )
    for angle in (0, 120, 240):
        d.raw(
            f"<ellipse cx='200' cy='104' rx='20' ry='46' transform='rotate({angle} 200 150)' "
            "fill='#c7aff0' stroke='#6c3fb5'/>"
        )
    d.circle(200, 150, 12, "", ORANGE)
    d.arrow((380, 50), (222, 92))
    d.text(500, 48, "petal: its length and width", "b")
    d.text(500, 66, "1 to 2 cm long: setosa; 4.5 to 7: virginica", "s")
    d.arrow((380, 262), (238, 262))
    d.text(500, 260, "sepal: its length and width", "b")
    d.text(500, 278, "4.3 to 7.9 cm long", "s")
    return d.svg()


def system_layers() -> str:
    d = Drawing(640, 330, "The layers of TensorFlow: programs, core, kernels, devices")
    for i, name in enumerate(("training libraries", "inference libraries")):
        d.box(20 + 305 * i, 15, 295, 38, name, GREEN)
    for i, name in enumerate(("Python client", "C++ client", "other languages")):
        d.box(20 + 203 * i, 63, 194, 38, name, GREEN)
    d.box(20, 111, 600, 30, "C API", GRAY)
    d.box(20, 151, 295, 38, "distributed master", BLUE)
    d.box(325, 151, 295, 38, "dataflow executor", BLUE)
    for i, name in enumerate(("Const", "Var", "MatMul", "Conv2D", "ReLU", "Queue")):
        d.box(20 + 101 * i, 199, 95, 34, name, ORANGE)
    d.text(320, 252, "kernels: one for each operation and kind of device", "s")
    for i, name in enumerate(("gRPC", "RDMA", "CPU", "GPU", "TPU")):
        d.box(20 + 121 * i, 264, 116, 34, name, PURPLE if i > 1 else GRAY)
    d.text(138, 317, "network", "s")
    d.text(440, 317, "devices", "s")
    return d.svg()


def convolution_and_pooling() -> str:
    d = Drawing(700, 260, "A 3 by 3 filter slides over an image; pooling keeps the largest of four")
    top = ((1, 1, 1, 0, 0, 0), (0, 1, 1, 1, 0, 0), (0, 0, 1, 1, 1, 0), (0, 0, 1, 1, 0, 0))
    image = (*top, (0, 1, 1, 0, 0, 0), (1, 1, 0, 0, 0, 0))
    taps = ((1, 0, 1), (0, 1, 0), (1, 0, 1))
    sums = [
        [
            sum(image[y + i][x + k] * taps[i][k] for i in range(3) for k in range(3))
            for x in range(4)
        ]
        for y in range(4)
    ]
    pooled = [
        [max(sums[2 * y + i][2 * x + k] for i in (0, 1) for k in (0, 1)) for x in (0, 1)]
        for y in (0, 1)
    ]

    def grid(left: float, top: float, rows: Sequence[Sequence[int]], lit: int) -> None:
        for y, row in enumerate(rows):
            for x, value in enumerate(row):
                color = ORANGE if y < lit and x < lit else BLUE
                d.box(left + 30 * x, top + 30 * y, 30, 30, str(value), color)

    grid(20, 25, image, 3)
    grid(245, 70, taps, 3)
    grid(385, 55, sums, 2)
    grid(590, 85, pooled, 1)
    d.arrow((205, 115), (240, 115))
    d.arrow((340, 115), (380, 115))
    d.arrow((510, 115), (585, 115))
    for x, words in ((110, "image, 6 by 6"), (290, "filter"), (445, "feature map, 4 by 4")):
        d.text(x, 232, words, "b")
    d.text(620, 232, "pooled, 2 by 2", "b")
    d.text(548, 105, "largest", "s")
    return d.svg()


def kim() -> str:
    d = Drawing(720, 300, "Kim's network: words, filters of several widths, max over time, softmax")
    words = ["wait", "for", "the", "video", "and", "do", "n't", "rent", "it"]
    for y, word in enumerate(words):
        d.raw(f"<text x='62' y='{49 + 24 * y}' style='text-anchor:end'>{escape(word)}</text>")
        for x in range(6):
            d.box(72 + 20 * x, 32 + 24 * y, 20, 24, "", ORANGE if y < 2 else BLUE)
    d.text(132, 272, "n words by k numbers", "s")
    d.text(132, 287, "(static, or trained on)", "s")
    for m, (width, color) in enumerate(((2, ORANGE), (3, GREEN), (2, PURPLE))):
        x, rows = 270 + 55 * m, len(words) - width + 1
        for y in range(rows):
            d.box(x, 32 + 12 * m + 20 * y, 24, 20, "", color)
        d.box(480, 70 + 50 * m, 28, 28, "", color)
        d.arrow((x + 24, 32 + 12 * m + 10 * rows), (478, 84 + 50 * m))
        for k in range(2):
            d.line([(508, 84 + 50 * m), (606, 105 + 60 * k)])
    d.arrow((192, 56), (268, 44))
    d.text(340, 272, "feature maps of filters", "s")
    d.text(340, 287, "of 2 and 3 words", "s")
    d.text(494, 272, "max over time", "s")
    for k, name in enumerate(("good", "bad")):
        d.circle(620, 105 + 60 * k, 14, "", GREEN)
        d.text(668, 110 + 60 * k, name, "b")
    d.text(620, 272, "dense, dropout, softmax", "s")
    return d.svg()


def lstm() -> str:
    d = Drawing(680, 300, "An LSTM cell: the state is scaled by the forget gate and added to")
    d.box(110, 25, 460, 210, "", ("#fafbfc", "#8b9199"))
    d.arrow((20, 65), (168, 65))
    d.text(60, 55, "state c", "b")
    d.circle(180, 65, 12, "×", ORANGE)
    d.arrow((192, 65), (338, 65))
    d.circle(350, 65, 12, "+", ORANGE)
    d.arrow((362, 65), (660, 65))
    d.text(620, 55, "new c", "b")
    for x, name in ((180, "forget"), (270, "input"), (350, "values"), (450, "output")):
        d.box(x - 36, 165, 72, 32, name, PURPLE if name == "values" else GREEN)
        d.text(x + 22, 212, "tanh" if name == "values" else "0 to 1", "s")
        d.arrow((x, 255), (x, 199))
    d.arrow((180, 165), (180, 79))
    d.circle(310, 115, 12, "×", ORANGE)
    d.arrow((270, 165), (302, 125))
    d.arrow((350, 165), (318, 125))
    d.arrow((318, 105), (342, 75))
    d.box(490, 90, 54, 28, "tanh", PURPLE)
    d.arrow((517, 65), (517, 88))
    d.circle(517, 150, 12, "×", ORANGE)
    d.arrow((517, 118), (517, 136))
    d.arrow((486, 175), (508, 158))
    d.arrow((529, 150), (660, 150))
    d.text(620, 142, "new h", "b")
    d.line([(20, 255), (450, 255)])
    d.text(60, 247, "h and input x", "b")
    return d.svg()


def pipeline() -> str:
    d = Drawing(
        760, 300, "The full pipeline: input, training and checkpoints run at once, on queues"
    )
    d.box(20, 50, 110, 44, "files,\nreader", GRAY)
    d.box(165, 50, 110, 44, "shuffle\nqueue", ORANGE)
    d.box(310, 50, 110, 44, "decode,\npreprocess", GRAY)
    d.box(455, 50, 110, 44, "input\nqueue", ORANGE)
    d.box(600, 50, 140, 44, "training", BLUE)
    for x in (130, 275, 420, 565):
        d.arrow((x, 72), (x + 33, 72))
    d.box(600, 150, 140, 44, "parameters", PURPLE)
    d.arrow((650, 94), (650, 148))
    d.arrow((690, 150), (690, 96))
    d.text(622, 125, "update", "s")
    d.text(712, 125, "read", "s")
    d.box(400, 150, 130, 44, "periodic\ncheckpoint", GREEN)
    d.arrow((600, 172), (532, 172), dashed=True)
    d.box(200, 150, 140, 44, "distributed\nfile system", GRAY)
    d.arrow((400, 172), (342, 172))
    d.text(360, 240, "Each box is a part of one graph and runs at its own pace;", "s")
    d.text(360, 256, "queues let the faster ones wait, so that the training never does.", "s")
    d.text(360, 280, "after Abadi and others, OSDI 2016, figure 1", "s")
    return d.svg()


FIGURES: dict[str, Callable[[], str]] = {
    "neuron": neuron,
    "deep_network": deep_network,
    "iris": iris,
    "system_layers": system_layers,
    "convolution_and_pooling": convolution_and_pooling,
    "kim": kim,
    "lstm": lstm,
    "pipeline": pipeline,
    **CLUSTER_FIGURES,
}


def main() -> int:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, draw in FIGURES.items():
        (FOLDER / f"{name}.svg").write_text(draw(), encoding="utf-8")
    print(f"{len(FIGURES)} figures in {FOLDER}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
