"""What recording costs once it is full: steps of small models while they are recorded, over plain ones.

Run by hand: ``OMP_NUM_THREADS=1 python -m tests.benchmarks.recording``. Only ratios within one run on one
machine count; plain and recorded steps take turns, so that a change of the machine's load meets both.
"""

import time
from collections.abc import Callable, Iterator
from functools import partial
from statistics import median
from typing import Any

import torch

import verify

_SEQUENCES, _TOKENS, _WIDTH, _HEADS, _LAYERS = 8, 32, 64, 4, 4
_STEPS, _TURNS, _UNTIL_FULL = 25, 9, 12


def models() -> Iterator[tuple[str, Any, Any]]:
    """Yield models of one size by name, each with what it is given."""
    layer = torch.nn.TransformerEncoderLayer(_WIDTH, _HEADS, 4 * _WIDTH, dropout=0.0, batch_first=True)
    encoder = torch.nn.TransformerEncoder(layer, _LAYERS, enable_nested_tensor=False)
    yield "TransformerEncoder", encoder, torch.randn(_SEQUENCES, _TOKENS, _WIDTH)
    try:
        import transformers  # noqa: PLC0415 - an extra
    except ImportError:
        return
    for kind in ("eager", "sdpa"):
        config = transformers.LlamaConfig(
            vocab_size=512,
            hidden_size=_WIDTH,
            intermediate_size=4 * _WIDTH,
            num_hidden_layers=_LAYERS,
            num_attention_heads=_HEADS,
            num_key_value_heads=_HEADS,
        )
        config._attn_implementation = kind
        words = torch.randint(0, 512, (_SEQUENCES, _TOKENS))
        yield f"Llama, {kind}", transformers.LlamaModel(config), words


def step(model: Any, given: Any, *, trains: bool) -> None:
    """Run the model forward, and backward where it trains."""
    with torch.set_grad_enabled(trains):
        out = model(given)
        if trains:
            (out if isinstance(out, torch.Tensor) else out[0]).square().mean().backward()


def seconds(task: Callable[[], None]) -> float:
    """Return the processor time of a task, which is done several times."""
    begun = time.process_time()
    for _ in range(_STEPS):
        task()
    return (time.process_time() - begun) / _STEPS


def main() -> None:
    """Print a table."""
    print(f"{_LAYERS} layers, {_SEQUENCES} sequences of {_TOKENS} tokens, width {_WIDTH}, {_HEADS} heads")
    print("| model | step, ms | recorded, full |")
    print("|---|---|---|")
    for name, model, given in models():
        for trains in (True, False):
            task = partial(step, model.train(trains), given, trains=trains)
            seconds(task)
            plain, ratios = [], []
            for _ in range(_TURNS):
                plain.append(seconds(task))
                with verify.record(model, max_sequences=1):
                    for _ in range(_UNTIL_FULL):
                        task()
                    ratios.append(seconds(task) / plain[-1])
            what = "training" if trains else "forward"
            print(f"| {name}, {what} | {1000 * median(plain):.2f} | {median(ratios):.3f}x |", flush=True)


if __name__ == "__main__":
    main()
