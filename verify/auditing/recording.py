"""What an audit looks at: the attention calls of a program, layer by layer, wherever their arrays are."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from verify.evidence.audits import Origin

Array = Any
"""An array of any library that keeps to the array API standard; files give NumPy's."""


@dataclass(frozen=True)
class Intended:
    """The scale that was meant: an expression in d, h, D and n, and who said so.

    ``where`` names the place in words, such as a key of the model's configuration.
    """

    expression: str
    origin: Origin
    where: str = ""


@dataclass(frozen=True)
class Call:
    """One attention call: what it was given and gave back, arrays of shape [sequence, head, token, d].

    ``key`` and ``value`` may have fewer heads than ``query``, a divisor of their number. ``mask`` is boolean,
    True where a key may be seen, and ``bias`` is added to the scaled scores; both are broadcast to
    [sequence, head, query, key]. ``causal`` stands for the mask of PyTorch's ``is_causal``, aligned at the
    first token. ``scale`` is the factor that the call was given, None where it was given none. ``softcap`` c
    turns a score s into c·tanh(s/c), before bias and mask; ``sink`` is one score a head that takes part in
    the softmax's sum alone. ``dtype`` names what the program computed in where the arrays are kept in a wider
    type, as bfloat16 is in NumPy's float32; it is empty where they have their own.
    """

    query: Array
    key: Array
    value: Array | None = None
    output: Array | None = None
    mask: Array | None = None
    bias: Array | None = None
    causal: bool = False
    scale: float | None = None
    softcap: float | None = None
    sink: Array | None = None
    dtype: str = ""


@dataclass(frozen=True)
class Layer:
    """The calls of one layer by its name in the model; ``calls`` may be read from files as it is run through.

    ``width`` is the model's, D, where it is known; ``backend`` says what computed the attention. ``padded``
    are widths, by a word, that this layer might have taken for d_k, such as a head padded or absorbed.
    """

    name: str
    calls: Iterable[Call]
    intended: Intended | None = None
    width: int | None = None
    backend: str = ""
    padded: Mapping[str, int] = field(default_factory=dict)
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Recording:
    """All layers of a program that were seen; ``left_out`` says what was not, and why."""

    source: str
    layers: Sequence[Layer]
    left_out: Sequence[str] = ()
