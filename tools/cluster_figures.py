"""The figures of the seed documents that show devices, servers and clusters."""

from __future__ import annotations

from collections.abc import Callable

from tools.drawing import BLUE, GRAY, GREEN, ORANGE, PURPLE, Drawing

_FRAME = ("#fafbfc", "#8b9199")


def _devices(d: Drawing, x: float, y: float, names: tuple[str, ...]) -> None:
    """Devices side by side, each 56 wide."""
    for i, name in enumerate(names):
        d.box(x + 62 * i, y, 56, 26, name, PURPLE)


def single_and_cluster() -> str:
    d = Drawing(760, 300, "A single machine has all in one process; a cluster, one process each")
    d.box(15, 30, 240, 215, "", _FRAME)
    d.text(135, 20, "single machine", "b")
    d.text(135, 50, "one process", "s")
    d.box(35, 60, 200, 34, "client", GREEN)
    d.arrow((135, 94), (135, 118))
    d.text(182, 110, "session.run", "s")
    d.box(35, 120, 95, 34, "master", BLUE)
    d.box(140, 120, 95, 34, "worker", ORANGE)
    d.arrow((188, 154), (188, 188))
    _devices(d, 45, 190, ("CPU:0", "GPU:0", "GPU:1"))
    d.text(507, 20, "cluster", "b")
    for x, y, name, color in (
        (290, 110, "client", GREEN),
        (420, 110, "master", BLUE),
        (560, 35, "worker 0", ORANGE),
        (560, 110, "worker 1", ORANGE),
        (560, 185, "worker 2", ORANGE),
    ):
        d.box(x, y, 105, 50, "", _FRAME)
        d.box(x + 8, y + 8, 89, 34, name, color)
    d.arrow((395, 135), (418, 135))
    d.text(407, 180, "session.run", "s")
    for y in (60, 135, 210):
        d.arrow((525, 135), (558, y))
        _devices(d, 680, y - 13, ("GPU:0",))
    d.text(380, 270, "Left, calls between functions; right, messages between processes.", "s")
    d.text(380, 286, "The graph and the program are the same.", "s")
    return d.svg()


def two_programs() -> str:
    d = Drawing(760, 330, "Two programs on one machine, and one program on two machines")
    d.box(20, 35, 330, 225, "", _FRAME)
    d.text(185, 24, "one machine, two programs", "b")
    for x, words in ((40, "program 1\nsession"), (200, "program 2\nsession")):
        d.box(x, 55, 130, 46, words, GREEN)
    for i, name in enumerate(("CPU:0", "CPU:1", "GPU:0")):
        d.box(50 + 98 * i, 190, 74, 34, name, PURPLE)
    for start, ends in ((105, (87, 185)), (265, (185, 283))):
        for end in ends:
            d.arrow((start, 101), (end, 188))
    d.text(185, 248, "each may use every device; they share no variable", "s")
    d.text(575, 24, "two machines, one program", "b")
    d.box(510, 45, 130, 36, "session", GREEN)
    for x, name in ((400, "machine A"), (590, "machine B")):
        d.box(x, 105, 150, 155, "", _FRAME)
        d.text(x + 75, 250, name, "b")
    d.box(412, 120, 126, 34, "beta: variable", BLUE)
    d.box(602, 120, 126, 34, "y = matmul", ORANGE)
    d.box(438, 195, 74, 34, "CPU:1", PURPLE)
    d.box(628, 195, 74, 34, "GPU:0", PURPLE)
    d.arrow((475, 154), (475, 193))
    d.arrow((665, 154), (665, 193))
    d.arrow((545, 81), (490, 118), dashed=True)
    d.arrow((605, 81), (650, 118), dashed=True)
    d.arrow((538, 137), (600, 137))
    d.text(570, 175, "Send, Recv", "s")
    d.text(380, 285, "Dashed: parts of the graph. Solid: the tensor beta travels,", "s")
    d.text(380, 301, "as one part reads what the other part keeps.", "s")
    return d.svg()


def server() -> str:
    d = Drawing(760, 312, "A server has a master service, asked by clients, and a worker service")
    d.box(20, 40, 130, 46, "client 1", GREEN)
    d.box(20, 170, 130, 46, "client 2", GREEN)
    for y, name, down, tall in (
        (25, "server of /job:ps/task:0", 20, 105),
        (155, "server of /job:worker/task:0", 105, 115),
    ):
        d.box(260, y, 330, tall, "", _FRAME)
        d.text(425, y + down, name, "b")
        d.box(275, y + 36, 145, 50, "master service\n= Session", BLUE)
        d.box(430, y + 36, 145, 50, "worker service", ORANGE)
    d.arrow((150, 63), (273, 80))
    d.arrow((150, 80), (273, 205))
    d.arrow((150, 193), (273, 216))
    d.arrow((420, 86), (428, 86))
    d.arrow((420, 216), (428, 216))
    d.arrow((405, 189), (440, 114), dashed=True)
    _devices(d, 630, 73, ("CPU:0",))
    _devices(d, 630, 203, ("CPU:0", "GPU:0"))
    d.arrow((575, 86), (628, 86))
    d.arrow((575, 216), (628, 216))
    d.text(200, 45, "graph, run", "s")
    d.text(
        380, 290, "One client may ask several servers, and one server have several clients.", "s"
    )
    d.text(380, 305, "Dashed: a master hands parts of a graph to every worker service.", "s")
    return d.svg()


