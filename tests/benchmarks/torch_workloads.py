"""The two convolutional workloads in PyTorch (eager), with the same sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def _labels(torch: Any, rng: Any, batch: int, classes: int) -> Any:
    return torch.from_numpy(rng.integers(0, classes, batch))


def cnn(torch: Any) -> Callable[[], Any]:
    """Deep MNIST for experts."""
    nn = torch.nn
    model = nn.Sequential(
        nn.Conv2d(1, 32, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(7 * 7 * 64, 1024),
        nn.ReLU(),
        nn.Dropout(0.5),
        nn.Linear(1024, 10),
    )
    rng = np.random.default_rng(0)
    x = torch.from_numpy(rng.random((50, 1, 28, 28), dtype=np.float32))
    return _trainer(torch, model, x, _labels(torch, rng, 50, 10), 1e-4)


def text_cnn(torch: Any) -> Callable[[], Any]:
    """Kim's sentence CNN."""
    nn = torch.nn

    class Net(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(18_000, 128)
            self.convs = nn.ModuleList(nn.Conv1d(128, 128, w) for w in (3, 4, 5))
            self.out = nn.Linear(384, 2)

        def forward(self, x: Any) -> Any:
            e = self.embedding(x).transpose(1, 2)
            return self.out(torch.cat([torch.relu(c(e)).amax(2) for c in self.convs], 1))

    rng = np.random.default_rng(0)
    x = torch.from_numpy(rng.integers(0, 18_000, (64, 56)))
    return _trainer(torch, Net(), x, _labels(torch, rng, 64, 2), 1e-3)


def _trainer(torch: Any, model: Any, x: Any, y: Any, lr: float) -> Callable[[], Any]:
    optimizer = torch.optim.Adam(model.parameters(), lr)
    loss_function = torch.nn.CrossEntropyLoss()

    def step() -> float:
        optimizer.zero_grad()
        loss = loss_function(model(x), y)
        loss.backward()
        optimizer.step()
        return float(loss)

    return step


WORKLOADS = {"cnn": cnn, "text_cnn": text_cnn}
