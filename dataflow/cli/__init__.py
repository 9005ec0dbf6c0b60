"""The `dataflow` command: `dataflow lab`, `run`, `doctor`, `course` and `class`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

__all__ = ["COMMANDS", "main"]

#: What the first word of the command line may be.
COMMANDS = ("lab", "run", "doctor", "course", "class", "-h", "--help")


def build_parser() -> argparse.ArgumentParser:
    """The command line, as argparse sees it."""
    parser = argparse.ArgumentParser(
        prog="dataflow",
        description="A graph-mode machine learning system to look into, beside a notebook cell.",
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    _add_lab(commands)
    _add_run(commands)
    _add_doctor(commands)
    _add_course(commands)
    _add_class(commands)
    return parser


def _add_lab(commands: Any) -> None:
    lab = commands.add_parser(
        "lab",
        allow_abbrev=False,  # --p is JupyterLab's business, not short for --port
        help="open the lessons in JupyterLab",
        description="Start JupyterLab on a copy of the lessons: my-lessons/ in a checkout, else FOLDER. The "
        "copy gets the course's corrections, and what you typed and answered stays.",
        epilog="Anything else is handed to JupyterLab, for example --ip=0.0.0.0 or "
        "--IdentityProvider.token=secret.",
    )
    lab.add_argument(
        "folder",
        nargs="?",
        help="where the lessons are copied to (default: ./dataflow-lessons); in a checkout, a folder to "
        "open as it is, such as lessons (default: the copy my-lessons)",
    )
    lab.add_argument("--port", type=int, help="port to listen on (default: 8888 or the next free)")
    lab.add_argument(
        "--cluster", metavar="ADDRESS", help="address of a Ray cluster the lessons should use"
    )
    lab.add_argument("--no-browser", action="store_true", help="print the URL, open nothing")


def _add_run(commands: Any) -> None:
    run = commands.add_parser(
        "run",
        allow_abbrev=False,
        help="run a TensorFlow 1 program, a script or a notebook, as it stands",
        description="Run a program that was written for TensorFlow 1: its `import tensorflow` gives "
        "this engine, in this run alone. See lessons/tensorflow1.md.",
        usage="dataflow run [-h] [--python2] [--graph] [--page FILE] [--no-browser] PROGRAM [ARGUMENT ...]",
    )
    run.add_argument(
        "--python2", action="store_true", help="translate print statements, xrange and their like"
    )
    run.add_argument(
        "--graph", action="store_true", help="then open the graph that it built, as a page"
    )
    run.add_argument(
        "--page",
        metavar="FILE",
        help="where --graph writes the page (default: PROGRAM_graph.html in the current folder)",
    )
    run.add_argument("--no-browser", action="store_true", help="write the page, open nothing")
    run.add_argument("program", metavar="PROGRAM", help="script.py or notebook.ipynb")
    run.add_argument(
        "arguments", nargs=argparse.REMAINDER, metavar="ARGUMENT", help="handed to the program"
    )


def _add_doctor(commands: Any) -> None:
    doctor = commands.add_parser(
        "doctor",
        help="say what this machine has, and what to do about what is missing",
        description="Say what this machine has, and what to do about what is missing.",
    )
    doctor.add_argument("--json", action="store_true", help="print a JSON object instead of text")


def _add_course(commands: Any) -> None:
    course = commands.add_parser(
        "course",
        help="for teachers: who did what, and a copy of the lessons without solutions",
        description="Read or copy the notebooks of a class. Nothing is run, and nothing is sent anywhere.",
    )
    actions = course.add_subparsers(dest="action", required=True, metavar="ACTION")
    report = actions.add_parser(
        "report",
        help="list exercises and questions: right, not yet, not tried",
        description="List what each learner did, from the saved notebooks under FOLDER: one "
        "folder for each learner, or one notebook for each. FOLDER may be that of `dataflow class`.",
    )
    report.add_argument("folder", metavar="FOLDER", help="where the notebooks are")
    forms = report.add_mutually_exclusive_group()
    forms.add_argument("--csv", action="store_true", help="print a line per task as CSV")
    forms.add_argument(
        "--nbgrader", action="store_true", help="print CSV as `nbgrader export` writes it"
    )
    forms.add_argument(
        "--moodle", action="store_true", help="print CSV for Moodle's import of grades, in percent"
    )
    forms.add_argument(
        "--by-task",
        action="store_true",
        help="print a line for each question and exercise: how many were wrong at first, and what most said",
    )
    strip = actions.add_parser(
        "strip",
        help="copy the lessons without their solutions",
        description="Copy the lessons under FOLDER to a new folder TO for students: without solutions, "
        "outputs and answers. Nothing is overwritten.",
    )
    strip.add_argument("folder", metavar="FOLDER", help="where the lessons are")
    strip.add_argument("to", metavar="TO", help="the folder to be made")
    _add_variants(actions)


def _add_variants(actions: Any) -> None:
    variants = actions.add_parser(
        "variants",
        help="copy the lessons with other numbers, graphs and names, by seed, for each learner",
        description="Copy the lessons under FOLDER to a new folder TO, with numbers, graphs, names and the order "
        "of choices drawn from a seed, and without solutions. Checks, hints and right answers follow.",
        epilog="With --learners each gets a folder with a variant of their own, and TO/variants.csv lists who has "
        "which seed. The same names and the same --seed give the same copies.",
    )
    variants.add_argument("folder", metavar="FOLDER", help="where the lessons are")
    variants.add_argument("to", metavar="TO", help="the folder to be made")
    variants.add_argument(
        "--seed",
        type=int,
        default=None,
        metavar="N",
        help="a whole number; 0 is the lessons as they ship (default: 1, with --learners 0)",
    )
    variants.add_argument(
        "--learners", metavar="CSV", help='a class list: its column "name", or one name a line'
    )
    variants.add_argument(
        "--solutions",
        action="store_true",
        help="keep the solutions: the teacher's copy of --seed N",
    )


def _add_class(commands: Any) -> None:
    room = commands.add_parser(
        "class",
        help="for teachers: show on the projector how a class answers, live, and collect notebooks",
        description="Start the server of a class: learners join with a code, "
        '`dataflow.course.join("http://HOST:PORT", "CODE")` in a lesson, and a page for the projector shows how '
        "many answered what. Ctrl+C ends it. Started again on the same DIR it goes on, with the same code; "
        "nothing that was acknowledged is lost.",
        epilog="It listens on this machine only unless --host says otherwise: --host 0.0.0.0 lets a room's "
        "machines join. It speaks HTTP without encryption, so do that in a network that you trust. Notebooks "
        "that are handed in are read and kept, and never run. `dataflow course report DIR` prints the report.",
    )
    room.add_argument(
        "--port", type=int, default=8899, help="port to listen on (default: 8899; 0: any)"
    )
    room.add_argument(
        "--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1)"
    )
    room.add_argument(
        "--data",
        metavar="DIR",
        default="dataflow-class",
        help="where the class is kept (default: ./dataflow-class)",
    )
    room.add_argument(
        "--lessons",
        metavar="FOLDER",
        help="the lessons whose questions may be answered (default: the course's)",
    )
    room.add_argument(
        "--site",
        metavar="FOLDER",
        help="a built site (`make site`) to serve at /site/: nothing to install",
    )
    room.add_argument("--no-browser", action="store_true", help="print the addresses, open nothing")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the return value is the exit status."""
    parser = build_parser()
    options, extra = parser.parse_known_args(sys.argv[1:] if arguments is None else arguments)
    if options.command is None and not extra:
        parser.print_help()
        return 0
    if options.command == "lab":
        from dataflow.cli.lab import run_lab

        return run_lab(
            folder=options.folder,
            port=options.port,
            cluster=options.cluster,
            no_browser=options.no_browser,
            extra=[argument for argument in extra if argument != "--"],
        )
    if options.command == "run":
        from dataflow.cli.run import run

        return run(
            options.program,
            options.arguments,
            python2=options.python2,
            graph=options.graph,
            page=options.page,
            no_browser=options.no_browser,
        )
    if extra:
        parser.error(f"unrecognized arguments: {' '.join(extra)}")
    if options.command == "course":
        if options.action == "strip":
            return _run_strip(options.folder, options.to)
        if options.action == "variants":
            if options.learners and options.solutions:
                parser.error("--solutions is for one variant: give --seed N, from variants.csv")
            return _run_variants(options)
        forms = [f for f in ("csv", "by_task", "nbgrader", "moodle") if getattr(options, f)]
        return _run_report(options.folder, forms[0] if forms else "")
    if options.command == "class":
        from dataflow.cli.classroom import run_class

        return run_class(
            port=options.port,
            host=options.host,
            data=options.data,
            lessons=options.lessons,
            site=options.site,
            no_browser=options.no_browser,
        )
    from dataflow.cli.doctor import run_doctor

    return run_doctor(as_json=options.json)


