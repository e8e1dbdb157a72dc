#!/usr/bin/env python3
"""CTranslate2 on Heddle, compared with its own CPU:  heddle run PYTHON tests/clients/ctranslate2/run.py [NAME...]

PYTHON has ctranslate2 and numpy. The models are made here, of random numbers. Prints a line of JSON per check (../harness.py)."""
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402

sys.path.pop(0)  # the folder beside this one is no package "torch", which the converter would take it for
import ctranslate2  # noqa: E402
import numpy as np  # noqa: E402
from ctranslate2.specs import common_spec, transformer_spec  # noqa: E402

WORDS, WIDTH, HEADS, LAYERS, INNER = 40, 32, 4, 2, 64
PROMPTS = [["<s>", "t1", "t2"], ["<s>", "t7"], ["<s>", "t30", "t3", "t5"]]
rng = np.random.default_rng(0)


def normal(*shape):
    return (rng.standard_normal(shape) * 0.3).astype(np.float32)


def fill_norm(norm, with_beta):
    norm.gamma = np.ones(WIDTH, np.float32)
    if with_beta:
        norm.beta = np.zeros(WIDTH, np.float32)


def fill_linear(linear, rows, columns, with_bias):
    linear.weight = normal(rows, columns)
    if with_bias:
        linear.bias = normal(rows)


def words():
    return [f"t{i}" for i in range(WORDS - 3)] + ["<s>", "</s>", "<unk>"]


def decoder_model(folder):
    """As Llama's: RMS norms, a gate in the inner layer, two heads of keys, rotary positions."""
    spec = transformer_spec.TransformerDecoderModelSpec.from_config(
        LAYERS, HEADS, activation=common_spec.Activation.SWISH, pre_norm=True, ffn_glu=True, rms_norm=True, rotary_dim=0,
        rotary_interleave=False, num_heads_kv=2)
    decoder, head = spec.decoder, WIDTH // HEADS
    decoder.embeddings.weight, decoder.projection.weight, decoder.scale_embeddings = normal(WORDS, WIDTH), normal(WORDS, WIDTH) * 2, False
    fill_norm(decoder.layer_norm, False)
    for layer in decoder.layer:
        for norm in (layer.self_attention.layer_norm, layer.ffn.layer_norm):
            fill_norm(norm, False)
        layer.self_attention.linear[0].weight = normal(WIDTH + 2 * 2 * head, WIDTH)
        layer.self_attention.linear[1].weight = normal(WIDTH, WIDTH)
        layer.ffn.linear_0.weight, layer.ffn.linear_0_noact.weight, layer.ffn.linear_1.weight = normal(INNER, WIDTH), normal(INNER, WIDTH), normal(WIDTH, INNER)
    spec.register_vocabulary(words())
    spec.config.layer_norm_epsilon = 1e-5
    spec.validate()
    spec.save(folder)


def fill_attention(attention, is_cross):
    fill_norm(attention.layer_norm, True)
    sizes = (WIDTH, 2 * WIDTH, WIDTH) if is_cross else (3 * WIDTH, WIDTH)
    for linear, rows in zip(attention.linear, sizes, strict=True):
        fill_linear(linear, rows, WIDTH, True)


def fill_inner(layer):
    fill_norm(layer.ffn.layer_norm, True)
    fill_linear(layer.ffn.linear_0, INNER, WIDTH, True)
    fill_linear(layer.ffn.linear_1, WIDTH, INNER, True)


def translation_model(folder):
    """An encoder and a decoder with sinusoidal positions, as translators'."""
    spec = transformer_spec.TransformerSpec.from_config(LAYERS, HEADS, pre_norm=True)
    for side in (spec.encoder, spec.decoder):
        (side.embeddings[0] if isinstance(side.embeddings, list) else side.embeddings).weight = normal(WORDS, WIDTH)
        fill_norm(side.layer_norm, True)
        for layer in side.layer:
            fill_attention(layer.self_attention, False)
            fill_inner(layer)
    for layer in spec.decoder.layer:
        fill_attention(layer.attention, True)
    fill_linear(spec.decoder.projection, WORDS, WIDTH, True)
    spec.register_source_vocabulary(words())
    spec.register_target_vocabulary(words())
    spec.validate()
    spec.save(folder)


def numbers(sequences):
    """Words as numbers, in one array: of other words or another length it is another."""
    index = {word: i for i, word in enumerate(words())}
    return np.array([index[word] for sequence in sequences for word in [*sequence, "<s>"]], np.float64)


def same(function, tolerance=0):
    return lambda: (function("cuda"), function("cpu"), tolerance)


def generate(compute_type, **options):
    def run(device):
        generator = ctranslate2.Generator(FOLDERS[decoder_model], device=device, compute_type=compute_type)
        results = generator.generate_batch(PROMPTS, max_length=20, include_prompt_in_result=False, **options)
        return numbers([sequence for result in results for sequence in result.sequences])
    return run


def score(compute_type):
    def run(device):
        generator = ctranslate2.Generator(FOLDERS[decoder_model], device=device, compute_type=compute_type if device == "cuda" else "float32")
        return np.concatenate([result.log_probs for result in generator.score_batch([[*prompt, "t4", "t5"] for prompt in PROMPTS])])
    return run


def translate(compute_type, **options):
    def run(device):
        translator = ctranslate2.Translator(FOLDERS[translation_model], device=device, compute_type=compute_type)
        results = translator.translate_batch([prompt[1:] for prompt in PROMPTS], max_decoding_length=20, **options)
        return numbers([sequence for result in results for sequence in result.hypotheses])
    return run


CHECKS = [
    ("score", same(score("float32"), 1e-4)),
    ("score_float16", same(score("float16"), 0.1)),
    ("score_bfloat16", same(score("bfloat16"), 0.5)),
    ("greedy", same(generate("float32", sampling_topk=1))),
    ("beam", same(generate("float32", beam_size=4, num_hypotheses=3))),
    ("greedy_int8", same(generate("int8_float32", sampling_topk=1))),
    ("beam_int8", same(generate("int8_float32", beam_size=4))),
    ("translate", same(translate("float32", beam_size=1))),
    ("translate_beam", same(translate("float32", beam_size=4, num_hypotheses=2))),
    ("translate_int8", same(translate("int8_float32", beam_size=2))),
]

with tempfile.TemporaryDirectory() as root:
    FOLDERS = {make: os.path.join(root, make.__name__) for make in (decoder_model, translation_model)}
    for make, folder in FOLDERS.items():
        os.mkdir(folder)
        make(folder)
    status = harness.main(CHECKS)
sys.exit(status)
