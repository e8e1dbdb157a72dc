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

# ---- attention that is written as a function


def causal(b, h, q, k):
    return q >= k


def windowed(b, h, q, k):
    return (q >= k) & (q - k < 40)


def alibi(score, b, h, q, k):
    return score + (q - k) * 0.01 * (h + 1)


def soft_cap(score, b, h, q, k):
    return 20 * torch.tanh(score / 20)


def reference(q, k, v, score_mod, mask=None):
    """On the CPU, where FlexAttention has no gradients."""
    k, v = (t.repeat_interleave(q.shape[1] // t.shape[1], 1) for t in (k, v))
    scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    at = torch.meshgrid(*[torch.arange(n) for n in scores.shape], indexing="ij")
    scores = score_mod(scores, *at) if score_mod else scores
    return (scores.masked_fill(~mask(*at), -torch.inf) if mask else scores).softmax(-1) @ v


def flex(score_mod, mask, compiled, heads=(2, 2), length=128, dtype=torch.float32, bound=2e-3):
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    torch._dynamo.reset()
    torch.manual_seed(0)
    sides = []
    tensors = [torch.randn(2, h, length, 16) for h in (heads[0], heads[1], heads[1])]
    for device in ("cuda", "cpu"):
        q, k, v = (t.to(device, dtype if device == "cuda" else torch.float32).requires_grad_()
                   for t in tensors)
        if device == "cuda":
            block = create_block_mask(mask, None, None, length, length) if mask else None
            call = torch.compile(flex_attention) if compiled else flex_attention
            out = call(q, k, v, score_mod=score_mod, block_mask=block,
                       enable_gqa=heads[0] != heads[1])
        else:
            out = reference(q, k, v, score_mod, mask)
        out.sin().sum().backward()
        sides.append([t.float() for t in (out, q.grad, k.grad, v.grad)])
    close(*sides, "flex attention", bound)


@test
def flex_attention_eager():
    flex(alibi, causal, False)


@test
def flex_attention_compiled():
    flex(None, None, True)


@test
def flex_attention_causal_alibi():
    flex(alibi, causal, True, length=256)


@test
def flex_attention_window_soft_cap_gqa():
    flex(soft_cap, windowed, True, heads=(4, 2), length=256)


@test
def flex_attention_bfloat16():
    flex(None, causal, True, dtype=torch.bfloat16, bound=5e-2)


@test
def flex_attention_captured_bias():
    """A score that reads a tensor, which gets a gradient."""
    from torch.nn.attention.flex_attention import flex_attention

    torch._dynamo.reset()
    torch.manual_seed(0)
    tensors = [torch.randn(1, 2, 128, 16) for _ in range(3)] + [torch.randn(2, 128)]
    sides = []
    for device in ("cuda", "cpu"):
        q, k, v, bias = (t.to(device).requires_grad_() for t in tensors)

        def biased(score, b, h, i, j, bias=bias):
            return score + bias[h, j]
        out = torch.compile(flex_attention)(q, k, v, score_mod=biased) if device == "cuda" else \
            reference(q, k, v, biased)
        out.sin().sum().backward()
        sides.append([out, q.grad, k.grad, v.grad, bias.grad])
    close(*sides, "flex attention", 2e-3)


@test
def flex_attention_decoding():
    """One query: another kernel."""
    from torch.nn.attention.flex_attention import flex_attention

    torch._dynamo.reset()
    torch.manual_seed(0)
    q, k, v = torch.randn(2, 4, 1, 32), torch.randn(2, 4, 256, 32), torch.randn(2, 4, 256, 32)
    got = torch.compile(flex_attention)(q.cuda(), k.cuda(), v.cuda(), score_mod=soft_cap)
    close(got, reference(q, k, v, soft_cap), "flex decoding", 2e-3)


# ---- kernels and control flow inside of compiled functions


def triton_kernels():
    try:
        import triton
        import triton.language as tl
    except ImportError as e:
        raise Skip("there is no triton") from e
    globals()["tl"] = tl

    @triton.jit
    def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        a = tl.load(x + i, mask=i < n)
        b = tl.load(y + i, mask=i < n)
        tl.store(out + i, a + 2 * b, mask=i < n)
    return add_kernel, triton


@test
def triton_op():
    kernel, triton = triton_kernels()

    @torch.library.triton_op("heddle_tests::add2", mutates_args={})
    def add2(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        out = torch.empty_like(x)
        n = x.numel()
        torch.library.wrap_triton(kernel)[(triton.cdiv(n, 64),)](x, y, out, n, BLOCK=64)
        return out

    def backward(ctx, grad):
        return grad, 2 * grad

    add2.register_autograd(backward)
    x, y = (torch.randn(500).cuda().requires_grad_() for _ in range(2))
    eager = add2(x, y)
    close(eager, (x + 2 * y).cpu(), "eager")
    compiled = torch.compile(lambda x, y: add2(x.sin(), y).cos(), fullgraph=True)
    out = compiled(x, y)
    close(out, (x.sin() + 2 * y).cos().cpu(), "compiled")
    gx, gy = torch.autograd.grad(out.sum(), (x, y))
    want = torch.autograd.grad((x.sin() + 2 * y).cos().sum(), (x, y))
    close([gx, gy], [w.cpu() for w in want], "gradients")


@test
def triton_kernel_in_compiled_function():
    kernel, triton = triton_kernels()

    def f(x, y):
        out = torch.empty_like(x)
        kernel[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, y, out, x.numel(), BLOCK=32)
        return out * 2

    x, y = torch.randn(100), torch.randn(100)
    for mode in (None, "reduce-overhead"):
        torch._dynamo.reset()
        compiled = torch.compile(f, fullgraph=True, mode=mode)
        for _ in range(3):
            close(compiled(x.cuda(), y.cuda()), (x + 2 * y) * 2, str(mode))


@test
def higher_order_operators():
    from torch._higher_order_ops import associative_scan, cond, scan, while_loop

    def conditional(x):
        return cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,))

    def loop(x):
        return while_loop(lambda i, x: i < 5, lambda i, x: (i + 1, x * 1.5),
                          (torch.zeros((), dtype=torch.int64, device=x.device), x))[1]

    def scanned(x):
        return scan(lambda c, x: (c * 0.5 + x, c.sin()), torch.zeros_like(x[0]), x)

    def associative(x):
        return associative_scan(lambda a, b: a * b, x, dim=0, combine_mode="pointwise")

    x = torch.rand(6, 8) + 0.5
    for f in (conditional, loop, scanned):
        for sign in (1, -1):
            torch._dynamo.reset()
            want = f(sign * x)
            close(f(sign * x.cuda()), want, f"{f.__name__}, eager")
            close(torch.compile(f, fullgraph=True)(sign * x.cuda()), want, f"{f.__name__}, compiled")
    torch._dynamo.reset()
    close(torch.compile(associative, fullgraph=True)(x.cuda()), x.cumprod(0), "associative scan")


# ---- ways to compile


def small():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 3))


