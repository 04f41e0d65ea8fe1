"""Golden data of model families: small random checkpoints with what PyTorch computes from them in float64.

    python make.py [FAMILY ...]        writes FAMILY/ beside this file

Every parameter is drawn (norms and biases too), so that no part of a model can be left out unnoticed. Weights are float32 (bfloat16 in
`qwen3`, `gemma3` and `gemma4`, float16 in `phi3`) and computed with in float64. Each folder holds

    config.json            as save_pretrained writes it; some in the spelling of transformers 4 (see OLD)
    model.safetensors      the weights
    golden.safetensors     per input n: ids.n, and where the model reads them types.n, keep.n (1 for a real token, 0 for padding) and globals.n (positions);
                           hidden.n [layers + 1, batch, N, C], attention.n [layers, batch, heads, N, N], logits.n [batch, N, V], all float64

Encoder-decoders are in ../encoder-decoders/FAMILY/; ids, hidden and attention are the encoder's there, and golden.safetensors also has
target.n [batch, T], decoder-hidden.n [layers + 1, batch, T, C], decoder-attention.n [layers, batch, heads, T, T], cross.n [layers, batch,
heads, T, N], and what generate() returns: greedy.n, beam.n and penalized.n (options: see GENERATED).
"""
import json, os, shutil, sys
import torch
import transformers
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoModel, AutoModelForCausalLM, AutoModelForMaskedLM, AutoModelForQuestionAnswering, AutoModelForSeq2SeqLM
from transformers.models.bloom import modeling_bloom as bloom
from transformers.models.falcon import modeling_falcon as falcon
from transformers.models.gptj import modeling_gptj as gptj

HERE = os.path.dirname(os.path.abspath(__file__))
V = 40  # rows of the embedding; the carrier tokenizer has fewer
ENCODER = dict(vocab_size=V, hidden_size=12, num_hidden_layers=2, num_attention_heads=3, intermediate_size=18, max_position_embeddings=24)
DECODER = dict(vocab_size=V, hidden_size=16, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, intermediate_size=22,
               max_position_embeddings=64, bos_token_id=1, eos_token_id=2, pad_token_id=0)
PLAIN = dict(vocab_size=V, hidden_size=16, num_hidden_layers=2, num_attention_heads=4, intermediate_size=22, max_position_embeddings=24,
             bos_token_id=1, eos_token_id=2)
GPT = dict(vocab_size=V, n_positions=24, n_embd=16, n_layer=2, n_head=4, bos_token_id=1, eos_token_id=2)
FALCON = dict(vocab_size=V, hidden_size=16, num_hidden_layers=2, num_attention_heads=4, ffn_hidden_size=22, layer_norm_epsilon=3e-3,
              max_position_embeddings=24, rope_parameters=dict(rope_type="default", rope_theta=100.0), bos_token_id=1, eos_token_id=2)

