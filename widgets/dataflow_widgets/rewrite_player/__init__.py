"""`RewritePlayer`: what pruning and the rewrites make of a graph, one by one."""

from __future__ import annotations

from collections import Counter
from typing import Any

from dataflow_widgets.base import Widget, refuse_unknown
from dataflow_widgets.static.draw import graph_svg
from dataflow_widgets.text_description import plural


class RewritePlayer(Widget):
    """Each rewrite of a run's graph in turn: before, after, the equation, the generated kernel.

    ``RewritePlayer(session, fetches, feed_dict)``, or ``session.explain(fetches).player()``, or a
    session's `Explanation` as the first argument. The first step is pruning.

    What a rewrite saves in ops and bytes is told from the graph. What it saves in time is measured
    when its step is looked at in the page, for half a second at most, in runs that change nothing
    (`Explanation.time_saved`); where that cannot be, the page says why. Nothing else is run.

    Raises what `Session.explain` raises.
    """

    _options = {"title", "height"}

    def __init__(
        self, session: Any, fetches: Any = None, feed_dict: Any = None, **options: Any
    ) -> None:
        refuse_unknown(RewritePlayer, self._options, options)
        if hasattr(session, "explain"):
            session = session.explain(fetches, feed_dict)
        if hasattr(session, "tasks"):
            raise TypeError(
                "RewritePlayer shows a plan of this process, and this run is divided among "
                f"{', '.join(session.tasks)}: session.explain(fetches) shows the code of each "
                "task, Stepper and Timeline show the run. To see the rewrites one by one, explain "
                "the graph in a tf.Session() of this process (without /job: devices)."
            )
        if not hasattr(session, "steps"):
            raise TypeError(
                "RewritePlayer takes a session and fetches, or what session.explain(fetches) "
                f"returns, got {type(session).__name__}"
            )
        self._explanation = session
        self._times: dict[int, dict[str, Any]] = {}
        super().__init__(
            kind="rewrite_player", payload=self._payload(), **({"height": 460} | options)
        )
        self.words = self.describe(limit=40)

    @property
    def explanation(self) -> Any:
        """What `Session.explain` said."""
        return self._explanation

    def describe(self, limit: int = 400) -> str:
        """The rewrites in words: what each does, where, and what comes and goes."""
        told = self._explanation
        num = len(told.graph)
        lines = [
            f"Run of {', '.join(told.fetches) or 'nothing'}: {plural(num, 'node')} in the graph, "
            f"{len(told.after)} left after pruning and {plural(len(told.journal), 'rewrite')}; "
            f"the plan has {plural(len(told.order), 'line')}."
        ]
        alive = {node["name"] for node in told.graph}
        for number, step in enumerate(told.steps[:limit], start=1):
            new = [node["name"] for node in step.put if node["name"] not in alive]
            alive = alive - set(step.removed) | set(new)
            text = f"  {number}. {step.equation}"
            if step.at:
                text += f", at {step.at}"
            if step.num_hits > 1:
                text += f" and {step.num_hits - 1} more"
            text += f": {_names(step.removed)} {'goes' if len(step.removed) == 1 else 'go'}"
            if new:
                text += f", {_names(new)} {'is' if len(new) == 1 else 'are'} new"
            time = self._times.get(number, {})
            if time.get("saved"):
                verb = "saves" if time["saved"] > 0 else "costs"
                text += f", which {verb} {abs(time['saved']) * 1e6:.3g} us of {time['before'] * 1e6:.3g}"
            lines.append(f"{text}; {plural(len(alive), 'node')} left")
        if len(told.steps) > limit:
            lines.append(f"  ... and {len(told.steps) - limit} more")
        counts = Counter(step.equation for step in told.steps)
        repeated = [f"{equation} ({count})" for equation, count in counts.most_common(12)]
        lines.append(f"Hits: {'; '.join(repeated)}.")
        lines += [f"Offer: {o.text} (at {o.node}, built at {o.built_at})." for o in told.offers]
        return "\n".join(lines)

    def _draw(self) -> str:
        """The graph as the plan has it."""
        return graph_svg(self._explanation.after or self._explanation.graph)

    def _payload(self) -> dict[str, Any]:
        told = self._explanation
        return {
            "version": len(told.graph),
            "nodes": told.graph,
            "fetches": told.fetches,
            "feeds": told.feeds,
            "steps": [step._asdict() for step in told.steps],
            "plan": told.source,
            "times": {str(number): time for number, time in self._times.items()},
            "offers": [offer._asdict() for offer in told.offers],
        }

    def _answer(self, question: dict[str, Any]) -> dict[str, Any]:
        if question.get("kind") != "measure":
            return super()._answer(question)
        from dataflow.introspect.rewrite_times import NotMeasured

        number = int(question["step"])
        if number not in self._times:
            try:
                time = self._explanation.time_saved(number)
            except NotMeasured as e:
                self._times[number] = {"reason": str(e)}
            else:
                before, after, saved, pairs = time
                self._times[number] = {
                    "before": before,
                    "after": after,
                    "saved": saved,
                    "pairs": pairs,
                }
            self.words = self.describe(limit=40)
        return self._times[number]

    def _greet(self, version: int, num_runs: int) -> None:
        if version < len(self._explanation.graph):
            self.payload = self._payload()


def _names(names: list[str]) -> str:
    shown = ", ".join(names[:4]) or "nothing"
    return f"{shown} and {len(names) - 4} more" if len(names) > 4 else shown