@test
def cudagraph_trees():
    """Paths that branch, an input of changing size, memory that is given back, mutation."""
    torch._dynamo.reset()
    m = small().cuda()
    host = small()
    buffer = torch.zeros(3, device="cuda")

    def f(x):
        y = m(x)
        buffer.add_(y.detach().sum(0))
        return y.sin() if x.shape[0] == 2 else y.cos()

    compiled = torch.compile(f, mode="reduce-overhead", dynamic=False)
    total = torch.zeros(3)
    for i in range(8):
        torch.compiler.cudagraph_mark_step_begin()
        x = torch.randn(2 if i % 3 else 4, 8)
        got = compiled(x.cuda())
        y = host(x)
        total += y.detach().sum(0)
        close(got, y.sin() if x.shape[0] == 2 else y.cos(), f"step {i}", 1e-3)
    close(buffer, total, "a buffer that graphs change", 1e-3)
    torch.compiler.cudagraph_mark_step_begin()
    with torch.no_grad():
        one = torch.compile(lambda x: m(x) + 1, mode="reduce-overhead")
        first = [one(torch.ones(2, 8, device="cuda")).clone() for _ in range(3)]
    close(first, [host(torch.ones(2, 8)) + 1] * 3, "inference")


@test
def compiled_autograd():
    torch._dynamo.reset()
    m, host = small().cuda(), small()
    x = torch.randn(5, 8)
    with torch._dynamo.compiled_autograd._enable(torch.compile(fullgraph=True)):
        torch.compile(m)(x.cuda()).pow(2).sum().backward()
    host(x).pow(2).sum().backward()
    close([p.grad for p in m.parameters()], [p.grad for p in host.parameters()], "gradients")