FAMILIES = {
    # Untied heads whose config does not say so: transformers compares the two matrices and unties them.
    "bert": ("bert", ENCODER | dict(layer_norm_eps=3e-3, type_vocab_size=3, tie_word_embeddings=False)),
    "roberta": ("roberta", ENCODER | dict(layer_norm_eps=2e-3, type_vocab_size=1, pad_token_id=1)),
    "distilbert": ("distilbert", dict(vocab_size=V, max_position_embeddings=24, n_layers=2, n_heads=3, dim=12, hidden_dim=18, activation="relu")),
    "electra": ("electra", ENCODER | dict(embedding_size=10, layer_norm_eps=4e-3, type_vocab_size=2)),
    "mpnet": ("mpnet", ENCODER | dict(layer_norm_eps=2e-3, pad_token_id=1)),
    "albert": ("albert", ENCODER | dict(embedding_size=10, layer_norm_eps=3e-3, num_hidden_layers=3, tie_word_embeddings=True)),
    "modernbert": ("modernbert", ENCODER | dict(num_hidden_layers=3, local_attention=4, norm_eps=3e-3, norm_bias=True, classifier_bias=True,
                                                layer_types=["full_attention", "sliding_attention", "sliding_attention"], pad_token_id=0,
                                                rope_parameters=dict(full_attention=dict(rope_type="default", rope_theta=1000.0),
                                                                     sliding_attention=dict(rope_type="default", rope_theta=100.0)))),
    "eurobert": ("eurobert", DECODER | dict(rms_norm_eps=3e-3, mlp_bias=True, tie_word_embeddings=False)),
    "deberta": ("deberta-v2", ENCODER | dict(layer_norm_eps=3e-3, relative_attention=True, position_buckets=4, max_relative_positions=-1, norm_rel_ebd="layer_norm",
                                             pos_att_type=["p2c", "c2p"], share_att_key=True, position_biased_input=False, type_vocab_size=0, pad_token_id=0)),
    "deberta-own": ("deberta-v2", ENCODER | dict(relative_attention=True, max_relative_positions=5, pos_att_type=["c2p"], legacy=False, tie_word_embeddings=False, type_vocab_size=2,
                                                 hidden_act="gelu_new")),
    "big_bird": ("big_bird", ENCODER | dict(layer_norm_eps=3e-3, rescale_embeddings=True, use_bias=False, block_size=2, num_random_blocks=3, pad_token_id=0)),
    "longformer": ("longformer", ENCODER | dict(layer_norm_eps=3e-3, type_vocab_size=2, pad_token_id=1, sep_token_id=2, attention_window=[4, 8])),
    "gpt2": ("gpt2", dict(vocab_size=V, n_positions=24, n_embd=16, n_layer=2, n_head=4, n_inner=22, layer_norm_epsilon=3e-3,
                          tie_word_embeddings=False, bos_token_id=1, eos_token_id=2)),
    "llama2": ("llama", DECODER | dict(num_key_value_heads=4, rms_norm_eps=3e-3, tie_word_embeddings=False)),
    "llama3": ("llama", DECODER | dict(rms_norm_eps=2e-3, head_dim=6, attention_bias=True, mlp_bias=True, tie_word_embeddings=True,
                                       rope_parameters=dict(rope_type="llama3", rope_theta=500.0, factor=8.0, low_freq_factor=1.0,
                                                            high_freq_factor=4.0, original_max_position_embeddings=16))),
    "yarn": ("llama", DECODER | dict(tie_word_embeddings=True, rope_parameters=dict(rope_type="yarn", rope_theta=100.0, factor=4.0,
                                                                                    original_max_position_embeddings=16))),
    "mistral": ("mistral", DECODER | dict(sliding_window=5, head_dim=4)),
    "qwen2": ("qwen2", DECODER | dict(use_sliding_window=True, sliding_window=4, max_window_layers=1, tie_word_embeddings=True)),
    "qwen3": ("qwen3", DECODER | dict(head_dim=6, tie_word_embeddings=True)),
    "smollm3": ("smollm3", DECODER | dict(num_hidden_layers=3, no_rope_layers=[1, 0, 1], tie_word_embeddings=True)),
    "gemma2": ("gemma2", DECODER | dict(head_dim=6, sliding_window=5, query_pre_attn_scalar=9, attn_logit_softcapping=2.0,
                                        final_logit_softcapping=3.0)),
    "gemma3": ("gemma3_text", DECODER | dict(num_hidden_layers=3, head_dim=6, sliding_window=4, query_pre_attn_scalar=7,
                                             layer_types=["sliding_attention", "sliding_attention", "full_attention"],
                                             rope_parameters=dict(sliding_attention=dict(rope_type="default", rope_theta=100.0),
                                                                  full_attention=dict(rope_type="linear", rope_theta=1000.0, factor=8.0)))),
    "gemma4": ("gemma4_text", DECODER | dict(num_hidden_layers=6, head_dim=4, global_head_dim=8, sliding_window=4, hidden_size_per_layer_input=6, vocab_size_per_layer_input=V,
                                             num_kv_shared_layers=3, use_double_wide_mlp=True, final_logit_softcapping=3.0,
                                             layer_types=["sliding_attention", "full_attention"] * 3,
                                             rope_parameters=dict(sliding_attention=dict(rope_type="default", rope_theta=100.0),
                                                                  full_attention=dict(rope_type="proportional", rope_theta=1000.0, partial_rotary_factor=0.5)))),
    "gemma4-global": ("gemma4_text", DECODER | dict(num_hidden_layers=3, head_dim=4, global_head_dim=6, num_global_key_value_heads=1, attention_k_eq_v=True, sliding_window=4,
                                                    hidden_size_per_layer_input=0, tie_word_embeddings=False,
                                                    layer_types=["sliding_attention", "sliding_attention", "full_attention"])),
    "phi3": ("phi3", DECODER | dict(hidden_size=32, original_max_position_embeddings=6, tie_word_embeddings=False,
                                    rope_parameters=dict(rope_type="longrope", rope_theta=100.0, partial_rotary_factor=0.75,
                                                         original_max_position_embeddings=6,
                                                         short_factor=[1.0, 1.1, 1.3], long_factor=[1.5, 2.0, 3.0]))),
    "gpt_neox": ("gpt_neox", PLAIN | dict(layer_norm_eps=3e-3, tie_word_embeddings=False,
                                          rope_parameters=dict(rope_type="default", rope_theta=100.0, partial_rotary_factor=0.5))),
    "gptj": ("gptj", GPT | dict(rotary_dim=2, n_inner=22, layer_norm_epsilon=3e-3, tie_word_embeddings=False)),
    "gpt_neo": ("gpt_neo", dict(vocab_size=V, max_position_embeddings=24, hidden_size=16, num_layers=3, num_heads=4, intermediate_size=22,
                                window_size=4, attention_types=[[["global", "local", "local"], 1]], layer_norm_epsilon=3e-3,
                                bos_token_id=1, eos_token_id=2)),
    "bloom": ("bloom", dict(vocab_size=V, hidden_size=16, n_layer=2, n_head=4, layer_norm_epsilon=3e-3)),
    "opt": ("opt", dict(vocab_size=V, hidden_size=16, num_hidden_layers=2, num_attention_heads=4, ffn_dim=22, max_position_embeddings=24,
                        word_embed_proj_dim=16, dropout=0.0)),
    "falcon": ("falcon", FALCON | dict(multi_query=True, parallel_attn=True)),
    "falcon-groups": ("falcon", FALCON | dict(new_decoder_architecture=True, num_kv_heads=2, bias=True)),
    "falcon-alibi": ("falcon", FALCON | dict(alibi=True, multi_query=False, parallel_attn=False, bias=True, tie_word_embeddings=False)),
    "codegen": ("codegen", GPT | dict(n_ctx=24, rotary_dim=2, n_inner=22, layer_norm_epsilon=3e-3, tie_word_embeddings=False)),
    "hunyuan": ("hunyuan_v1_dense", DECODER | dict(head_dim=6, rms_norm_eps=3e-3, tie_word_embeddings=True,
                                                   rope_parameters=dict(rope_type="dynamic", rope_theta=100.0, alpha=7.0, factor=1.0))),
    "apertus": ("apertus", DECODER | dict(rms_norm_eps=3e-3, tie_word_embeddings=False, rope_parameters=dict(rope_type="default", rope_theta=100.0))),
    "nomic_bert": ("nomic_bert", ENCODER | dict(layer_norm_eps=3e-3, type_vocab_size=2, rope_parameters=dict(rope_type="default", rope_theta=100.0))),
    "mpt": ("mpt", dict(vocab_size=V, d_model=16, n_heads=4, n_layers=2, max_seq_len=24, layer_norm_epsilon=3e-3)),
    "phi": ("phi", DECODER | dict(layer_norm_eps=3e-3, qk_layernorm=True, tie_word_embeddings=False,
                                  rope_parameters=dict(rope_type="default", rope_theta=100.0, partial_rotary_factor=0.5))),
    "stablelm": ("stablelm", DECODER | dict(layer_norm_eps=3e-3, use_qkv_bias=True, tie_word_embeddings=False,
                                            rope_parameters=dict(rope_type="default", rope_theta=100.0, partial_rotary_factor=0.5))),
    "stablelm-parallel": ("stablelm", DECODER | dict(use_parallel_residual=True, tie_word_embeddings=False,
                                                     rope_parameters=dict(rope_type="default", rope_theta=100.0, partial_rotary_factor=1.0))),
    "gemma": ("gemma", DECODER | dict(head_dim=6, num_key_value_heads=1)),
    "olmo": ("olmo", DECODER | dict(tie_word_embeddings=False)),
    "olmo2": ("olmo2", DECODER | dict(rms_norm_eps=3e-3, attention_bias=True, tie_word_embeddings=False)),
    "olmo3": ("olmo3", DECODER | dict(num_hidden_layers=3, sliding_window=4, layer_types=["sliding_attention", "full_attention", "sliding_attention"],
                                      tie_word_embeddings=False,
                                      rope_parameters=dict(sliding_attention=dict(rope_type="default", rope_theta=100.0),
                                                           full_attention=dict(rope_type="yarn", rope_theta=100.0, factor=4.0,
                                                                               original_max_position_embeddings=16)))),
    "starcoder2": ("starcoder2", DECODER | dict(norm_epsilon=3e-3, sliding_window=5)),
    "cohere": ("cohere", DECODER | dict(layer_norm_eps=3e-3, logit_scale=0.3, use_qk_norm=True, attention_bias=True)),
    "cohere2": ("cohere2", DECODER | dict(num_hidden_layers=3, layer_types=["sliding_attention", "sliding_attention", "full_attention"],
                                          sliding_window=4, logit_scale=0.3)),
    "granite": ("granite", DECODER | dict(embedding_multiplier=1.5, logits_scaling=3.0, residual_multiplier=0.7, attention_multiplier=0.4,
                                          mlp_bias=True, attention_bias=True)),
    "glm4": ("glm4", DECODER | dict(head_dim=8, rms_norm_eps=3e-3, tie_word_embeddings=False,
                                    rope_parameters=dict(rope_type="default", rope_theta=100.0, partial_rotary_factor=0.5))),
    "exaone4": ("exaone4", DECODER | dict(num_hidden_layers=3, sliding_window=4, tie_word_embeddings=False,
                                          layer_types=["sliding_attention", "sliding_attention", "full_attention"])),
    "ministral3": ("ministral3", DECODER | dict(head_dim=6, rms_norm_eps=3e-3, tie_word_embeddings=True,
                                                rope_parameters=dict(rope_type="yarn", rope_theta=100.0, factor=4.0, mscale=1.0, mscale_all_dim=1.0,
                                                                     beta_fast=32.0, beta_slow=1.0, llama_4_scaling_beta=0.3,
                                                                     original_max_position_embeddings=4))),
    "ernie4_5": ("ernie4_5", DECODER | dict(head_dim=6, rms_norm_eps=3e-3, use_bias=True, tie_word_embeddings=False,
                                            rope_parameters=dict(rope_type="default", rope_theta=100.0))),
    "nemotron": ("nemotron", DECODER | dict(norm_eps=3e-3, attention_bias=True, tie_word_embeddings=False,
                                            rope_parameters=dict(rope_type="default", rope_theta=100.0, partial_rotary_factor=0.5))),
}
T5 = dict(vocab_size=V, d_model=12, d_kv=5, d_ff=18, num_layers=2, num_decoder_layers=1, num_heads=3, relative_attention_num_buckets=8,
          relative_attention_max_distance=20, layer_norm_epsilon=3e-3, pad_token_id=0, eos_token_id=2, decoder_start_token_id=0)
