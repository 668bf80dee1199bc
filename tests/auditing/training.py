"""An example of a monitor: a training loop in which the logits of one layer begin to grow.

``python -m tests.auditing.training`` prints the alarms, and what looking costs.
"""

import time
from typing import Any, NamedTuple

import torch

import verify
from verify.auditing.monitor import Alarm

functional = torch.nn.functional
GATES = ("largest-score-10000", "entropy:0.3..")


class Attention(torch.nn.Module):  # type: ignore[misc]  # PyTorch is not checked
    """Causal attention of 4 heads."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.project, self.out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)

    def forward(self, x: Any) -> Any:
        """Return what the heads attend to."""
        q, k, v = (one.unflatten(-1, (4, -1)).transpose(1, 2) for one in self.project(x).chunk(3, -1))
        attended = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(attended.transpose(1, 2).flatten(-2))


class Block(torch.nn.Module):  # type: ignore[misc]  # PyTorch is not checked
    """Attention with a residual connection."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm, self.attention = torch.nn.LayerNorm(width), Attention(width)

    def forward(self, x: Any) -> Any:
        """Return x and what it attends to."""
        return x + self.attention(self.norm(x))


class Model(torch.nn.Module):  # type: ignore[misc]  # PyTorch is not checked
    """Two blocks."""

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.blocks = torch.nn.ModuleList(Block(width) for _ in range(2))

    def forward(self, x: Any) -> Any:
        """Return x after both."""
        for block in self.blocks:
            x = block(x)
        return x


class Told(NamedTuple):
    """The alarms of a run, and processor seconds of passes that were looked at and of others."""

    alarms: list[Alarm]
    looked_at: list[float]
    others: list[float]


def blow_up(passes: int = 60, begins: int = 40, every: int = 4) -> Told:
    """Train, and from one pass on double the projection of the second block's queries and keys."""
    torch.manual_seed(0)
    model = Model()
    steps = torch.optim.AdamW(model.parameters(), lr=1e-3)
    monitor = verify.AttentionMonitor(model, every=every, max_sequences=32, gate=GATES)
    told = Told(monitor.alarms, [], [])
    for place in range(passes):
        begun = time.process_time()
        with monitor:
            x = torch.randn(32, 24, 64)
            loss = (model(x) - x.roll(1, dims=1)).square().mean()
        steps.zero_grad()
        loss.backward()
        steps.step()
        (told.others if place % every else told.looked_at).append(time.process_time() - begun)
        if place >= begins:
            with torch.no_grad():
                model.blocks[1].attention.project.weight[:128] *= 2
    return told


if __name__ == "__main__":
    found = blow_up()
    for one in found.alarms[:10]:
        print(f"pass {one.step}, {one.layer}: {one.finding} {one.judgement}: {one.cause}; {one.fix}")
    mean = sum(found.others) / len(found.others)
    look = sum(found.looked_at[1:]) / len(found.looked_at[1:]) - mean
    cost = f"{1e3 * look:.0f} ms more, with every=100 {look / mean:.1f}%"
    print(f"a pass takes {1e3 * mean:.1f} ms, a look {cost}")
