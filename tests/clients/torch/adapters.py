"""Operators of PyTorch's CUDA keys that Heddle composes (src/frameworks/torch/adapters*.h) against
what PyTorch's CPU computes from the same numbers: results, gradients, types and shapes.

    heddle run python adapters.py [NAME...]     tests whose names contain one of these; all
"""

import sys
import traceback

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

TESTS = []
BOUND = {torch.float64: 1e-9, torch.float32: 2e-4, torch.bfloat16: 3e-2, torch.float16: 6e-3}


def test(function):
    TESTS.append(function)
    return function


def same(got, want, what, bound=None):
    """got, of the device, is want, of the host, and of its type and shape."""
    if isinstance(want, (tuple, list)):
        assert len(got) == len(want), what
        for i, (g, w) in enumerate(zip(got, want)):
            same(g, w, f"{what}[{i}]", bound)
        return
    if want is None:
        assert got is None, f"{what}: a tensor, not None"
        return
    assert got.is_cuda, f"{what}: of {got.device}"
    assert got.dtype == want.dtype, f"{what}: {got.dtype}, not {want.dtype}"
    assert got.shape == want.shape, f"{what}: {tuple(got.shape)}, not {tuple(want.shape)}"
    bound = bound or BOUND.get(want.dtype, 0)
    torch.testing.assert_close(
        got.cpu(), want, rtol=bound, atol=bound, equal_nan=True, msg=lambda m: f"{what}: {m}"
    )


def random(*size, dtype=torch.float32, seed=[0]):
    seed[0] += 1
    g = torch.Generator().manual_seed(seed[0])
    return torch.randn(*size, generator=g, dtype=torch.float64).to(dtype)


def both(function, tensors, what, bound=None, gradients=True):
    """function(tensors) on the device and on the host, and the gradients of what requires one."""
    sides = []
    for device in ("cuda", "cpu"):
        args = [t.detach().to(device).requires_grad_(gradients and t.is_floating_point())
                if isinstance(t, torch.Tensor) else t for t in tensors]
        out = function(*args)
        outs = [o for o in (out if isinstance(out, (tuple, list)) else [out])]
        wanted = [a for a in args if isinstance(a, torch.Tensor) and a.requires_grad]
        grads = []
        if gradients:
            weights = [random(*o.shape, dtype=o.dtype, seed=[7 * i]).to(device)
                       for i, o in enumerate(outs)]
            grads = torch.autograd.grad(outs, wanted, weights, allow_unused=True)
        sides.append((outs, list(grads)))
    same(sides[0][0], sides[1][0], what, bound)
    same(sides[0][1], sides[1][1], what + " gradient", bound)


# ---- attention


def attend(q, k, v, bias=None, causal=False, scale=None, from_end=False, keep=None):
    """Plain attention in float64, of [..., n, width]."""
    r = q.shape[-3] // k.shape[-3]
    k, v = k.repeat_interleave(r, -3), v.repeat_interleave(r, -3)
    s = q.double() @ k.double().transpose(-1, -2) * (scale or q.shape[-1] ** -0.5)
    n, m = s.shape[-2:]
    if causal:
        s = s + torch.full((n, m), -torch.inf).to(s).triu(1 + (m - n if from_end else 0))
    if bias is not None:
        s = s.masked_fill(~bias, -torch.inf) if bias.dtype == torch.bool else s + bias.double()
    p = torch.nan_to_num(s.softmax(-1))
    return ((p if keep is None else p * keep) @ v.double()).to(q.dtype)


def sdpa_against_plain(backend, dtype, shape=(2, 3, 17, 17, 16, 16), bias=None, bias_grad=False,
                       kv_heads=None, **options):
    b, h, n, m, w, wv = shape
    hk = kv_heads or h
    tensors = [random(b, h, n, w, dtype=dtype), random(b, hk, m, w, dtype=dtype),
               random(b, hk, m, wv, dtype=dtype)]
    if bias is not None:
        tensors.append(bias)

    def run(q, k, v, bias=None):
        if not q.is_cuda:
            return attend(q, k, v, bias, options.get("is_causal", False), options.get("scale"))
        with sdpa_kernel(backend):
            return F.scaled_dot_product_attention(q, k, v, bias, enable_gqa=hk != h, **options)

    if bias is not None and not bias_grad:
        fixed = tensors.pop()
        inner = run
        run = lambda q, k, v: inner(q, k, v, fixed.to(q.device))  # noqa: E731
    what = f"{backend} {dtype} {shape} {options}"
    both(run, tensors, what, BOUND[dtype] * (1 if dtype == torch.float32 else 4))