BART = dict(vocab_size=V, d_model=12, encoder_layers=2, decoder_layers=2, encoder_attention_heads=3, decoder_attention_heads=2, encoder_ffn_dim=14,
            decoder_ffn_dim=10, max_position_embeddings=24, pad_token_id=1, bos_token_id=0, eos_token_id=2, decoder_start_token_id=2)
ENCODER_DECODERS = {
    "t5": ("t5", T5),
    "flan-t5": ("t5", T5 | dict(feed_forward_proj="gated-gelu", tie_word_embeddings=False)),
    "mt5": ("mt5", T5 | dict(feed_forward_proj="gated-silu", num_decoder_layers=2, d_ff=10)),
    "bart": ("bart", BART | dict(forced_bos_token_id=0, forced_eos_token_id=2)),
    "mbart": ("mbart", BART | dict(scale_embedding=True, forced_eos_token_id=2)),
    "marian": ("marian", BART | dict(scale_embedding=True, activation_function="swish", decoder_start_token_id=1, bad_words_ids=[[1]],
                                     share_encoder_decoder_embeddings=True, decoder_vocab_size=V, forced_eos_token_id=None)),
    "pegasus": ("pegasus", BART | dict(scale_embedding=True, activation_function="relu", pad_token_id=0, eos_token_id=2,
                                       decoder_start_token_id=0, forced_eos_token_id=2)),
    "nllb": ("m2m_100", BART | dict(scale_embedding=True, activation_function="relu", forced_bos_token_id=None)),
}
# Models with a head for spans of answers (qa_outputs).
ANSWERERS = {
    "bert": ("bert", ENCODER | dict(layer_norm_eps=3e-3, max_position_embeddings=16)),
    "roberta": ("roberta", ENCODER | dict(layer_norm_eps=2e-3, type_vocab_size=1, pad_token_id=1)),
    "distilbert": ("distilbert", dict(vocab_size=V, max_position_embeddings=24, n_layers=2, n_heads=3, dim=12, hidden_dim=18)),
    "albert": ("albert", ENCODER | dict(embedding_size=10, layer_norm_eps=3e-3)),
    "longformer": ("longformer", ENCODER | dict(type_vocab_size=2, pad_token_id=1, sep_token_id=2, attention_window=4)),
    "modernbert": ("modernbert", ENCODER | dict(local_attention=4, classifier_bias=True, classifier_activation="silu", pad_token_id=0,
                                                layer_types=["full_attention", "sliding_attention"])),
}
IMAGE = dict(hidden_size=12, num_hidden_layers=2, num_attention_heads=3, intermediate_size=18, image_size=12, patch_size=4, layer_norm_eps=3e-3)
DINO = {k: v for k, v in IMAGE.items() if k != "intermediate_size"} | dict(mlp_ratio=2)
IMAGE_MODELS = {
    "vit": ("vit", IMAGE | dict(image_size=[12, 12], qkv_bias=False)),
    "deit": ("deit", IMAGE | dict(hidden_act="gelu_new")),
    "dinov2": ("dinov2", DINO),
    "dinov2-gated": ("dinov2", DINO | dict(use_swiglu_ffn=True)),
    "dinov2-registers": ("dinov2_with_registers", DINO | dict(num_register_tokens=3)),
    "dinov3": ("dinov3_vit", IMAGE | dict(num_register_tokens=2, rope_theta=50.0)),
    "dinov3-gated": ("dinov3_vit", IMAGE | dict(use_gated_mlp=True, hidden_act="silu")),
    "clip": ("clip", dict(projection_dim=8, vision_config=IMAGE, text_config=PLAIN | dict(hidden_size=8, num_hidden_layers=1, eos_token_id=2, pad_token_id=0))),
    "clip-vision": ("clip_vision_model", IMAGE | dict(patch_size=2, image_size=6)),
    "siglip": ("siglip_vision_model", IMAGE),
}
# Options of generate(): the same as in encoder-decoders.test.ts.
GENERATED = {
    "greedy": dict(num_beams=1, max_new_tokens=11),
    "beam": dict(num_beams=3, max_new_tokens=11),
    "penalized": dict(num_beams=4, max_new_tokens=9, length_penalty=2.0, early_stopping=True, no_repeat_ngram_size=2, min_new_tokens=4),
}
DTYPES = {"qwen3": torch.bfloat16, "gemma3": torch.bfloat16, "gemma4": torch.bfloat16, "phi3": torch.float16}
# Configs rewritten as transformers 4 has them: rope_theta and rope_scaling in place of rope_parameters.
OLD = {"llama2", "llama3", "mistral", "gemma3", "phi3"}


