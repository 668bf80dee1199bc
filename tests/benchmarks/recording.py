"""What recording costs: a forward pass of a model while it is recorded, over one that is not.

Run by hand: ``python -m tests.benchmarks.recording``. Only ratios within one run on one machine count.
"""

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import torch

import verify

_SEQUENCES, _TOKENS, _WIDTH, _HEADS, _LAYERS = 8, 128, 256, 4, 4


def models() -> Iterator[tuple[str, Any, Callable[[], Any]]]:
    """Yield models of one size by name, each with a forward pass of it."""
    layer = torch.nn.TransformerEncoderLayer(_WIDTH, _HEADS, 4 * _WIDTH, dropout=0.0, batch_first=True)
    encoder = torch.nn.TransformerEncoder(layer, _LAYERS, enable_nested_tensor=False)
    x = torch.randn(_SEQUENCES, _TOKENS, _WIDTH)
    yield "TransformerEncoder, training", encoder.train(), partial(encoder, x)
    yield "TransformerEncoder, fused", encoder.eval(), partial(_without_gradients, encoder, x)
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
        model = transformers.LlamaModel(config).eval()
        words = torch.randint(0, 512, (_SEQUENCES, _TOKENS))
        yield f"Llama, {kind}", model, partial(_without_gradients, model, words)


def _without_gradients(model: Any, given: Any) -> Any:
    with torch.no_grad():
        return model(given)


def seconds(task: Callable[[], Any]) -> float:
    """Return the seconds that a task takes."""
    begun = time.perf_counter()
    task()
    return time.perf_counter() - begun


def in_memory(model: Any, forward: Callable[[], Any]) -> None:
    """Run a forward pass that is recorded in memory."""
    with verify.record(model):
        forward()


def in_a_folder(model: Any, forward: Callable[[], Any]) -> None:
    """Run a forward pass that is recorded in a folder."""
    folder = Path(tempfile.mkdtemp())
    try:
        with verify.record(model, out=folder):
            forward()
    finally:
        shutil.rmtree(folder)


def ratios(times: int = 9) -> Iterator[tuple[str, float, float, float]]:
    """Yield for each model its seconds, and the medians of the ratios in memory and in a folder.

    Plain and recorded passes take turns, so that a change of the machine's load meets both.
    """
    for name, model, forward in models():
        forward()
        in_memory(model, forward)
        plain, memory, folder = [], [], []
        for _ in range(times):
            plain.append(seconds(forward))
            memory.append(seconds(partial(in_memory, model, forward)) / plain[-1])
            folder.append(seconds(partial(in_a_folder, model, forward)) / plain[-1])
        yield name, median(plain), median(memory), median(folder)


def main() -> None:
    """Print a table."""
    print(f"{_LAYERS} layers, {_SEQUENCES} sequences of {_TOKENS} tokens, width {_WIDTH}, {_HEADS} heads")
    print("| model | forward pass, s | recorded in memory | in a folder |")
    print("|---|---|---|---|")
    for name, plain, memory, folder in ratios():
        print(f"| {name} | {plain:.3f} | {memory:.2f}x | {folder:.2f}x |", flush=True)


if __name__ == "__main__":
    main()