def _run_strip(folder: str, to: str) -> int:
    from pathlib import Path

    from dataflow.course.strip import strip_folder

    try:
        made = strip_folder(Path(folder), Path(to))
    except (OSError, ValueError) as e:
        print(f"dataflow course strip: {e}", file=sys.stderr)
        return 2
    print(f"{len(made)} notebooks without solutions in {to}")
    return 0


def _run_variants(options: Any) -> int:
    from pathlib import Path

    from dataflow.course.variants import copies

    folder, to = Path(options.folder), Path(options.to)
    try:
        if options.learners:
            learners = copies.read_learners(Path(options.learners))
            seeds = copies.write_variants(folder, to, learners, options.seed or 0)
            told = (
                f"{len(seeds)} learners, each with a variant in {to}; {copies.SEEDS} has the seeds"
            )
        else:
            seed = 1 if options.seed is None else options.seed
            made = copies.write_variant(folder, to, seed, options.solutions)
            told = f"{len(made)} notebooks of the variant {seed} in {to}"
    except (OSError, ValueError) as e:
        print(f"dataflow course variants: {e}", file=sys.stderr)
        return 2
    print(told)
    return 0


def _run_report(folder: str, form: str) -> int:
    from dataflow.course import gradebooks, report

    try:
        found = report(folder)
    except (NotADirectoryError, ValueError) as e:
        print(f"dataflow course report: {e}", file=sys.stderr)
        return 2
    if form == "by_task":
        print("\n".join(map(str, found.by_task())) or "Nothing was tried yet.")
    elif form:
        written = {
            "csv": found.to_csv,
            "nbgrader": lambda: gradebooks.to_nbgrader(found),
            "moodle": lambda: gradebooks.to_moodle(found),
        }
        print(written[form](), end="")
    else:
        print(found)
    return 0