def draw(model, generator):
    """Every parameter anew but Pegasus' computed positions: norms around 1 (around 0 where the model adds the 1), biases and tables not zero."""
    with torch.no_grad():
        for name, p in model.named_parameters():
            noise = torch.randn(p.shape, generator=generator, dtype=torch.float32)
            if type(model).__name__.startswith("Pegasus") and "embed_positions" in name:
                continue
            if p.dim() == 0:
                p.copy_(noise)
            elif p.dim() == 1:
                norm = "norm" in name.lower() or ".ln_" in name
                offset = type(model).__name__.startswith(("Gemma", "Nemotron")) and "Gemma4" not in type(model).__name__  # these multiply by 1 + w
                base = 1.0 if norm and name.endswith("weight") and not offset else 0.0
                p.copy_(base + 0.3 * noise)
            else:
                p.copy_(noise * (0.7 if "embed" in name or "wte" in name or "wpe" in name or "bias" in name else 1.3 * p.shape[-1] ** -0.5))


        for name, b in model.named_buffers():
            if name.endswith("layer_scalar"):
                b.copy_(1.0 + 0.3 * torch.randn(b.shape, generator=generator))


def inputs(model, config, family):
    """Tokens to read: one text; for encoders also a pair with types and a padded batch."""
    g = torch.Generator().manual_seed(7)
    some = lambda *shape: torch.randint(5, V, shape, generator=g)
    if family in ("bert", "electra", "albert", "nomic_bert", "big_bird"):
        pair = dict(input_ids=some(1, 9), token_type_ids=torch.tensor([[0] * 4 + [1] * 3 + [config.type_vocab_size - 1] * 2]))
        return [dict(input_ids=some(1, 7)), pair, padded(some, config)]
    if family in ("roberta", "distilbert", "mpnet", "modernbert", "eurobert"):
        return [dict(input_ids=some(1, 11)), padded(some, config)]
    if family == "longformer":  # no text is a multiple of the window; global tokens in two of them
        g_at = lambda N, at: (torch.arange(N) == torch.tensor(at)[:, None]).any(0).long()[None]
        types = torch.tensor([[0] * 4 + [1] * 5])
        return [dict(input_ids=some(1, 11)), dict(input_ids=some(1, 11), global_attention_mask=g_at(11, [0, 6])),
                dict(input_ids=some(1, 9), token_type_ids=types, global_attention_mask=g_at(9, [0, 1, 2]))]
    if family == "deberta-own":
        return [dict(input_ids=some(1, 11)), dict(input_ids=some(1, 9), token_type_ids=torch.tensor([[0] * 4 + [1] * 5]))]
    if family == "phi3":
        return [dict(input_ids=some(1, 5)), dict(input_ids=some(1, 8))]  # within the short factors and beyond
    return [dict(input_ids=some(1, 11))]


