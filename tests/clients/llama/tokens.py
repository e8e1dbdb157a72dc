#!/usr/bin/env python3
"""llama.cpp's CUDA build against its CPU's, on models that this makes:  heddle run PYTHON tests/clients/llama/tokens.py BUILD/bin/llama-simple

PYTHON has gguf and numpy. A model is a small Llama of random weights, the same each time, in each of the types below; it
continues prompts without chance, once with the device and once without (CUDA_VISIBLE_DEVICES is empty). What it writes must be
the same to the byte. Prints a line of TAP for each model and prompt.

With floats and halves the layers decide what comes next. For the other types llama.cpp rounds vectors in other places on the
device than on the host, on GPUs, too, and the next tokens of a random model are a matter of the last bits: there each token has
a successor, which is near it in the last matrix, and the layers add a little."""
import os
import re
import subprocess
import sys
import tempfile

import gguf
import numpy as np

WIDTH, HEADS, KEY_HEADS, LAYERS, INNER, CONTEXT = 128, 4, 2, 2, 256, 256
TYPES = {"F32": gguf.GGMLQuantizationType.F32, "F16": gguf.GGMLQuantizationType.F16, "BF16": gguf.GGMLQuantizationType.BF16,
         "Q4_0": gguf.GGMLQuantizationType.Q4_0, "Q8_0": gguf.GGMLQuantizationType.Q8_0}
EXACT = ("F32", "F16")
PROMPTS = ["a", "the quick brown fox", "0123456789" * 6]
NEW_TOKENS = 24


def vocabulary():
    """SentencePiece's: marks, all bytes, printable characters. Each token has a score and a kind."""
    kinds = gguf.TokenType
    tokens = [(b"<unk>", 0.0, kinds.UNKNOWN), (b"<s>", 0.0, kinds.CONTROL), (b"</s>", 0.0, kinds.CONTROL)]
    tokens += [(f"<0x{i:02X}>".encode(), 0.0, kinds.BYTE) for i in range(256)]
    tokens += [(chr(i).encode() if i > 32 else "\u2581".encode(), -float(i), kinds.NORMAL) for i in range(32, 127)]
    return tokens + [(f"<pad{i}>".encode(), 0.0, kinds.UNUSED) for i in range(-len(tokens) % 32)]


def write_model(path, name):
    kind, change = TYPES[name], 2 if name in EXACT else 0.1
    random, tokens = np.random.default_rng(7), vocabulary()
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KEY_HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("llama")
    writer.add_token_list([t for t, _, _ in tokens])
    writer.add_token_scores([s for _, s, _ in tokens])
    writer.add_token_types([k for _, _, k in tokens])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)

    def matrix(name, rows, columns, scale, values=None):
        if values is None:
            values = (random.standard_normal((rows, columns)) * scale / columns ** 0.5).astype(np.float32)
        packed = gguf.quants.quantize(values, kind)
        writer.add_tensor(name + ".weight", packed, raw_dtype=kind)
        return values

    def norm(name):
        writer.add_tensor(name + ".weight", (1 + random.standard_normal(WIDTH) / 8).astype(np.float32))

    embedding = matrix("token_embd", len(tokens), WIDTH, 8)
    for i in range(LAYERS):
        norm(f"blk.{i}.attn_norm")
        matrix(f"blk.{i}.attn_q", WIDTH, WIDTH, 2)
        matrix(f"blk.{i}.attn_k", WIDTH * KEY_HEADS // HEADS, WIDTH, 2)
        matrix(f"blk.{i}.attn_v", WIDTH * KEY_HEADS // HEADS, WIDTH, 2)
        matrix(f"blk.{i}.attn_output", WIDTH, WIDTH, change)
        norm(f"blk.{i}.ffn_norm")
        matrix(f"blk.{i}.ffn_gate", INNER, WIDTH, 2)
        matrix(f"blk.{i}.ffn_up", INNER, WIDTH, 2)
        matrix(f"blk.{i}.ffn_down", WIDTH, INNER, change)
    norm("output_norm")
    matrix("output", len(tokens), WIDTH, 4, None if name in EXACT else np.roll(embedding, 37, axis=0))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def written(program, model, prompt, with_device):
    """What it writes, and how many layers it says to have on the device."""
    env = dict(os.environ) if with_device else {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run([program, "-m", model, "-n", str(NEW_TOKENS), "-ngl", "99", prompt], capture_output=True, env=env, timeout=600, check=False)
    said = done.stderr.decode(errors="replace")
    if done.returncode:
        raise RuntimeError("\n".join(said.splitlines()[-5:]))
    found = re.search(r"offloaded (\d+)/\d+ layers to GPU", said)
    return done.stdout, int(found.group(1)) if found else 0


def main(program):
    failed = count = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in TYPES:
            model = os.path.join(folder, name + ".gguf")
            write_model(model, name)
            for prompt in PROMPTS:
                count += 1
                (got, layers), (want, no_layers) = (written(program, model, prompt, where) for where in (True, False))
                good = got == want and len(got) > len(prompt) and layers == LAYERS + 1 and no_layers == 0
                failed += not good
                print(f"{'ok' if good else 'not ok'} {count} - {name}: {prompt[:20]}", flush=True)
                if not good:
                    print(f"# {layers} layers on the device, {no_layers} without it\n# got {got!r}\n# want {want!r}", flush=True)
    print(f"1..{count}")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
