"""Small random models of many architectures of transformers, for recordings and audits of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from math import log
from typing import Any

_BODY = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}
_TOKENS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
_SIZES = _BODY | _TOKENS | {"vocab_size": 64, "max_position_embeddings": 64}
GROUPED = _SIZES | {"num_key_value_heads": 2}
_DROPOUTS = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
_VISION = _BODY | {"image_size": 16, "patch_size": 4}
SEQ2SEQ = (
    {f"{side}_{size}": n for side in ("encoder", "decoder") for size, n in (("layers", 2), ("ffn_dim", 48))}
    | {"vocab_size": 64, "d_model": 32, "encoder_attention_heads": 4, "decoder_attention_heads": 4}
    | _TOKENS
    | {"max_position_embeddings": 64, "decoder_start_token_id": 1, "forced_eos_token_id": 2}
)
_T5 = {"vocab_size": 64, "d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_decoder_layers": 2}
_T5 |= {"num_heads": 4, "decoder_start_token_id": 0, "pad_token_id": 0}
_GPT2 = {"vocab_size": 64, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64}
_LATENT = (
    _SIZES
    | {"num_key_value_heads": 4, "q_lora_rank": 16, "kv_lora_rank": 16}
    | {"qk_nope_head_dim": 8, "qk_rope_head_dim": 4, "v_head_dim": 8}
    | {"n_routed_experts": 4, "num_experts_per_tok": 2, "n_group": 1, "topk_group": 1, "n_shared_experts": 1}
    | {"moe_intermediate_size": 16, "first_k_dense_replace": 1}
)
_YARN = {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 40.0, "mscale": 1.0, "mscale_all_dim": 1.0}
_YARN |= {"beta_fast": 32, "beta_slow": 1, "original_max_position_embeddings": 16}
_WAVES = (
    _BODY
    | {"vocab_size": 32, "conv_dim": (16, 16), "conv_stride": (4, 4), "conv_kernel": (8, 4)}
    | {"num_conv_pos_embeddings": 4, "num_conv_pos_embedding_groups": 2, "num_feat_extract_layers": 2}
)


@dataclass(frozen=True)
class Architecture:
    """A model of transformers by the name that its classes begin with, its small configuration, and inputs.

    ``scale`` is what its calls are given, where it is not 1/√d.
    """

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)
    inputs: str = "tokens"
    kinds: tuple[str, ...] = ("eager", "sdpa")
    scale: float | None = None


_eager, _unscaled = partial(Architecture, kinds=("eager",)), partial(Architecture, scale=1.0)
_GEMMA = GROUPED | {"head_dim": 8, "query_pre_attn_scalar": 24}
_EXPERTS = {"num_local_experts": 2, "num_experts_per_tok": 1}

_ALIKE = (
    ("Llama Qwen2 Olmo2 Phi3 StableLm Starcoder2 Cohere", GROUPED, "tokens"),
    ("Phi GPTNeoX Persimmon ModernBert", _SIZES, "tokens"),
    ("GPT2 GPTBigCode", _GPT2, "tokens"),
    ("Bert Roberta Electra", _SIZES | _DROPOUTS, "tokens"),
    ("Bart Pegasus M2M100", SEQ2SEQ, "both"),
    ("ViT DeiT Dinov2 SiglipVision CLIPVision", _VISION, "image"),
    ("Wav2Vec2 Hubert", _WAVES, "wave"),
)
_PECULIAR = (
    Architecture("Mistral", GROUPED | {"sliding_window": 4}),
    Architecture("Mixtral", GROUPED | {"num_local_experts": 2}),
    Architecture("Qwen3", GROUPED | {"head_dim": 16}),
    _unscaled("OPT", _SIZES | {"ffn_dim": 48, "word_embed_proj_dim": 32}),
    Architecture("Granite", GROUPED | {"attention_multiplier": 0.0625}, scale=0.0625),
    Architecture("Gemma", GROUPED | {"head_dim": 8}),
    _eager("Gemma2", _GEMMA | {"attn_logit_softcapping": 2.0}, scale=24**-0.5),
    Architecture("Gemma3Text", _GEMMA, scale=24**-0.5),
    _eager("GptOss", GROUPED | {"head_dim": 8} | _EXPERTS),
    Architecture("Falcon", _BODY | {"vocab_size": 64, "alibi": True}, kinds=("sdpa",)),
    Architecture("DeepseekV2", _LATENT),
    Architecture(
        "DeepseekV3", _LATENT | {"rope_parameters": _YARN}, scale=(1 + log(40) / 10) ** 2 * 12**-0.5
    ),
    Architecture("Albert", _SIZES | _DROPOUTS | {"embedding_size": 16}),
    Architecture("DistilBert", {"vocab_size": 64, "dim": 32, "hidden_dim": 48, "n_layers": 2, "n_heads": 4}),
    _unscaled("Esm", _SIZES | _DROPOUTS | {"position_embedding_type": "rotary", "mask_token_id": 3}),
    _unscaled("T5", _T5, "both"),
    _unscaled("UMT5", _T5, "both"),
    _unscaled(
        "Whisper",
        SEQ2SEQ | {"num_mel_bins": 8, "max_source_positions": 16, "max_target_positions": 32},
        "spectrogram",
    ),
    Architecture(
        "AST",
        _VISION | {"num_mel_bins": 8, "max_length": 16, "frequency_stride": 4, "time_stride": 4},
        "patches",
    ),
)
ARCHITECTURES = {
    name: Architecture(name, options, kind) for names, options, kind in _ALIKE for name in names.split()
} | {model.name: model for model in _PECULIAR}
"""Architectures whose attention goes through the interface, or through PyTorch's own function."""
OUTSIDE = _eager("Bloom", {"vocab_size": 64, "hidden_size": 32, "n_layer": 2, "n_head": 4})
"""An architecture that writes its attention out, which is not recorded, and is said."""


def build(model: Architecture, kind: str) -> Any:
    """Return the small random model of an architecture in evaluation, with this kind of attention."""
    import torch  # noqa: PLC0415 - the table is read without it
    import transformers  # noqa: PLC0415

    config = getattr(transformers, f"{model.name}Config")(**model.options)
    config._attn_implementation = kind
    torch.manual_seed(0)
    built = getattr(transformers, f"{model.name}Model")(config).eval()
    with torch.no_grad():
        for parameter in built.parameters():
            if parameter.dim() > 1:
                # Larger than the usual start, for scores that tell scales apart.
                parameter.mul_(4)
    return built


def inputs(model: Architecture, tokens: int = 12, seed: int = 0, dtype: Any = None) -> dict[str, Any]:
    """Return what the model of an architecture is called with; the last sequence of tokens is padded.

    Images and sounds have the model's ``dtype``.
    """
    import torch  # noqa: PLC0415

    torch.manual_seed(seed)
    words = torch.randint(3, 64, (4, tokens))
    seen = torch.ones(4, tokens, dtype=torch.long)
    seen[-1, tokens - 3 :] = 0
    text, decoded = {"input_ids": words, "attention_mask": seen}, {"decoder_input_ids": words[:, :7]}
    match model.inputs:
        case "tokens":
            return text
        case "both":
            return text | decoded
        case "spectrogram":
            return decoded | {"input_features": torch.randn(4, 8, 32, dtype=dtype)}
        case "image":
            return {"pixel_values": torch.randn(4, 3, 16, 16, dtype=dtype)}
        case kind:
            shape = {"patches": (16, 8), "wave": (320,)}[kind]
            return {"input_values": torch.randn(4, *shape, dtype=dtype)}