@test
def sdpa_flash():
    for dtype in (torch.bfloat16, torch.float16):
        for causal in (False, True):
            sdpa_against_plain(SDPBackend.FLASH_ATTENTION, dtype, is_causal=causal)
        sdpa_against_plain(SDPBackend.FLASH_ATTENTION, dtype, shape=(1, 2, 9, 33, 20, 20), scale=0.3)
        sdpa_against_plain(SDPBackend.FLASH_ATTENTION, dtype, shape=(2, 4, 9, 9, 8, 8), kv_heads=2)


@test
def sdpa_efficient():
    mask = random(2, 3, 17, 17) > -0.5
    mask[..., 0] = True
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        for causal in (False, True):
            sdpa_against_plain(SDPBackend.EFFICIENT_ATTENTION, dtype, is_causal=causal)
            sdpa_against_plain(SDPBackend.EFFICIENT_ATTENTION, dtype, shape=(2, 2, 8, 40, 12, 24),
                               is_causal=causal)
        sdpa_against_plain(SDPBackend.EFFICIENT_ATTENTION, dtype, bias=mask)
        sdpa_against_plain(SDPBackend.EFFICIENT_ATTENTION, dtype,
                           bias=random(2, 3, 17, 17, dtype=dtype), bias_grad=True)
        sdpa_against_plain(SDPBackend.EFFICIENT_ATTENTION, dtype,
                           bias=random(17, 17, dtype=dtype), bias_grad=True)


@test
def sdpa_math():
    for dtype in (torch.float64, torch.float32, torch.bfloat16):
        sdpa_against_plain(SDPBackend.MATH, dtype, is_causal=True)


@test
def sdpa_default_choice():
    for dtype in (torch.float64, torch.float32, torch.bfloat16):
        q, k, v = (random(2, 4, 10, 16, dtype=dtype) for _ in range(3))
        both(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), (q, k, v),
             f"sdpa {dtype}", 4 * BOUND[dtype])
        mask = torch.ones(10, 10, dtype=torch.bool).tril()
        both(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, mask.to(q.device)), (q, k, v),
             f"sdpa with a mask {dtype}", 4 * BOUND[dtype])


@test
def sdpa_query_without_keys():
    q, k, v = (random(1, 2, 6, 8) for _ in range(3))
    mask = torch.ones(6, 6, dtype=torch.bool)
    mask[2] = False
    sdpa_against_plain(SDPBackend.EFFICIENT_ATTENTION, torch.float32, shape=(1, 2, 6, 6, 8, 8),
                       bias=mask)


@test
def sdpa_cudnn_kernel():
    q, k, v = (random(2, 3, 9, 16, dtype=torch.bfloat16).cuda() for _ in range(3))
    r = torch.ops.aten._scaled_dot_product_cudnn_attention(q, k, v, None, True, 0.0, True)
    same(r[0], attend(q.cpu(), k.cpu(), v.cpu(), causal=True), "cudnn", 0.1)
    assert r[1].shape == (2, 3, 9, 1) and r[1].dtype == torch.float32
    grad = random(2, 3, 9, 16, dtype=torch.bfloat16)
    got = torch.ops.aten._scaled_dot_product_cudnn_attention_backward(
        grad.cuda(), q, k, v, r[0], r[1], r[6], r[7], None, None, None, 9, 9, 0.0, True)
    args = [t.cpu().requires_grad_() for t in (q, k, v)]
    want = torch.autograd.grad(attend(*args, causal=True), args, grad)
    same(got, want, "cudnn gradient", 0.1)


