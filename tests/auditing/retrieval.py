"""A small model that learns to look up values by keys; also a program: ``retrieval.py WEIGHTS [SCALE]``.

Half of a sequence's tokens are pairs of a key and a value, in any order; the other half are keys alone, whose
values are asked for.
"""

import sys
from collections import OrderedDict
from pathlib import Path

import torch
from torch import nn

WIDTH, HEADS, KEYS, VALUES = 64, 4, 24, 8
D = WIDTH // HEADS
ASKED = VALUES
"""Stands for the value of a token that asks for it."""
UNSEEN = 10**6
"""The seed of sequences that no training has seen."""


class Attention(nn.Module):  # type: ignore[misc]  # PyTorch is not checked
    """Attention of several heads; ``scale`` None means 1/√d."""

    def __init__(self, scale: float | None) -> None:
        super().__init__()
        self.scale = scale
        self.projections = nn.ModuleList(nn.Linear(WIDTH, WIDTH, bias=False) for _ in "qkv")
        for one in self.projections:
            # Of unit variance where the tokens are.
            nn.init.normal_(one.weight, std=WIDTH**-0.5)
        self.out = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return one vector for each token of [sequence, token, width]."""
        q, k, v = (one(x).unflatten(-1, (HEADS, D)).transpose(1, 2) for one in self.projections)
        attended = nn.functional.scaled_dot_product_attention(q, k, v, scale=self.scale)
        return self.out(attended.transpose(1, 2).flatten(2))


class Lookup(nn.Module):  # type: ignore[misc]
    """Layers of attention, each after a norm and beside a shortcut, then the logits of the values."""

    def __init__(self, layers: int = 2, scale: float | None = None) -> None:
        super().__init__()
        self.keys, self.values = nn.Embedding(KEYS, WIDTH), nn.Embedding(VALUES + 1, WIDTH)
        self.layers = nn.ModuleList(
            nn.Sequential(
                OrderedDict(norm=nn.LayerNorm(WIDTH, elementwise_affine=False), attention=Attention(scale))
            )
            for _ in range(layers)
        )
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, VALUES)

    def forward(self, keys: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
        """Return logits, shape [sequence, token, value]."""
        x = self.keys(keys) + self.values(values)
        for layer in self.layers:
            x = x + layer(x)
        logits: torch.Tensor = self.head(self.norm(x))
        return logits


def batch(sequences: int, seed: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return keys and values as they are shown, and the values as they are."""
    generator = torch.Generator().manual_seed(seed)
    order = torch.rand((2, sequences, KEYS), generator=generator).argsort(-1)
    table = torch.randint(0, VALUES, (sequences, KEYS), generator=generator)
    keys = torch.cat(tuple(order), 1)
    values = table.gather(1, keys)
    shown = values.clone()
    shown[:, KEYS:] = ASKED
    return keys, shown, values


def loss_of(model: Lookup, sequences: int, seed: int) -> torch.Tensor:
    """Return the cross-entropy of the values asked for, in nats."""
    keys, shown, values = batch(sequences, seed)
    return nn.functional.cross_entropy(model(keys, shown)[:, KEYS:].flatten(0, 1), values[:, KEYS:].flatten())


def unseen(model: Lookup, sequences: int = 64) -> float:
    """Return the loss on sequences that no training has seen."""
    with torch.no_grad():
        return float(loss_of(model, sequences, UNSEEN))


def main(weights: str, scale: str = "") -> None:
    """Run a saved model on sequences that it has not seen."""
    model = Lookup(scale=float(scale) if scale else None)
    model.load_state_dict(torch.load(Path(weights)))
    print(f"loss {unseen(model, 256):.3f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
