"""torch.compile, torch.export and AOTInductor on cuda against eager PyTorch on the CPU.

    heddle run python compiled.py [NAME...]     tests whose names contain one of these; all

Models need transformers and diffusers; without them their tests are left out. A test takes up to
some minutes the first time: each is a program of many kernels that Triton compiles.
"""

import copy
import os
import sys
import tempfile
import time
import traceback

import torch
import torch.nn.functional as F
from torch import nn

TESTS = []


class Skip(Exception):
    pass


def test(function):
    TESTS.append(function)
    return function


def close(got, want, what, bound=2e-4):
    if isinstance(want, (tuple, list)):
        assert len(got) == len(want), what
        for i, (g, w) in enumerate(zip(got, want)):
            close(g, w, f"{what}[{i}]", bound)
        return
    if want is None:
        assert got is None, what
        return
    assert got.is_cuda, f"{what}: of {got.device}"
    torch.testing.assert_close(got.detach().cpu(), want.detach(), rtol=bound, atol=bound,
                               check_stride=False, msg=lambda m: f"{what}: {m}")


# ---- models: forward, backward and steps of an optimizer

MODELS = {}


def model(function):
    MODELS[function.__name__] = function
    return function


@model
def mlp():
    return nn.Sequential(nn.Linear(20, 64), nn.GELU(), nn.LayerNorm(64), nn.Linear(64, 5)), \
        lambda n: (torch.randn(n, 20),)


@model
def cnn():
    return nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(),
                         nn.MaxPool2d(2), nn.Conv2d(8, 8, 3), nn.GroupNorm(2, 8), nn.SiLU(),
                         nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(32, 5)), \
        lambda n: (torch.randn(n, 3, 12, 12),)


@model
def transformer():
    layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), \
        lambda n: (torch.randn(n, 10, 32),)


class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(30, 16)
        self.lstm = nn.LSTM(16, 16, 2, batch_first=True)
        self.out = nn.Linear(16, 4)

    def forward(self, tokens):
        return self.out(self.lstm(self.embed(tokens))[0])


@model
def lstm():
    return Lstm(), lambda n: (torch.randint(0, 30, (n, 7)),)


class First(nn.Module):
    """A model of transformers or diffusers, that gives the first of its results."""

    def __init__(self, inner, **fixed):
        super().__init__()
        self.inner = inner
        self.fixed = fixed

    def forward(self, *args):
        return self.inner(*args, **self.fixed, return_dict=False)[0]


def of_library(name):
    try:
        return __import__(name)
    except ImportError as e:
        raise Skip(f"there is no {name}") from e


def tokens(n):
    return (torch.randint(0, 50, (n, 9)),)


@model
def bert():
    t = of_library("transformers")
    c = t.BertConfig(vocab_size=50, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
                     intermediate_size=64, hidden_dropout_prob=0, attention_probs_dropout_prob=0)
    return First(t.BertModel(c)), tokens


@model
def gpt2():
    t = of_library("transformers")
    c = t.GPT2Config(vocab_size=50, n_embd=32, n_layer=2, n_head=4, n_positions=64, resid_pdrop=0,
                     embd_pdrop=0, attn_pdrop=0)
    return First(t.GPT2LMHeadModel(c), use_cache=False), tokens


@model
def llama():
    t = of_library("transformers")
    c = t.LlamaConfig(vocab_size=50, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
                      num_key_value_heads=2, intermediate_size=64, max_position_embeddings=64)
    return First(t.LlamaForCausalLM(c), use_cache=False), tokens


@model
def vit():
    t = of_library("transformers")
    c = t.ViTConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
                    intermediate_size=64, image_size=16, patch_size=4, hidden_dropout_prob=0,
                    attention_probs_dropout_prob=0)
    return First(t.ViTModel(c)), lambda n: (torch.randn(n, 3, 16, 16),)


@model
def unet():
    d = of_library("diffusers")
    m = d.UNet2DModel(sample_size=16, in_channels=3, out_channels=3, layers_per_block=1,
                      block_out_channels=(16, 32), norm_num_groups=4, attention_head_dim=8,
                      down_block_types=("DownBlock2D", "AttnDownBlock2D"),
                      up_block_types=("AttnUpBlock2D", "UpBlock2D"))
    return First(m), lambda n: (torch.randn(n, 3, 16, 16), torch.tensor(3))


def steps(m, forward, inputs, device, learning_rate=0.05):
    """Outputs, gradients of the last step, and parameters after SGD."""
    optimizer = torch.optim.SGD(m.parameters(), learning_rate)
    outs = []
    for i in inputs:
        optimizer.zero_grad()
        out = forward(*[t.to(device) for t in i])
        out.float().pow(2).mean().backward()
        outs.append(out.detach().clone())
        optimizer.step()
    grads = [p.grad.clone() for p in m.parameters() if p.grad is not None]
    return outs, grads, [p.detach().clone() for p in m.parameters()]


def compare_model(make, sizes=(3, 3), bound=1e-3, **options):
    torch.manual_seed(0)
    torch._dynamo.reset()
    host, inputs = make()
    device = copy.deepcopy(host).cuda()
    inputs = [inputs(n) for n in sizes]
    compiled = torch.compile(device, **options)

    def forward(*args):
        if options.get("mode") in ("reduce-overhead", "max-autotune"):
            torch.compiler.cudagraph_mark_step_begin()
        return compiled(*args)

    want = steps(host, host, inputs, "cpu")
    got = steps(device, forward, inputs, "cuda")
    for g, w, what in zip(got, want, ("outputs", "gradients", "parameters")):
        close(g, w, what, bound)


def add_models():
    def add(name, make, what, **options):
        def run():
            compare_model(make, **options)
        run.__name__ = f"{name}_{what}"
        test(run)

    for name, make in MODELS.items():
        add(name, make, "default", fullgraph=name != "lstm")
        add(name, make, "dynamic", sizes=(3, 5, 2), dynamic=True)
        add(name, make, "reduce_overhead", sizes=(3, 3, 3, 3), mode="reduce-overhead")
        add(name, make, "max_autotune", sizes=(3, 3, 3), mode="max-autotune")


add_models()


def main():
    names = sys.argv[1:]
    tests = [t for t in TESTS if not names or any(n in t.__name__ for n in names)]
    failed = 0
    print(f"1..{len(tests)}", flush=True)
    for i, t in enumerate(tests, 1):
        start = time.time()
        try:
            t()
            print(f"ok {i} - {t.__name__} # {time.time() - start:.1f} s", flush=True)
        except Skip as e:
            print(f"ok {i} - {t.__name__} # SKIP {e}", flush=True)
        except Exception:  # noqa: BLE001: any is this test's failure
            failed += 1
            print(f"not ok {i} - {t.__name__}", flush=True)
            for line in traceback.format_exc().splitlines():
                print("# " + line, flush=True)
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
