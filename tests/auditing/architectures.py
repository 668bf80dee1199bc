"""Small random models of many architectures of transformers, for recordings and audits of them."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

_SIZES = {
    "vocab_size": 64,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
_GROUPED = _SIZES | {"num_key_value_heads": 2}
_DROPOUTS = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
_VISION = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "image_size": 16,
    "patch_size": 4,
}
_SEQ2SEQ = {
    "vocab_size": 64,
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 48,
    "decoder_ffn_dim": 48,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 1,
    "forced_eos_token_id": 2,
}
_T5 = {
    "vocab_size": 64,
    "d_model": 32,
    "d_kv": 8,
    "d_ff": 48,
    "num_layers": 2,
    "num_decoder_layers": 2,
    "num_heads": 4,
    "decoder_start_token_id": 0,
    "pad_token_id": 0,
}
_LATENT = _SIZES | {
    "num_key_value_heads": 4,
    "q_lora_rank": 16,
    "kv_lora_rank": 16,
    "qk_nope_head_dim": 8,
    "qk_rope_head_dim": 4,
    "v_head_dim": 8,
    "n_routed_experts": 4,
    "num_experts_per_tok": 2,
    "n_group": 1,
    "topk_group": 1,
    "n_shared_experts": 1,
    "moe_intermediate_size": 16,
    "first_k_dense_replace": 1,
}
_YARN = {
    "rope_type": "yarn",
    "rope_theta": 10000.0,
    "factor": 40.0,
    "mscale": 1.0,
    "mscale_all_dim": 1.0,
    "beta_fast": 32,
    "beta_slow": 1,
    "original_max_position_embeddings": 16,
}
_WAVES = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "vocab_size": 32,
    "conv_dim": (16, 16),
    "conv_stride": (4, 4),
    "conv_kernel": (8, 4),
    "num_conv_pos_embeddings": 4,
    "num_conv_pos_embedding_groups": 2,
    "num_feat_extract_layers": 2,
}


@dataclass(frozen=True)
class Architecture:
    """A model class of transformers by name, its small configuration, and what it is given.

    ``given`` is the scale that its calls are given as d ↦ number, where it is not 1/√d.
    """

    model: str
    config: str
    options: Mapping[str, Any] = field(default_factory=dict)
    inputs: str = "tokens"
    kinds: tuple[str, ...] = ("eager", "sdpa")
    given: Callable[[int], float] = lambda d: d**-0.5
    feature: str = "decoder"


def _one(_d: int) -> float:
    return 1.0


ARCHITECTURES = {
    "llama": Architecture("LlamaModel", "LlamaConfig", _GROUPED, feature="decoder, grouped heads"),
    "mistral": Architecture("MistralModel", "MistralConfig", _GROUPED | {"sliding_window": 4}),
    "mixtral": Architecture("MixtralModel", "MixtralConfig", _GROUPED | {"num_local_experts": 2}),
    "qwen2": Architecture("Qwen2Model", "Qwen2Config", _GROUPED),
    "qwen3": Architecture("Qwen3Model", "Qwen3Config", _GROUPED | {"head_dim": 16}, feature="QK-norm"),
    "olmo2": Architecture("Olmo2Model", "Olmo2Config", _GROUPED, feature="QK-norm"),
    "phi": Architecture("PhiModel", "PhiConfig", _SIZES),
    "phi3": Architecture("Phi3Model", "Phi3Config", _GROUPED),
    "stablelm": Architecture("StableLmModel", "StableLmConfig", _GROUPED),
    "starcoder2": Architecture("Starcoder2Model", "Starcoder2Config", _GROUPED),
    "cohere": Architecture("CohereModel", "CohereConfig", _GROUPED),
    "gpt_neox": Architecture("GPTNeoXModel", "GPTNeoXConfig", _SIZES),
    "persimmon": Architecture("PersimmonModel", "PersimmonConfig", _SIZES, feature="QK-norm"),
    "gpt2": Architecture(
        "GPT2Model",
        "GPT2Config",
        {"vocab_size": 64, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64},
    ),
    "gpt_bigcode": Architecture(
        "GPTBigCodeModel",
        "GPTBigCodeConfig",
        {"vocab_size": 64, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64},
        feature="decoder, one head of keys",
    ),
    "opt": Architecture(
        "OPTModel",
        "OPTConfig",
        _SIZES | {"ffn_dim": 48, "word_embed_proj_dim": 32},
        given=_one,
        feature="queries scaled before",
    ),
    "granite": Architecture(
        "GraniteModel",
        "GraniteConfig",
        _GROUPED | {"attention_multiplier": 0.0625},
        given=lambda _d: 0.0625,
        feature="attention_multiplier",
    ),
    "gemma": Architecture("GemmaModel", "GemmaConfig", _GROUPED | {"head_dim": 8}),
    "gemma2": Architecture(
        "Gemma2Model",
        "Gemma2Config",
        _GROUPED | {"head_dim": 8, "query_pre_attn_scalar": 24, "attn_logit_softcapping": 2.0},
        kinds=("eager",),
        given=lambda _d: 24**-0.5,
        feature="soft-cap, query_pre_attn_scalar",
    ),
    "gemma3": Architecture(
        "Gemma3TextModel",
        "Gemma3TextConfig",
        _GROUPED | {"head_dim": 8, "query_pre_attn_scalar": 24},
        given=lambda _d: 24**-0.5,
        feature="QK-norm, query_pre_attn_scalar",
    ),
    "gpt_oss": Architecture(
        "GptOssModel",
        "GptOssConfig",
        _GROUPED | {"head_dim": 8, "num_local_experts": 2, "num_experts_per_tok": 1},
        kinds=("eager",),
        feature="sinks, YaRN in rotary positions",
    ),
    "falcon": Architecture(
        "FalconModel",
        "FalconConfig",
        {
            "vocab_size": 64,
            "hidden_size": 32,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "alibi": True,
        },
        kinds=("sdpa",),
        feature="ALiBi",
    ),
    "deepseek_v2": Architecture("DeepseekV2Model", "DeepseekV2Config", _LATENT, feature="latent attention"),
    "deepseek_v3": Architecture(
        "DeepseekV3Model",
        "DeepseekV3Config",
        _LATENT | {"rope_parameters": _YARN},
        given=lambda d: (1 + 0.1 * 3.6888794541139363) ** 2 * d**-0.5,
        feature="latent attention with YaRN",
    ),
    "bert": Architecture("BertModel", "BertConfig", _SIZES | _DROPOUTS, feature="encoder"),
    "roberta": Architecture("RobertaModel", "RobertaConfig", _SIZES | _DROPOUTS, feature="encoder"),
    "albert": Architecture(
        "AlbertModel",
        "AlbertConfig",
        _SIZES | _DROPOUTS | {"embedding_size": 16},
        feature="encoder, shared layers",
    ),
    "electra": Architecture("ElectraModel", "ElectraConfig", _SIZES | _DROPOUTS, feature="encoder"),
    "distilbert": Architecture(
        "DistilBertModel",
        "DistilBertConfig",
        {"vocab_size": 64, "dim": 32, "hidden_dim": 48, "n_layers": 2, "n_heads": 4},
        feature="encoder",
    ),
    "modernbert": Architecture("ModernBertModel", "ModernBertConfig", _SIZES, feature="encoder"),
    "esm": Architecture(
        "EsmModel",
        "EsmConfig",
        _SIZES | _DROPOUTS | {"position_embedding_type": "rotary", "mask_token_id": 3},
        given=_one,
        feature="encoder, queries scaled before",
    ),
    "t5": Architecture("T5Model", "T5Config", _T5, "both", given=_one, feature="encoder-decoder, no scale"),
    "umt5": Architecture(
        "UMT5Model", "UMT5Config", _T5, "both", given=_one, feature="encoder-decoder, no scale"
    ),
    "bart": Architecture("BartModel", "BartConfig", _SEQ2SEQ, "both", feature="encoder-decoder"),
    "pegasus": Architecture("PegasusModel", "PegasusConfig", _SEQ2SEQ, "both", feature="encoder-decoder"),
    "m2m_100": Architecture("M2M100Model", "M2M100Config", _SEQ2SEQ, "both", feature="encoder-decoder"),
    "vit": Architecture("ViTModel", "ViTConfig", _VISION, "image", feature="vision"),
    "deit": Architecture("DeiTModel", "DeiTConfig", _VISION, "image", feature="vision"),
    "dinov2": Architecture("Dinov2Model", "Dinov2Config", _VISION, "image", feature="vision"),
    "siglip": Architecture("SiglipVisionModel", "SiglipVisionConfig", _VISION, "image", feature="vision"),
    "clip": Architecture("CLIPVisionModel", "CLIPVisionConfig", _VISION, "image", feature="vision"),
    "whisper": Architecture(
        "WhisperModel",
        "WhisperConfig",
        _SEQ2SEQ | {"num_mel_bins": 8, "max_source_positions": 16, "max_target_positions": 32},
        "spectrogram",
        given=_one,
        feature="audio, queries scaled before",
    ),
    "wav2vec2": Architecture("Wav2Vec2Model", "Wav2Vec2Config", _WAVES, "wave", feature="audio"),
    "hubert": Architecture("HubertModel", "HubertConfig", _WAVES, "wave", feature="audio"),
    "audio_spectrogram_transformer": Architecture(
        "ASTModel",
        "ASTConfig",
        _VISION | {"num_mel_bins": 8, "max_length": 16, "frequency_stride": 4, "time_stride": 4},
        "patches",
        feature="audio",
    ),
}
"""Architectures whose attention goes through the interface, or through PyTorch's own function."""