@test
def attention_dropout():
    """The gradient is that of the same mask, and about the right part is dropped."""
    for backend, dtype in ((SDPBackend.EFFICIENT_ATTENTION, torch.float32),
                           (SDPBackend.FLASH_ATTENTION, torch.float16)):
        n, p = 64, 0.25
        q, k = (torch.zeros(1, 2, n, n, dtype=dtype, device="cuda") for _ in range(2))
        v = torch.eye(n, dtype=dtype, device="cuda").expand(1, 2, n, n).contiguous()
        v.requires_grad_()
        with sdpa_kernel(backend):
            torch.manual_seed(5)
            out = F.scaled_dot_product_attention(q, k, v, dropout_p=p)
            torch.manual_seed(5)
            again = F.scaled_dot_product_attention(q, k, v, dropout_p=p)
            other = F.scaled_dot_product_attention(q, k, v, dropout_p=p)
        kept = out.detach() * n * (1 - p)
        assert torch.equal(out, again), "the seed does not say what is dropped"
        assert not torch.equal(out, other), "twice the same"
        assert set(kept.float().round(decimals=2).unique().tolist()) == {0.0, 1.0}
        assert abs(kept.float().mean().item() - (1 - p)) < 0.03
        # out = P v, so that the gradient of v is P^T.
        (grad,) = torch.autograd.grad(out, v, torch.eye(n, dtype=dtype, device="cuda")
                                      .expand(1, 2, n, n))
        torch.testing.assert_close(grad, out.detach().transpose(-1, -2), rtol=1e-3, atol=1e-3)
        # And of q and k: by a finite difference of the same mask, in float32.
        if dtype == torch.float32:
            a = [random(1, 1, 5, 8).cuda().requires_grad_() for _ in range(3)]

            def run(*a):
                torch.manual_seed(9)
                with sdpa_kernel(backend):
                    return F.scaled_dot_product_attention(*a, dropout_p=0.4)

            direction = [random(1, 1, 5, 8).cuda() for _ in range(3)]
            weight = random(1, 1, 5, 8).cuda()
            grads = torch.autograd.grad(run(*a), a, weight)
            slope = sum((g * d).sum() for g, d in zip(grads, direction))
            h = 1e-2
            moved = [((run(*[t + s * h * d for t, d in zip(a, direction)])) * weight).sum()
                     for s in (1, -1)]
            torch.testing.assert_close(slope, (moved[0] - moved[1]) / (2 * h), rtol=2e-2,
                                       atol=2e-2)


@test
def flash_several_sequences():
    lengths_q, lengths_k = [5, 1, 8], [7, 1, 12]
    oq = torch.tensor([0, 5, 6, 14], dtype=torch.int32)
    ok = torch.tensor([0, 7, 8, 20], dtype=torch.int32)
    dtype = torch.float16
    q, k, v = random(14, 4, 16, dtype=dtype), random(20, 2, 16, dtype=dtype), random(
        20, 2, 16, dtype=dtype)

    def run(q, k, v):
        if q.is_cuda:
            r = torch.ops.aten._flash_attention_forward(q, k, v, oq.cuda(), ok.cuda(), 8, 12, 0.0,
                                                        True, False)
            assert r[1].shape == (4, 14)
            return r[0]
        parts = []
        for i in range(3):
            s = [t[o[i]:o[i + 1]].transpose(0, 1) for t, o in ((q, oq), (k, ok), (v, ok))]
            parts.append(attend(*s, causal=True, from_end=True).transpose(0, 1))
        return torch.cat(parts)

    assert sum(lengths_q) == 14 and sum(lengths_k) == 20
    both(run, (q, k, v), "flash with offsets", 2e-2)