@test
def compiled_optimizers():
    for make in (lambda p: torch.optim.SGD(p, 0.1, momentum=0.9),
                 lambda p: torch.optim.AdamW(p, 0.01),
                 lambda p: torch.optim.AdamW(p, torch.tensor(0.01), capturable=True)
                 if p[0].is_cuda else torch.optim.AdamW(p, 0.01),
                 lambda p: torch.optim.Adagrad(p, 0.01),
                 lambda p: torch.optim.RMSprop(p, 0.01)):
        torch._dynamo.reset()
        m, host = small().cuda(), small()
        sides = []
        for model in (m, host):
            optimizer = make(list(model.parameters()))
            step = torch.compile(optimizer.step) if model is m else optimizer.step
            torch.manual_seed(3)
            for _ in range(3):
                x = torch.randn(5, 8)
                optimizer.zero_grad()
                model(x.to(next(model.parameters()).device)).pow(2).sum().backward()
                step()
            sides.append(list(model.parameters()))
        close(*sides, type(optimizer).__name__, 1e-3)


@test
def freezing():
    import torch._inductor.config as config

    torch._dynamo.reset()
    host = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(),
                         nn.Linear(4 * 36, 3)).eval()
    m = copy.deepcopy(host).cuda()
    x = torch.randn(2, 3, 8, 8)
    with config.patch(freezing=True), torch.no_grad():
        close(torch.compile(m)(x.cuda()), host(x), "frozen", 1e-3)


@test
def regional():
    """Each layer is compiled by itself."""
    torch._dynamo.reset()
    torch.manual_seed(0)
    host = nn.Sequential(*[nn.Sequential(nn.Linear(8, 8), nn.GELU()) for _ in range(4)])
    m = copy.deepcopy(host).cuda()
    for layer in m:
        layer.compile(fullgraph=True)
    x = torch.randn(3, 8)
    close(m(x.cuda()), host(x), "regional compilation")


@test
def checkpointed():
    from torch.utils.checkpoint import checkpoint

    torch._dynamo.reset()
    m, host = small().cuda(), small()

    @torch.compile
    def f(x):
        return checkpoint(lambda x: m(x).sin(), x, use_reentrant=False)
    x = torch.randn(3, 8)
    f(x.cuda()).sum().backward()
    host(x).sin().sum().backward()
    close([p.grad for p in m.parameters()], [p.grad for p in host.parameters()], "gradients")


@test
def autocast():
    torch._dynamo.reset()
    m, host = small().cuda(), small()

    @torch.compile(fullgraph=True)
    def f(x):
        with torch.autocast("cuda", torch.bfloat16):
            return m(x).float().pow(2).sum()
    x = torch.randn(5, 8)
    got = f(x.cuda())
    got.backward()
    with torch.autocast("cpu", torch.bfloat16):
        want = host(x).float().pow(2).sum()
    close(got, want, "autocast", 3e-2)


@test
def dropout_of_compiled_functions():
    """As many ones as there should be, and the same again from the same seed."""
    torch._dynamo.reset()
    f = torch.compile(lambda x: F.dropout(x, 0.25, True))
    x = torch.ones(400, 100, device="cuda")
    torch.manual_seed(5)
    first = f(x)
    torch.manual_seed(5)
    assert torch.equal(first, f(x)) and not torch.equal(first, f(x))
    assert abs((first != 0).float().mean().item() - 0.75) < 0.02


WORKER = """
import torch, sys
f = torch.compile(lambda x: (x.sin() * 3 + x.cumsum(0)).softmax(-1))
x = torch.arange(96., device="cuda").view(12, 8) / 96
want = (x.cpu().sin() * 3 + x.cpu().cumsum(0)).softmax(-1)
torch.testing.assert_close(f(x).cpu(), want, rtol=1e-4, atol=1e-5)
from torch._dynamo.utils import counters
print("hits", counters["inductor"]["fxgraph_cache_hit"])
"""