OUTSIDE = {
    "bloom": Architecture(
        "BloomModel",
        "BloomConfig",
        {"vocab_size": 64, "hidden_size": 32, "n_layer": 2, "n_head": 4},
        kinds=("eager",),
    ),
    "gpt_neo": Architecture(
        "GPTNeoModel",
        "GPTNeoConfig",
        {"vocab_size": 64, "hidden_size": 32, "num_layers": 2, "num_heads": 4, "max_position_embeddings": 64}
        | {"attention_types": [[["global"], 2]]},
        kinds=("eager",),
    ),
    "mpt": Architecture(
        "MptModel",
        "MptConfig",
        {"vocab_size": 64, "d_model": 32, "n_layers": 2, "n_heads": 4, "max_seq_len": 64},
        kinds=("eager",),
    ),
}
"""Architectures that write their attention out, which is not recorded, and is said."""


def build(name: str, kind: str, seed: int = 0) -> Any:
    """Return the small random model of an architecture in evaluation, with this kind of attention."""
    import torch  # noqa: PLC0415 - the table is read without it
    import transformers  # noqa: PLC0415

    one = (ARCHITECTURES | OUTSIDE)[name]
    config = getattr(transformers, one.config)(**one.options)
    config._attn_implementation = kind
    torch.manual_seed(seed)
    model = getattr(transformers, one.model)(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                # Larger than the usual start, for scores that tell scales apart.
                parameter.mul_(4)
    return model


def inputs(
    name: str, sequences: int = 4, tokens: int = 12, seed: int = 0, dtype: Any = None
) -> dict[str, Any]:
    """Return what the model of an architecture is called with; the last sequence of tokens is padded.

    Images and sounds have the model's ``dtype``.
    """
    import torch  # noqa: PLC0415

    torch.manual_seed(seed)
    words = torch.randint(3, 64, (sequences, tokens))
    seen = torch.ones(sequences, tokens, dtype=torch.long)
    seen[-1, tokens - 3 :] = 0
    made: dict[str, Callable[[], dict[str, Any]]] = {
        "tokens": lambda: {"input_ids": words, "attention_mask": seen},
        "both": lambda: {"input_ids": words, "attention_mask": seen, "decoder_input_ids": words[:, :7]},
        "image": lambda: {"pixel_values": torch.randn(sequences, 3, 16, 16)},
        "patches": lambda: {"input_values": torch.randn(sequences, 16, 8)},
        "wave": lambda: {"input_values": torch.randn(sequences, 320)},
        "spectrogram": lambda: {
            "input_features": torch.randn(sequences, 8, 32),
            "decoder_input_ids": words[:, :7],
        },
    }
    given = made[(ARCHITECTURES | OUTSIDE)[name].inputs]()
    return {key: one.to(dtype) if one.is_floating_point() else one for key, one in given.items()}


def main() -> None:
    """Print how each architecture's findings come out, in float32 and bfloat16."""
    import torch  # noqa: PLC0415
    import transformers  # noqa: PLC0415

    import verify  # noqa: PLC0415

    transformers.logging.set_verbosity_error()
    print("| architecture | attention | kernel | dtype | layers | findings | intended scale |")
    print("|---|---|---|---|---|---|---|")
    for name, one in ARCHITECTURES.items():
        for kind in one.kinds:
            for dtype in (torch.float32, torch.bfloat16):
                model = build(name, kind).to(dtype)
                with torch.no_grad(), verify.record(model) as recording:
                    model(**inputs(name, dtype=dtype))
                record = verify.audit(recording)
                found = Counter(str(finding.judgement) for finding in record.findings)
                meant = {layer.intention.expression for layer in record.layers}
                cells = [name, one.feature, kind, str(dtype).removeprefix("torch."), str(len(record.layers))]
                counted = ", ".join(f"{count} {judgement}" for judgement, count in found.items())
                print(f"| {' | '.join(cells)} | {counted} | {', '.join(sorted(meant))} |", flush=True)


if __name__ == "__main__":
    main()