@test
def flash_windows_and_lengths():
    dtype = torch.bfloat16
    q, k, v = (random(2, 9, 2, 16, dtype=dtype) for _ in range(3))
    got = torch.ops.aten._flash_attention_forward(
        q.cuda(), k.cuda(), v.cuda(), None, None, 9, 9, 0.0, False, False, window_size_left=2,
        window_size_right=1)[0]
    i = torch.arange(9)
    seen = ((i[None] - i[:, None]) <= 1) & ((i[None] - i[:, None]) >= -2)
    want = attend(*(t.transpose(1, 2) for t in (q, k, v)), bias=seen).transpose(1, 2)
    same(got, want, "flash with a window", 0.05)
    used = torch.tensor([4, 9], dtype=torch.int32)
    got = torch.ops.aten._flash_attention_forward(
        q.cuda(), k.cuda(), v.cuda(), None, None, 9, 9, 0.0, False, False, seqused_k=used.cuda())[0]
    seen = (i[None] < used[:, None])[:, None, None, :].expand(2, 2, 9, 9)
    want = attend(*(t.transpose(1, 2) for t in (q, k, v)), bias=seen).transpose(1, 2)
    same(got, want, "flash with lengths", 0.05)


@test
def efficient_several_sequences():
    offsets = torch.tensor([0, 5, 6, 14], dtype=torch.int32)
    q, k, v = (random(1, 14, 2, 16) for _ in range(3))

    def run(q, k, v):
        if q.is_cuda:
            o = offsets.cuda()
            r = torch.ops.aten._efficient_attention_forward(q, k, v, None, o, o, 8, 8, 0.0, 1, True)
            assert r[1].shape == (3, 2, 32)
            return r[0]
        parts = [attend(*(t[0, a:b].transpose(0, 1) for t in (q, k, v)), causal=True)
                 for a, b in zip(offsets, offsets[1:])]
        return torch.cat([p.transpose(0, 1) for p in parts]).unsqueeze(0)

    both(run, (q, k, v), "efficient with offsets", 1e-3)


@test
def nested_attention():
    parts = [random(n, 4, 16, dtype=torch.float16) for n in (3, 9, 5)]
    for layout in (torch.strided, torch.jagged):
        q, k, v = (torch.nested.nested_tensor([p.cuda() for p in parts], layout=layout,
                                              requires_grad=True) for _ in range(3))
        out = F.scaled_dot_product_attention(*(t.transpose(1, 2) for t in (q, k, v)))
        for o, p in zip(out.transpose(1, 2).unbind(), parts):
            s = p.transpose(0, 1)
            same(o, attend(s, s, s).transpose(0, 1), f"nested {layout}", 2e-2)
        out.values().sum().backward() if layout == torch.jagged else None


@test
def flex_attention():
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    def causal(b, h, i, j):
        return i >= j

    q, k, v = (random(1, 2, 128, 16) for _ in range(3))
    mask = create_block_mask(causal, None, None, 128, 128, device="cuda")
    both(lambda q, k, v: flex_attention(q, k, v, block_mask=mask) if q.is_cuda
         else attend(q, k, v, causal=True), (q, k, v), "flex_attention", 1e-3)


@test
def transformer_fast_path():
    layer = torch.nn.TransformerEncoderLayer(32, 4, 64, batch_first=True).eval()
    model = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=True).eval()
    x = random(3, 7, 32)
    padding = torch.zeros(3, 7, dtype=torch.bool)
    padding[1, 4:] = True
    with torch.no_grad():
        want, padded = model(x), model(x, src_key_padding_mask=padding)
        model.cuda()
        same(model(x.cuda()), want, "encoder")
        same(model(x.cuda(), src_key_padding_mask=padding.cuda()), padded, "encoder, padded")
    attention = torch.nn.MultiheadAttention(32, 4, batch_first=True).eval()
    with torch.no_grad():
        want = attention(x, x, x)
        same(attention.cuda()(x.cuda(), x.cuda(), x.cuda()), want, "MultiheadAttention")


def main():
    names = sys.argv[1:]
    tests = [t for t in TESTS if not names or any(n in t.__name__ for n in names)]
    failed = 0
    print(f"1..{len(tests)}", flush=True)
    for i, t in enumerate(tests, 1):
        try:
            t()
            print(f"ok {i} - {t.__name__}", flush=True)
        except Exception:  # noqa: BLE001: any is this test's failure
            failed += 1
            print(f"not ok {i} - {t.__name__}", flush=True)
            for line in traceback.format_exc().splitlines():
                print("# " + line, flush=True)
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
