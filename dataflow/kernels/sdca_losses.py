"""Losses of linear models and their duals, example by example (Shalev-Shwartz and Zhang, 2013).

Each has the label that it works with, the new dual variable of an example, both losses, and how far the
primal one is from smooth. ``norm``: the example's squared norm over the L2 weight; ``parts``: how many solvers
share the loss.
"""

from __future__ import annotations

import math


class Loss:
    """What the solver asks of a loss."""

    #: 1 / smoothness: 0 for a loss with an edge.
    smoothness = 1.0

    def label(self, label: float) -> float:
        """The label as the formulas have it; `ValueError` for one that the loss does not know."""
        return label

    def dual(
        self, label: float, weight: float, dual: float, wx: float, norm: float, parts: int
    ) -> float:
        """The dual variable that is best while all others stay."""
        raise NotImplementedError

    def primal_loss(self, wx: float, label: float, weight: float) -> float:
        """The weighted loss at the prediction ``wx``."""
        raise NotImplementedError

    def dual_loss(self, dual: float, label: float, weight: float) -> float:
        """The weighted conjugate at the dual variable."""
        raise NotImplementedError

    def slope(self, wx: float, label: float) -> float:
        """The derivative of the loss by the prediction."""
        raise NotImplementedError


def _two_classes(label: float) -> float:
    if label not in (0.0, 1.0):
        raise ValueError(
            "Only labels of 0.0 or 1.0 are supported right now. "
            f"Found example with label: {label:g}"
        )
    return 2.0 * label - 1.0


class Logistic(Loss):
    smoothness = 4.0

    def label(self, label: float) -> float:
        return _two_classes(label)

    def dual(
        self, label: float, weight: float, dual: float, wx: float, norm: float, parts: int
    ) -> float:
        # Newton's method on x = artanh(2 * dual * label - 1), which is not bounded.
        x = 0.0
        scale = parts * norm * weight
        for _ in range(10):
            t = math.tanh(x)
            above = -2 * label * x - wx - scale * (0.5 * (1 + t) / label - dual)
            below = -2 * label - scale * (1 - t * t) * 0.5 / label
            x -= above / below
        return 0.5 * (1 + math.tanh(x)) / label

    def primal_loss(self, wx: float, label: float, weight: float) -> float:
        margin = label * wx
        if margin > 0:
            return math.log1p(math.exp(-margin)) * weight
        return (math.log1p(math.exp(margin)) - margin) * weight

    def dual_loss(self, dual: float, label: float, weight: float) -> float:
        a = dual * label
        return (_entropy(a) + _entropy(1 - a)) * weight

    def slope(self, wx: float, label: float) -> float:
        margin = label * wx
        if margin > 0:
            inverse = math.exp(-margin)
            return -inverse / (1 + inverse) * label
        return -label / (1 + math.exp(margin))


def _entropy(x: float) -> float:
    return x * math.log(x) if x > 0 else 0.0


class Squared(Loss):
    def dual(
        self, label: float, weight: float, dual: float, wx: float, norm: float, parts: int
    ) -> float:
        return dual + (label - dual - wx) / (1 + parts * norm * weight)

    def primal_loss(self, wx: float, label: float, weight: float) -> float:
        return (wx - label) ** 2 * weight * 0.5

    def dual_loss(self, dual: float, label: float, weight: float) -> float:
        return dual * (0.5 * dual - label) * weight

    def slope(self, wx: float, label: float) -> float:
        return wx - label


class SmoothHinge(Loss):
    """A hinge whose edge is a parabola over the width `smoothness`."""

    def label(self, label: float) -> float:
        return _two_classes(label)

    def dual(
        self, label: float, weight: float, dual: float, wx: float, norm: float, parts: int
    ) -> float:
        gamma = self.smoothness
        below = parts * weight * norm + gamma
        # Without a weight, or without features, a hinge has nothing that pulls back.
        free = dual + (label - wx - gamma * dual) / below if below else label * math.inf
        return label * min(max(label * free, 0.0), 1.0)

    def primal_loss(self, wx: float, label: float, weight: float) -> float:
        margin, gamma = label * wx, self.smoothness
        if margin >= 1:
            return 0.0
        if margin <= 1 - gamma:
            return (1 - margin - gamma / 2) * weight
        return (1 - margin) ** 2 * weight * 0.5 / gamma

    def dual_loss(self, dual: float, label: float, weight: float) -> float:
        a = dual * label
        if not 0 <= a <= 1:
            return float("inf")
        return (-a + 0.5 * self.smoothness * dual * dual) * weight

    def slope(self, wx: float, label: float) -> float:
        margin, gamma = label * wx, self.smoothness
        if margin >= 1:
            return 0.0
        return -label if margin <= 1 - gamma else (wx - label) / gamma


class Hinge(SmoothHinge):
    smoothness = 0.0


class Poisson(Loss):
    def label(self, label: float) -> float:
        if label < 0:
            raise ValueError(
                "Only non-negative labels can be used with the Poisson log loss. "
                f"Found example with label: {label:g}"
            )
        return label

    def dual(
        self, label: float, weight: float, dual: float, wx: float, norm: float, parts: int
    ) -> float:
        # Newton's method on x = log(label - dual).
        x = 0.0
        scale = parts * norm * weight
        for _ in range(10):
            e = math.exp(x)
            x -= (x - wx - scale * (label - dual - e)) / (1 + scale * e)
        return label - math.exp(x)

    def primal_loss(self, wx: float, label: float, weight: float) -> float:
        return (math.exp(wx) - wx * label) * weight

    def dual_loss(self, dual: float, label: float, weight: float) -> float:
        rest = label - dual
        if rest < 0:
            return float("inf")
        return (rest * (math.log(rest) - 1) if rest else 0.0) * weight

    def slope(self, wx: float, label: float) -> float:
        return math.exp(wx) - label


LOSSES: dict[str, Loss] = {
    "logistic_loss": Logistic(),
    "squared_loss": Squared(),
    "hinge_loss": Hinge(),
    "smooth_hinge_loss": SmoothHinge(),
    "poisson_loss": Poisson(),
}