def weights_of(model, out, where=()):
    """Probabilities [layers, batch, heads, N, N]. Longformer gives those of local rows as global keys, then the window, and global rows apart."""
    if model.config.model_type != "longformer":
        return torch.stack(out.attentions)
    layers = []
    for n, local in enumerate(out.attentions):
        B, H, N, _ = local.shape
        side, dense = model.config.attention_window[n] // 2, torch.zeros(B, H, N, N, dtype=local.dtype)
        for a, j in enumerate(where):
            dense[..., j] += local[..., a]
        for i in range(N):
            for j in range(max(0, i - side), min(N, i + side + 1)):
                dense[:, :, i, j] += local[:, :, i, len(where) + side + j - i]
        for a, i in enumerate(where):
            dense[:, :, i, :] = out.global_attentions[n][:, :, :N, a]
        layers.append(dense)
    assert (torch.stack(layers).sum(-1) - 1).abs().max() < 1e-12
    return torch.stack(layers)


def padded(some, config):
    ids = some(2, 5)
    ids[1, 3:] = config.pad_token_id or 0
    return dict(input_ids=ids, attention_mask=(torch.arange(5) < torch.tensor([[5], [3]])).long())


def old_spelling(config):
    rope = config.pop("rope_parameters", None)
    if rope is None:
        return config
    if "full_attention" in rope:  # Gemma 3
        config["rope_theta"] = rope["full_attention"]["rope_theta"]
        config["rope_local_base_freq"] = rope["sliding_attention"]["rope_theta"]
        config["rope_scaling"] = dict(rope_type="linear", factor=rope["full_attention"]["factor"])
        config["sliding_window_pattern"] = 3
        config.pop("layer_types", None)
        config.pop("_sliding_window_pattern", None)
        return config
    config["rope_theta"] = rope.pop("rope_theta")
    if "partial_rotary_factor" in rope:
        config["partial_rotary_factor"] = rope.pop("partial_rotary_factor")
        rope.pop("original_max_position_embeddings")
        rope["type"] = rope.pop("rope_type")
    config["rope_scaling"] = None if rope == dict(rope_type="default") else rope
    return config