def worker(folder, **env):
    import subprocess

    env = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": folder, "TRITON_CACHE_DIR": folder + "/t", **env}
    done = subprocess.run([sys.executable, "-c", WORKER], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return int(done.stdout.split()[-1])


@test
def cold_and_warm_cache():
    with tempfile.TemporaryDirectory() as folder:
        assert worker(folder) == 0, "a hit in an empty cache"
        assert worker(folder) == 1, "no hit in a cache that was filled"


@test
def workers_that_compile():
    for start in ("subprocess", "fork", "spawn"):
        with tempfile.TemporaryDirectory() as folder:
            worker(folder, TORCHINDUCTOR_COMPILE_THREADS="2", TORCHINDUCTOR_WORKER_START=start)


@test
def cpp_wrapper():
    import torch._inductor.config as config

    with config.patch(cpp_wrapper=True):
        compare_model(mlp)


# ---- export


class Several(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3)
        self.lin = nn.Linear(8 * 36, 16)
        self.norm = nn.LayerNorm(16)
        self.out = nn.Linear(16, 4)

    def forward(self, x):
        x = self.norm(F.gelu(self.lin(torch.relu(self.conv(x)).flatten(1))))
        q = x.view(x.shape[0], 1, 4, 4)
        a = F.scaled_dot_product_attention(q, q, q).reshape(x.shape[0], 16)
        top = torch.topk(a, 3, dim=1).values.sum(1, keepdim=True)
        return torch.softmax(self.out(x + a) + top + torch.sort(x, stable=True)[0][:, :1], -1)


def exported():
    torch.manual_seed(0)
    host = Several().eval()
    m = copy.deepcopy(host).cuda()
    batch = torch.export.Dim("batch", min=2, max=64)
    with torch.no_grad():
        program = torch.export.export(m, (torch.randn(5, 3, 8, 8, device="cuda"),),
                                      dynamic_shapes=({0: batch},))
    return host, program


@test
def export():
    host, program = exported()
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        path = os.path.join(folder, "m.pt2")
        torch.export.save(program, path)
        for p in (program, torch.export.load(path), program.run_decompositions()):
            for n in (2, 7):
                x = torch.randn(n, 3, 8, 8)
                close(p.module()(x.cuda()), host(x), f"batch {n}")


@test
def aot_inductor():
    host, program = exported()
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        path = torch._inductor.aoti_compile_and_package(
            program, package_path=os.path.join(folder, "m.pt2"))
        run = torch._inductor.aoti_load_package(path)
        for n in (2, 5, 9):
            x = torch.randn(n, 3, 8, 8)
            close(run(x.cuda()), host(x), f"batch {n}")


LOADER = """
#include <iostream>
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>
#include <torch/torch.h>
int main(int, char **argv)
{
    c10::InferenceMode mode;
    torch::inductor::AOTIModelPackageLoader loader(argv[1]);
    std::vector<at::Tensor> in = {torch::ones({6, 3, 8, 8}, at::kCUDA)};
    std::cout.precision(9);
    std::cout << loader.run(in)[0].flatten()[3].item<double>() << std::endl;
}
"""


@test
def aot_inductor_from_cpp():
    import subprocess

    host, program = exported()
    root = os.path.dirname(torch.__file__)
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        path = torch._inductor.aoti_compile_and_package(
            program, package_path=os.path.join(folder, "m.pt2"))
        source, exe = os.path.join(folder, "load.cpp"), os.path.join(folder, "load")
        with open(source, "w") as file:
            file.write(LOADER)
        subprocess.run(["c++", "-std=c++20", source, "-o", exe, f"-I{root}/include",
                        f"-I{root}/include/torch/csrc/api/include", f"-L{root}/lib",
                        f"-Wl,-rpath,{root}/lib", "-Wl,--no-as-needed", "-ltorch", "-ltorch_cuda",
                        "-ltorch_cpu", "-lc10_cuda", "-lc10", "-Wl,--allow-shlib-undefined"],
                       check=True)
        done = subprocess.run([exe, path], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-2000:]
        want = host(torch.ones(6, 3, 8, 8)).flatten()[3].item()
        assert abs(float(done.stdout) - want) < 1e-4, (done.stdout, want)



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