def job_task_cluster() -> str:
    d = Drawing(760, 300, "A cluster is jobs, a job is tasks, and each task is a server")
    d.box(15, 30, 730, 220, "", ("#ffffff", "#6b7178"))
    d.text(380, 20, "cluster", "b")
    for x, w, name, color in ((30, 230, "job ps", BLUE), (285, 445, "job worker", ORANGE)):
        d.box(x, 45, w, 190, "", (_FRAME[0], color[1]))
        d.text(x + w / 2, 66, name, "b")
    tasks = [(45 + 105 * i, i, BLUE) for i in range(2)] + [
        (305 + 140 * i, i, ORANGE) for i in range(3)
    ]
    for x, i, color in tasks:
        w = 95 if color is BLUE else 125
        d.box(x, 80, w, 140, "", color)
        d.text(x + w / 2, 100, f"task {i}", "b")
        d.box(x + 8, 112, w - 16, 30, "master", GRAY)
        d.box(x + 8, 147, w - 16, 30, "worker", GRAY)
        d.text(x + w / 2, 200, "host:port", "s")
    d.text(380, 275, "Jobs share a purpose, here to keep variables and to compute. A task is", "s")
    d.text(380, 290, "a place in a job: /job:worker/task:2. What a job is for is a custom.", "s")
    return d.svg()


def data_parallelism() -> str:
    d = Drawing(760, 310, "Data parallelism, synchronous and asynchronous")
    for left, title in ((10, "synchronous"), (390, "asynchronous")):
        d.text(left + 180, 20, title, "b")
        d.box(left + 95, 35, 170, 38, "parameters", BLUE)
        for i in range(3):
            x = left + 15 + 120 * i
            d.box(x, 180, 105, 38, f"worker {i}", ORANGE)
            d.box(x, 245, 105, 28, f"data {i}", GRAY)
            d.arrow((x + 52, 245), (x + 52, 220))
    d.box(105, 105, 170, 34, "average: wait for all", GREEN)
    d.arrow((190, 105), (190, 75))
    for i in range(3):
        x = 67 + 120 * i + 10
        d.arrow((x, 180), (190 + 40 * (i - 1), 141))
        x = 390 + 67 + 120 * i
        d.arrow((x - 10, 180), (570 + 55 * (i - 1) - 8, 75))
        d.arrow((570 + 55 * (i - 1) + 8, 73), (x + 12, 178), dashed=True)
    d.text(190, 298, "one step for all: the slowest sets the pace", "s")
    d.text(570, 298, "each by itself: gradients may be stale", "s")
    d.text(718, 110, "dashed: read", "s")
    d.text(424, 110, "gradients", "s")
    return d.svg()


def replication() -> str:
    d = Drawing(760, 330, "In-graph replication: one client; between-graph: a client each")
    for left, title in ((10, "in-graph"), (390, "between-graph")):
        d.text(left + 180, 20, title, "b")
        d.box(left + 5, 128, 350, 150, "", _FRAME)
        d.box(left + 110, 140, 140, 34, "ps: variables", BLUE)
        for i in range(3):
            x = left + 15 + 115 * i
            d.box(x, 225, 105, 42, f"worker {i}\ncopy {i}", ORANGE)
            d.arrow((left + 180 + 34 * (i - 1), 176), (x + 48, 223))
            d.arrow((x + 60, 223), (left + 188 + 34 * (i - 1), 176), dashed=True)
    d.box(120, 35, 140, 46, "one client\none graph", GREEN)
    d.arrow((190, 81), (190, 126))
    d.text(262, 108, "all copies, one step", "s")
    for i in range(3):
        x = 405 + 115 * i
        d.box(x, 35, 105, 46, f"client {i}\ngraph {i}", GREEN)
        d.arrow((x + 52, 81), (x + 52, 126))
    d.text(190, 300, "parts of one graph, sent to all workers", "s")
    d.text(570, 300, "one copy and the variables each, with steps of its own", "s")
    d.text(380, 320, "Solid: parameters are read. Dashed: gradients.", "s")
    return d.svg()


def workshop_cluster() -> str:
    d = Drawing(760, 290, "The workshop's cluster: notebook, TensorBoard, master, ps and workers")
    d.box(165, 20, 580, 225, "", _FRAME)
    d.text(455, 40, "Kubernetes", "b")
    d.text(70, 62, "browser", "b")
    d.box(10, 75, 122, 36, "notebook page", GRAY)
    d.box(10, 165, 122, 36, "TensorBoard", GRAY)
    d.box(185, 65, 130, 56, "jupyter-server\n= client", GREEN)
    d.box(185, 155, 130, 56, "tensorboard-\nserver", GREEN)
    d.arrow((132, 93), (183, 93))
    d.arrow((132, 183), (183, 183))
    d.text(139, 138, "ingress", "s")
    d.box(345, 65, 150, 56, "tensorflow-worker\n= master", BLUE)
    d.arrow((315, 93), (343, 93))
    for i, name in enumerate(("ps-0", "ps-1")):
        d.box(515 + 110 * i, 65, 95, 56, name, PURPLE)
    for i, name in enumerate(("worker-0", "worker-1", "...", "worker-14")):
        d.box(350 + 97 * i, 165, 88, 40, name, ORANGE)
        d.arrow((420, 121), (394 + 97 * i, 163))
        d.arrow((400 + 97 * i, 165), ((545, 580, 655, 690)[i], 123), dashed=True)
    d.text(
        380, 268, "An ingress lets a browser in. Dashed: gradients; the way back is the same.", "s"
    )
    return d.svg()


CLUSTER_FIGURES: dict[str, Callable[[], str]] = {
    "single_and_cluster": single_and_cluster,
    "two_programs": two_programs,
    "server": server,
    "job_task_cluster": job_task_cluster,
    "data_parallelism": data_parallelism,
    "replication": replication,
    "workshop_cluster": workshop_cluster,
}