def positions64(count, width):
    p, i = torch.arange(count, dtype=torch.float64)[:, None], torch.arange(width // 2, dtype=torch.float64)
    angles = p * 10000 ** (-2 * i / width)
    return torch.cat([angles.sin(), angles.cos()], dim=1)


class exactly64:
    """transformers computes norms, softmax and angles in float32 whatever the model's dtype; inside this they are float64."""

    def __init__(self, model):
        self.model = model

    def __enter__(self):
        self.kept = torch.float32, torch.Tensor.float, torch.get_default_dtype()
        torch.float32 = torch.float = torch.float64
        torch.Tensor.float = torch.Tensor.double
        torch.set_default_dtype(torch.float64)
        bloom.bloom_gelu_forward = lambda x: torch.nn.functional.gelu(x, approximate="tanh")  # its √(2/π) has 8 digits
        for module in self.model.modules():
            if type(module).__name__ == "M2M100SinusoidalPositionalEmbedding":
                module.make_weights(module.num_positions + module.offset, module.embedding_dim, module.padding_idx)
            if type(module).__name__ in ("MarianSinusoidalPositionalEmbedding", "PegasusSinusoidalPositionalEmbedding"):
                module.weight.data = positions64(*module.weight.shape)
            if type(module).__name__ == "GPTJAttention":
                module.embed_positions = gptj.create_sinusoidal_positions(module.max_positions, module.pos_embd_dim)
        for parent in list(self.model.modules()):
            for name, child in list(parent.named_children()):
                if "RotaryEmbedding" in type(child).__name__ or "RopePositionEmbedding" in type(child).__name__:
                    setattr(parent, name, type(child)(config=getattr(child, "config", self.model.config)).eval())

    def __exit__(self, *_):
        torch.float32 = torch.float = self.kept[0]
        torch.Tensor.float = self.kept[1]
        torch.set_default_dtype(self.kept[2])


def make(family):
    kind, fields = FAMILIES[family]
    folder = os.path.join(HERE, family)
    shutil.rmtree(folder, ignore_errors=True)
    config = AutoConfig.for_model(kind, **fields)
    masked = kind in ("bert", "roberta", "distilbert", "electra", "mpnet", "albert", "modernbert", "eurobert", "nomic_bert", "deberta-v2", "big_bird", "longformer")
    auto = AutoModelForMaskedLM if masked else AutoModelForCausalLM
    model = auto.from_config(config)
    draw(model, torch.Generator().manual_seed(sum(map(ord, family))))
    model.to(DTYPES.get(family, torch.float32)).save_pretrained(folder)
    for extra in os.listdir(folder):
        if extra not in ("config.json", "model.safetensors"):
            os.remove(os.path.join(folder, extra))
    path = os.path.join(folder, "config.json")
    written = json.load(open(path))
    if family in ("bert", "gpt2"):
        written.pop("tie_word_embeddings")
    if family in OLD:
        written = old_spelling(written)
    if family == "gemma4-global":  # as published
        full = written.pop("per_layer_config")["2"]
        written |= dict(global_head_dim=full["head_dim"], num_global_key_value_heads=full["num_key_value_heads"])
    json.dump(written, open(path, "w"), indent=1, sort_keys=True)
    open(path, "a").write("\n")
    # What is recorded is what transformers makes of the folder as it is.
    # BigBird switches to full attention for short texts by itself, but then gives no probabilities.
    full = dict(attention_type="original_full") if family == "big_bird" else {}
    model, report = auto.from_pretrained(folder, attn_implementation="eager", dtype=torch.float64, output_loading_info=True, **full)
    assert not any(report[k] for k in ("missing_keys", "unexpected_keys", "mismatched_keys")), report
    model.eval()
    golden = {}
    if family == "falcon-alibi":
        # Under "eager" transformers adds ALiBi twice, in the layer and in the mask; under "sdpa", its default, once. Half of it twice is once.
        once = falcon.build_alibi_tensor
        falcon.build_alibi_tensor = lambda *given, **options: once(*given, **options) / 2
    for n, given in enumerate(inputs(model, model.config, family)):
        with torch.no_grad(), exactly64(model):
            out = model(**given, output_hidden_states=True, output_attentions=True)
        golden[f"ids.{n}"] = given["input_ids"].int()
        if "token_type_ids" in given:
            golden[f"types.{n}"] = given["token_type_ids"].int()
        if "attention_mask" in given:
            golden[f"keep.{n}"] = given["attention_mask"].int()
        where = given["global_attention_mask"][0].nonzero().flatten().tolist() if "global_attention_mask" in given else []
        if where:
            golden[f"globals.{n}"] = torch.tensor(where).int()
        golden[f"hidden.{n}"] = torch.stack(out.hidden_states)
        golden[f"attention.{n}"] = weights_of(model, out, where)
        golden[f"logits.{n}"] = out.logits
    if family == "falcon-alibi":
        falcon.build_alibi_tensor = once
        sdpa = auto.from_pretrained(folder, dtype=torch.float64).eval()(golden["ids.0"]).logits
        assert (sdpa - golden["logits.0"]).abs().max() < 1e-12
    for name, x in golden.items():
        assert x.dtype == (torch.float64 if name[0] in "hal" else torch.int32), (name, x.dtype)
    save_file({k: x.contiguous() for k, x in golden.items()}, os.path.join(folder, "golden.safetensors"))
    sizes = {f: os.path.getsize(os.path.join(folder, f)) for f in sorted(os.listdir(folder))}
    print(family, sum(sizes.values()), sizes)


def make_encoder_decoder(family):
    kind, fields = ENCODER_DECODERS[family]
    folder = os.path.join(os.path.dirname(HERE), "encoder-decoders", family)
    shutil.rmtree(folder, ignore_errors=True)
    generator = torch.Generator().manual_seed(sum(map(ord, family)))
    model = AutoModelForSeq2SeqLM.from_config(AutoConfig.for_model(kind, **fields))
    if family == "flan-t5":
        model.config.tie_word_embeddings = False
        model.lm_head.weight = torch.nn.Parameter(torch.zeros(V, fields["d_model"]))
    draw(model, generator)
    if hasattr(model, "final_logits_bias"):
        model.final_logits_bias.copy_(0.5 * torch.randn(1, V, generator=generator))
    model.save_pretrained(folder)
    for extra in os.listdir(folder):
        if extra not in ("config.json", "model.safetensors"):
            os.remove(os.path.join(folder, extra))
    path = os.path.join(folder, "config.json")
    written = json.load(open(path))
    # What transformers 5 moves into generation_config.json, and older files have here.
    written.update({k: v for k, v in fields.items() if k.startswith("forced") or k == "bad_words_ids" or k == "decoder_start_token_id"})
    if family == "flan-t5":
        written["tie_word_embeddings"] = False
    json.dump(written, open(path, "w"), indent=1, sort_keys=True)
    open(path, "a").write("\n")
    model, report = AutoModelForSeq2SeqLM.from_pretrained(folder, attn_implementation="eager", dtype=torch.float64, output_loading_info=True)
    assert not any(report[k] for k in ("unexpected_keys", "mismatched_keys")), report
    model.eval()
    golden = {}
    g = torch.Generator().manual_seed(7)
    some = lambda *shape: torch.randint(5, V, shape, generator=g)
    start = torch.full((2, 1), fields["decoder_start_token_id"])
    for n, (ids, target) in enumerate([(some(1, 7), torch.cat([start[:1], some(1, 4)], 1)), (some(2, 3), torch.cat([start, some(2, 2)], 1))]):
        with torch.no_grad(), exactly64(model):
            out = model(input_ids=ids, decoder_input_ids=target, output_hidden_states=True, output_attentions=True)
        golden |= {f"ids.{n}": ids.int(), f"target.{n}": target.int(), f"logits.{n}": out.logits,
                   f"hidden.{n}": torch.stack(out.encoder_hidden_states), f"attention.{n}": torch.stack(out.encoder_attentions),
                   f"decoder-hidden.{n}": torch.stack(out.decoder_hidden_states),
                   f"decoder-attention.{n}": torch.stack(out.decoder_attentions), f"cross.{n}": torch.stack(out.cross_attentions)}
        if n == 0:
            forced = {k: fields[k] for k in ("forced_bos_token_id", "forced_eos_token_id", "bad_words_ids") if fields.get(k) is not None}
            for name, options in GENERATED.items():
                with torch.no_grad():
                    golden[f"{name}.{n}"] = model.generate(ids, do_sample=False, **forced, **options).int()
    save_file({k: x.contiguous() for k, x in golden.items()}, os.path.join(folder, "golden.safetensors"))
    print(family, sum(os.path.getsize(os.path.join(folder, f)) for f in os.listdir(folder)), {k: golden[f"{k}.0"].tolist() for k in GENERATED})


def make_image_model(family):
    kind, fields = IMAGE_MODELS[family]
    folder = os.path.join(os.path.dirname(HERE), "image-models", family)
    shutil.rmtree(folder, ignore_errors=True)
    config = AutoConfig.for_model(kind, **fields)
    model = AutoModel.from_config(config)
    draw(model, torch.Generator().manual_seed(sum(map(ord, family))))
    model.save_pretrained(folder)
    model, report = AutoModel.from_pretrained(folder, attn_implementation="eager", dtype=torch.float64, output_loading_info=True)
    assert not any(report[k] for k in ("missing_keys", "unexpected_keys", "mismatched_keys")), report
    model.eval()
    tower = model.vision_model if kind == "clip" else model
    g = torch.Generator().manual_seed(7)
    golden, patch = {}, tower.config.patch_size
    resizes = {} if kind.startswith("dino") else dict(interpolate_pos_encoding=True)
    for n, (batch, height, width) in enumerate([(2, 3, 3), (1, 2, 4)]):
        pixels = torch.randn(batch, 3, height * patch, width * patch, generator=g)
        with torch.no_grad(), exactly64(tower):
            out = tower(pixels.double(), output_hidden_states=True, output_attentions=True, **resizes)
        golden |= {f"pixels.{n}": pixels, f"hidden.{n}": torch.stack([*out.hidden_states[:-1], out.last_hidden_state]),
                   f"attention.{n}": torch.stack(out.attentions)}
    if kind == "clip":
        ids = torch.randint(5, V, (1, 7), generator=g)
        with torch.no_grad(), exactly64(model.text_model):
            out = model.text_model(ids, output_hidden_states=True, output_attentions=True)
        golden |= {"ids": ids.int(), "text-hidden": out.last_hidden_state, "text-attention": torch.stack(out.attentions)}
    save_file({k: x.contiguous() for k, x in golden.items()}, os.path.join(folder, "golden.safetensors"))
    print(family, sum(os.path.getsize(os.path.join(folder, f)) for f in os.listdir(folder)))


def make_answerer(family):
    kind, fields = ANSWERERS[family]
    folder = os.path.join(os.path.dirname(HERE), "answerers", family)
    shutil.rmtree(folder, ignore_errors=True)
    model = AutoModelForQuestionAnswering.from_config(AutoConfig.for_model(kind, **fields))
    draw(model, torch.Generator().manual_seed(sum(map(ord, family))))
    model.save_pretrained(folder)
    model, report = AutoModelForQuestionAnswering.from_pretrained(folder, attn_implementation="eager", dtype=torch.float64, output_loading_info=True)
    assert not any(report[k] for k in ("missing_keys", "unexpected_keys", "mismatched_keys")), report
    model.eval()
    ids = torch.randint(5, V, (1, 9), generator=torch.Generator().manual_seed(7))
    given = dict(input_ids=ids)
    if kind in ("bert", "albert"):
        given["token_type_ids"] = torch.tensor([[0] * 4 + [1] * 5])
    where = [0, 1, 2, 3] if kind == "longformer" else []
    if where:
        ids[0, [0, 4, 5, 8]] = torch.tensor([0, 2, 2, 2])  # transformers counts three separators, and reads what is before the first as global
    with torch.no_grad(), exactly64(model):
        out = model(**given, output_attentions=True)
    golden = {"ids": ids.int(), "start": out.start_logits, "end": out.end_logits, "attention": weights_of(model, out, where)}
    if where:
        golden["globals"] = torch.tensor(where).int()
    if "token_type_ids" in given:
        golden["types"] = given["token_type_ids"].int()
    save_file({k: x.contiguous() for k, x in golden.items()}, os.path.join(folder, "golden.safetensors"))
    print(family, sum(os.path.getsize(os.path.join(folder, f)) for f in os.listdir(folder)))


if __name__ == "__main__":
    print("torch", torch.__version__, "transformers", transformers.__version__)
    for family in sys.argv[1:] or [*FAMILIES, *ENCODER_DECODERS, *IMAGE_MODELS, *(f"answer-{one}" for one in ANSWERERS)]:
        if family.startswith("answer-"):
            make_answerer(family.removeprefix("answer-"))
            continue
        (make if family in FAMILIES else make_encoder_decoder if family in ENCODER_DECODERS else make_image_model)(family)
