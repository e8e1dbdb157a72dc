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
    return torch.randn(size, generator=g, dtype=torch.float64).to(dtype)


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


def raises(kind, text, call):
    try:
        call()
    except kind as e:
        assert text in str(e), f"{e}, not {text}"
    else:
        raise AssertionError(f"nobody says: {text}")


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
            sdpa_against_plain(SDPBackend.EFFICIENT_ATTENTION, dtype, shape=(2, 2, 8, 40, 16, 24),
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


# ---- recurrent networks


def rnn_against_cpu(kind, dtype=torch.float32, packed=False, **options):
    torch.manual_seed(3)
    model = getattr(torch.nn, kind)(6, 8, num_layers=2, dtype=dtype, **options)
    x = random(5, 3, 6, dtype=dtype)
    results = []
    for device in ("cuda", "cpu"):
        m = getattr(torch.nn, kind)(6, 8, num_layers=2, dtype=dtype, **options)
        m.load_state_dict(model.state_dict())
        m.to(device)
        m.flatten_parameters()
        i = x.to(device).requires_grad_()
        inside = torch.nn.utils.rnn.pack_padded_sequence(
            i, torch.tensor([5, 2, 4]), enforce_sorted=False) if packed else i
        out, state = m(inside)
        out = out.data if packed else out
        states = state if isinstance(state, tuple) else (state,)
        loss = out.float().sin().sum() + sum(s.float().cos().sum() for s in states)
        grads = torch.autograd.grad(loss, [i, *m.parameters()])
        results.append(((out, *states), grads))
    what = f"{kind} {dtype} {options} packed={packed}"
    same(results[0][0], results[1][0], what)
    same(results[0][1], results[1][1], what + " gradient", 4 * BOUND[dtype])


@test
def recurrent():
    for kind in ("LSTM", "GRU", "RNN"):
        rnn_against_cpu(kind)
        rnn_against_cpu(kind, bidirectional=True, packed=True)
        rnn_against_cpu(kind, torch.bfloat16)
        rnn_against_cpu(kind, torch.float64, bias=False)
    rnn_against_cpu("LSTM", proj_size=4)


@test
def recurrent_with_cudnn_enabled():
    torch.backends.cudnn.enabled = True
    try:
        for kind in ("LSTM", "GRU", "RNN"):
            rnn_against_cpu(kind)
        model = torch.nn.LSTM(6, 8, 2).cuda()
        before = [p.detach().clone() for p in model.parameters()]
        flat = torch._cudnn_rnn_flatten_weight(
            [p.detach() for p in model.parameters()], 4, 6, 2, 8, 0, 2, False, False)
        assert all(torch.equal(p, b) for p, b in zip(model.parameters(), before))
        assert flat.numel() == sum(b.numel() for b in before)
    finally:
        torch.backends.cudnn.enabled = False


@test
def recurrent_cells():
    x, h, c = random(4, 6), random(4, 8), random(4, 8)
    for kind in ("LSTMCell", "GRUCell", "RNNCell"):
        cell = getattr(torch.nn, kind)(6, 8)
        state = cell.state_dict()

        def run(x, h, c):
            m = getattr(torch.nn, kind)(6, 8).to(x.device)
            m.load_state_dict(state)
            return m(x, (h, c)) if kind == "LSTMCell" else m(x, h) + 0 * c

        both(run, (x, h, c), kind)


@test
def recurrent_dropout():
    model = torch.nn.LSTM(6, 64, 2, dropout=0.5).cuda()
    x = random(3, 4, 6).cuda()
    torch.manual_seed(1)
    first = model(x)[0]
    torch.manual_seed(1)
    assert torch.equal(first, model(x)[0])
    assert not torch.equal(first, model(x)[0])
    first.sum().backward()
    model.eval()
    assert torch.equal(model(x)[0], model(x)[0])


# ---- normalisation


@test
def sync_batch_norm_parts():
    """As SyncBatchNorm calls them, with two parts, against batch_norm of the whole."""
    eps, momentum = 1e-5, 0.1
    for dtype in (torch.float32, torch.float64):
        x, dy, w, b = random(6, 3, 4, dtype=dtype), random(6, 3, 4, dtype=dtype), random(
            3, dtype=dtype), random(3, dtype=dtype)
        rm, rv = random(3, dtype=dtype), random(3, dtype=dtype).abs()
        want_rm, want_rv = rm.clone(), rv.clone()
        args = [t.clone().requires_grad_() for t in (x, w, b)]
        want = F.batch_norm(args[0], want_rm, want_rv, args[1], args[2], True, momentum, eps)
        want_grads = torch.autograd.grad(want, args, dy)
        parts = [x[:2].cuda(), x[2:].cuda()]
        stats = [torch.batch_norm_stats(p, eps) for p in parts]
        counts = torch.tensor([p.numel() / 3 for p in parts], dtype=dtype).cuda()
        mean, invstd = (torch.stack(s) for s in zip(*stats))
        rm, rv = rm.cuda(), rv.cuda()
        m, i = torch.batch_norm_gather_stats_with_counts(
            parts[0], mean, invstd, rm, rv, momentum, eps, counts)
        got = torch.cat([torch.batch_norm_elemt(p, w.cuda(), b.cuda(), m, i, eps) for p in parts])
        same(got, want.detach(), "batch_norm_elemt")
        same((rm, rv), (want_rm, want_rv), "running statistics")
        reduced = [torch.batch_norm_backward_reduce(g, p, m, i, w.cuda(), True, True, True)
                   for g, p in zip((dy[:2].cuda(), dy[2:].cuda()), parts)]
        sum_dy, sum_dy_xmu, dw, db = (sum(r) for r in zip(*reduced))
        n = torch.tensor([8, 16], dtype=torch.int32).cuda()
        dx = torch.cat([torch.batch_norm_backward_elemt(g, p, m, i, w.cuda(), sum_dy, sum_dy_xmu, n)
                        for g, p in zip((dy[:2].cuda(), dy[2:].cuda()), parts)])
        same((dx, dw, db), want_grads, "gradients of SyncBatchNorm's parts")
    m, i = torch.batch_norm_stats(random(4, 3, 5).half().cuda(), eps)
    assert m.dtype == i.dtype == torch.float32
    m, i = torch.batch_norm_gather_stats(parts[0], mean, invstd, None, None, momentum, eps, 8)
    assert m.shape == i.shape == (3,)


@test
def batch_norm_with_cudnn_enabled():
    torch.backends.cudnn.enabled = True
    try:
        for training in (True, False):
            x, w, b = random(4, 3, 5, 5), random(3), random(3)

            def run(x, w, b):
                rm, rv = torch.zeros(3, device=x.device), torch.ones(3, device=x.device)
                y = F.batch_norm(x, rm, rv, w, b, training)
                return y, y + rm[:, None, None] + rv[:, None, None]

            both(run, (x, w, b), f"batch_norm training={training}")
    finally:
        torch.backends.cudnn.enabled = False
    x, w, b = random(4, 3, 5, 5), random(3), random(3)

    def named(x, w, b):
        if x.is_cuda:
            return torch.ops.aten.cudnn_batch_norm(x, w, b, None, None, True, 0.1, 1e-5)[0]
        return F.batch_norm(x, None, None, w, b, True)

    both(named, (x, w, b), "cudnn_batch_norm")


@test
def rms_norm():
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        x, w = random(4, 3, 8, dtype=dtype), random(3, 8, dtype=dtype)
        both(lambda x, w: F.rms_norm(x, (3, 8), w), (x, w), f"rms_norm {dtype}",
             4 * BOUND[dtype])
        both(lambda x: F.rms_norm(x, (8,)), (x,), f"rms_norm without weight {dtype}",
             4 * BOUND[dtype])


# ---- convolutions


@test
def convolutions_of_cudnn():
    x, w, b = random(2, 4, 7, 7), random(6, 2, 3, 3), random(6)

    def conv(x, w, b):
        if x.is_cuda:
            y = torch.ops.aten.cudnn_convolution(x, w, [1, 1], [2, 2], [1, 1], 2, False, False,
                                                 False)
            return y, torch.cudnn_convolution_relu(x.detach(), w.detach(), b.detach(), [1, 1],
                                                   [1, 1], [1, 1], 2) + 0 * b[:, None, None]
        return (F.conv2d(x, w, None, 2, 1, 1, 2),
                F.conv2d(x, w, b, 1, 1, 1, 2).relu().detach() + 0 * b[:, None, None])

    both(conv, (x, w, b), "cudnn_convolution")
    z = random(2, 6, 7, 7)
    got = torch.cudnn_convolution_add_relu(x.cuda(), w.cuda(), z.cuda(), 0.5, b.cuda(), [1, 1],
                                           [1, 1], [1, 1], 2)
    same(got, (F.conv2d(x, w, b, 1, 1, 1, 2) + 0.5 * z).relu(), "cudnn_convolution_add_relu")
    wt = random(4, 3, 3, 3)
    both(lambda x, w: torch.ops.aten.cudnn_convolution_transpose(
        x, w, [1, 1], [1, 1], [2, 2], [1, 1], 1, False, False, False) if x.is_cuda
        else F.conv_transpose2d(x, w, None, 2, 1, 1), (x, wt), "cudnn_convolution_transpose")


@test
def depthwise_convolutions():
    # Their gradients are convolution's: PyTorch's formulas for these names take no groups.
    x, w, b = random(2, 4, 7, 7), random(8, 1, 3, 3), random(8)
    got = torch.ops.aten._conv_depthwise2d(x.cuda(), w.cuda(), [3, 3], b.cuda(), [1, 1], [1, 1],
                                           [1, 1])
    same(got, F.conv2d(x, w, b, 1, 1, 1, 4), "_conv_depthwise2d")
    x, w = random(2, 4, 5, 5, 5), random(4, 1, 3, 3, 3)
    got = torch.ops.aten.conv_depthwise3d(x.cuda(), w.cuda(), [3] * 3, None, [1] * 3, [1] * 3,
                                          [1] * 3)
    same(got, F.conv3d(x, w, None, 1, 1, 1, 4), "conv_depthwise3d")
    both(lambda x, w: F.conv3d(x, w, None, 1, 1, 1, 4), (x, w), "conv3d in groups")


@test
def grids_and_ctc_with_cudnn_enabled():
    torch.backends.cudnn.enabled = True
    try:
        x, theta = random(2, 3, 6, 6), random(2, 2, 3)
        both(lambda x, t: F.grid_sample(x, F.affine_grid(t, (2, 3, 4, 4), align_corners=True),
                                        align_corners=True), (x, theta), "grid_sample", 1e-3)
        both(lambda t: torch.cudnn_affine_grid_generator(t, 2, 3, 4, 4) if t.is_cuda
             else F.affine_grid(t, (2, 3, 4, 4), align_corners=True), (theta,), "affine grid")
        logs = random(12, 2, 5).log_softmax(-1)
        targets = torch.tensor([1, 2, 3, 4, 1], dtype=torch.int32)
        both(lambda l: F.ctc_loss(l, targets, (12, 12), (3, 2)), (logs,), "ctc_loss")
        both(lambda l: torch.ops.aten._cudnn_ctc_loss(l, targets, [12, 12], [3, 2], 0, True, False)[0]
             if l.is_cuda else F.ctc_loss(l, targets, (12, 12), (3, 2), reduction="none"), (logs,),
             "_cudnn_ctc_loss", 1e-3)
    finally:
        torch.backends.cudnn.enabled = False


# ---- products


@test
def products_with_a_wider_result():
    for dtype in (torch.float16, torch.bfloat16):
        a, b, c = (random(*s, dtype=dtype) for s in ((4, 5), (5, 6), (4, 6)))
        wide = [t.float() for t in (a, b, c)]
        ca, cb, cc = a.cuda(), b.cuda(), c.cuda()
        same(torch.mm(ca, cb, out_dtype=torch.float32), wide[0] @ wide[1], "mm")
        out = torch.empty(4, 6, device="cuda")
        torch.mm(ca, cb, out_dtype=torch.float32, out=out)
        same(out, wide[0] @ wide[1], "mm out")
        same(torch.addmm(cc, ca, cb, out_dtype=torch.float32, beta=0.5, alpha=2),
             0.5 * wide[2] + 2 * (wide[0] @ wide[1]), "addmm")
        a3, b3, c3 = (t[None].expand(2, -1, -1) for t in (ca, cb, cc))
        want = (wide[0] @ wide[1])[None].expand(2, -1, -1)
        same(torch.bmm(a3, b3, out_dtype=torch.float32), want, "bmm")
        same(torch.baddbmm(c3, a3, b3, out_dtype=torch.float32), want + wide[2], "baddbmm")
        try:
            torch.mm(ca, cb, out_dtype=torch.float64)
        except RuntimeError as e:
            assert "out_dtype" in str(e)
        else:
            raise AssertionError("a result in float64")


def eight_bits(*size, dtype=torch.float8_e4m3fn):
    t = random(*size)
    scale = t.abs().max() / 448
    q = (t / scale).to(dtype)
    return q, scale


@test
def scaled_products():
    m, k, n = 32, 256, 48
    a, sa = eight_bits(m, k)
    b, sb = eight_bits(n, k)
    bias = random(n, dtype=torch.bfloat16)
    plain = (a.float() * sa) @ (b.float() * sb).t()
    got = torch._scaled_mm(a.cuda(), b.cuda().t(), sa.cuda(), sb.cuda(), bias=bias.cuda(),
                           out_dtype=torch.bfloat16)
    same(got, (plain + bias.float()).bfloat16(), "per tensor", 2e-2)
    got = torch._scaled_mm(a.cuda(), b.cuda().t(), sa.cuda(), sb.cuda(), out_dtype=torch.float32)
    same(got, plain, "per tensor, float32")
    got = torch._scaled_mm(a.cuda(), b.cuda().t(), sa.cuda(), sb.cuda())
    assert got.dtype == a.dtype and not got.float().isnan().any()
    ra, rb = random(m, 1).abs(), random(1, n).abs()
    got = torch._scaled_mm(a.cuda(), b.cuda().t(), ra.cuda(), rb.cuda(), out_dtype=torch.bfloat16)
    same(got, ((a.float() * ra) @ (b.float() * rb.t()).t()).bfloat16(), "per row", 2e-2)
    # Blocks of 128, PyTorch's own reference being the definition.
    ba, bb = random(m, 2).abs(), random(1, 2).abs()
    want = (a.float() * ba.repeat_interleave(128, 1)) @ (
        b.float() * bb.repeat_interleave(128, 1)).t()
    got = torch._scaled_mm(a.cuda(), b.cuda().t(), ba.cuda(), bb.cuda().t(),
                           out_dtype=torch.float32)
    same(got, want, "blocks", 1e-3)
    # Blocks of 32, with scales as tensor cores want them.
    from torch.nn.functional import ScalingType, SwizzleType, scaled_mm

    def swizzled(s):
        r, c = -(-s.shape[0] // 128) * 128, -(-s.shape[1] // 4) * 4
        p = torch.zeros(r, c, dtype=torch.uint8)
        p[:s.shape[0], :s.shape[1]] = s.view(torch.uint8)
        p = p.view(r // 128, 4, 32, c // 4, 4).permute(0, 3, 2, 1, 4)
        return p.reshape(-1).view(torch.float8_e8m0fnu)

    ea = torch.randint(120, 132, (m, k // 32), dtype=torch.uint8).view(torch.float8_e8m0fnu)
    eb = torch.randint(120, 132, (n, k // 32), dtype=torch.uint8).view(torch.float8_e8m0fnu)
    want = (a.float() * ea.float().repeat_interleave(32, 1)) @ (
        b.float() * eb.float().repeat_interleave(32, 1)).t()
    got = torch._scaled_mm(a.cuda(), b.cuda().t(), swizzled(ea).cuda(), swizzled(eb).cuda(),
                           out_dtype=torch.bfloat16)
    torch.testing.assert_close(got.cpu().float(), want, rtol=2e-2, atol=float(want.abs().max()) / 99)
    got = scaled_mm(a.cuda(), b.cuda().t(), swizzled(ea).cuda(), ScalingType.BlockWise1x32,
                    swizzled(eb).cuda(), ScalingType.BlockWise1x32,
                    SwizzleType.SWIZZLE_32_4_4, SwizzleType.SWIZZLE_32_4_4,
                    output_dtype=torch.bfloat16)
    torch.testing.assert_close(got.cpu().float(), want, rtol=2e-2, atol=float(want.abs().max()) / 99)
    got = scaled_mm(a.cuda(), b.cuda().t(), ra.cuda(), ScalingType.RowWise, rb.cuda(),
                    ScalingType.RowWise, output_dtype=torch.bfloat16)
    same(got, ((a.float() * ra) @ (b.float() * rb.t()).t()).bfloat16(), "scaled_mm per row", 2e-2)
    try:
        torch._scaled_mm(a.cuda()[:, :8], b.cuda().t()[:8], sa.cuda(), sb.cuda())
    except RuntimeError as e:
        assert "divisible by 16" in str(e)
    else:
        raise AssertionError("a product of 8 columns")


@test
def grouped_products():
    dtype = torch.bfloat16
    a, b = random(24, 16, dtype=dtype), random(3, 16, 32, dtype=dtype)
    offs = torch.tensor([8, 8, 24], dtype=torch.int32)

    def plain(a, b):
        ends = [0, *offs.tolist()]
        return torch.cat([a[s:e].float() @ b[i].float()
                          for i, (s, e) in enumerate(zip(ends, ends[1:]))])

    both(lambda a, b: torch._grouped_mm(a, b, offs=offs.to(a.device)) if a.is_cuda
         else plain(a, b).to(dtype), (a, b), "_grouped_mm", 0.1)
    q, _ = eight_bits(24, 16)
    w, _ = eight_bits(3, 32, 16)
    sa, sb = random(24).abs(), random(3, 32).abs()
    got = torch._scaled_grouped_mm(q.cuda(), w.cuda().transpose(1, 2), sa.cuda(), sb.cuda(),
                                   offs=offs.cuda(), out_dtype=dtype)
    want = plain(q.float() * sa[:, None], (w.float() * sb[..., None]).transpose(1, 2))
    torch.testing.assert_close(got.cpu().float(), want, rtol=2e-2, atol=float(want.abs().max()) / 99)


@test
def weights_of_four_bits():
    n, k, group = 16, 128, 32
    for inner in (2, 4, 8):
        codes = torch.randint(0, 16, (n, k), dtype=torch.uint8)
        halves = (codes[:, ::2] << 4) | codes[:, 1::2]
        packed = torch._convert_weight_to_int4pack(halves.cuda(), inner)
        assert packed.shape == (n // 8, k // (inner * 16), 32, inner // 2)
        assert packed.dtype == torch.int32
        # Lane 0 of tile 0 holds k = 0, 1, 8, 9 and 16, 17, 24, 25 of row 0.
        word = packed[0, 0, 0, 0].item() & 0xFFFFFFFF
        order = [0, 8, 16, 24, 1, 9, 17, 25]
        assert [(word >> (4 * i)) & 15 for i in range(8)] == codes[0, order].tolist()
        table = random(k // group, n, 2, dtype=torch.bfloat16)
        x = random(5, k, dtype=torch.bfloat16)
        got = torch._weight_int4pack_mm(x.cuda(), packed, group, table.cuda())
        scale, zero = (table[..., i].float().t().repeat_interleave(group, 1) for i in (0, 1))
        want = (x.float() @ ((codes.float() - 8) * scale + zero).t()).bfloat16()
        same(got, want, "_weight_int4pack_mm", 0.2)
    w = torch.randint(-128, 127, (n, k), dtype=torch.int8)
    s = random(n, dtype=torch.bfloat16)
    got = torch._weight_int8pack_mm(x.cuda(), w.cuda(), s.cuda())
    same(got, ((x.float() @ w.float().t()) * s.float()).bfloat16(), "_weight_int8pack_mm", 2.0)
    a = torch.randint(-128, 127, (32, 16), dtype=torch.int8)
    same(torch._int_mm(a.cuda(), w[:16].t()[:16].contiguous().cuda()), a.int() @ w[:16].t()[:16].int(),
         "_int_mm")


# ---- the rest


def two_of_four(m, k, dtype):
    kept = torch.rand(m, k // 4, 4).argsort(-1) < 2
    t = random(m, k // 4, 4).sign() * (random(m, k // 4, 4).abs() + 0.5)
    if dtype == torch.int8:
        t = t * 20
    return (t * kept).view(m, k).to(dtype)


@test
def semi_structured():
    from torch.sparse import SparseSemiStructuredTensor, to_sparse_semi_structured

    for cutlass in (True, False):
        SparseSemiStructuredTensor._FORCE_CUTLASS = cutlass
        for dtype in (torch.float16, torch.bfloat16):
            w, x = two_of_four(64, 128, dtype), random(32, 128, dtype=dtype)
            bias = random(64, dtype=dtype)
            sparse = to_sparse_semi_structured(w.cuda())
            same(F.linear(x.cuda(), sparse, bias.cuda()), F.linear(x, w, bias),
                 f"linear cutlass={cutlass} {dtype}", 0.1)
            same(torch.mm(sparse, x.cuda().t()), w @ x.t(), f"mm cutlass={cutlass} {dtype}", 0.1)
            same(sparse.to_dense(), w, f"to_dense cutlass={cutlass} {dtype}")
    w, x = two_of_four(64, 128, torch.int8), torch.randint(-9, 9, (128, 32), dtype=torch.int8)
    compressed = torch._cslt_compress(w.cuda())
    same(torch._cslt_sparse_mm(compressed, x.cuda(), out_dtype=torch.int32), w.int() @ x.int(),
         "_cslt_sparse_mm of int8")


@test
def dropouts():
    x = torch.ones(1000).cuda()
    y, mask = torch._fused_dropout(x, 0.75)
    assert mask.dtype == torch.uint8
    assert torch.equal(y, mask / 0.75)
    assert abs(mask.float().mean().item() - 0.75) < 0.06
    same(torch._masked_scale(x, mask, 2.0), 2.0 * mask.cpu().float(), "_masked_scale")


@test
def several_compressed_matrices():
    a = torch.stack([two_of_four(4, 8, torch.float32) for _ in range(3)])
    a[:, a[0] == 0] = 0
    a[a == 0] = 0
    a[:, a[0] != 0] = a[:, a[0] != 0] + 3
    b, c = random(3, 8, 5), random(3, 4, 5)
    csr = a.cuda().to_sparse_csr()
    same(torch.bmm(csr, b.cuda()), a @ b, "bmm of CSR")
    out = torch.empty(3, 4, 5, device="cuda")
    torch.baddbmm(c.cuda(), csr, b.cuda(), beta=0.5, out=out)
    same(out, 0.5 * c + a @ b, "baddbmm of CSR")


@test
def adapters_in_graphs():
    q = random(2, 3, 16, 16).cuda().requires_grad_()
    h = random(2, 3, 16, 16, dtype=torch.float16).cuda().requires_grad_()
    lstm, x, w = torch.nn.LSTM(8, 8).cuda(), random(4, 2, 8).cuda(), torch.ones(16, device="cuda")

    def run():
        o = F.scaled_dot_product_attention(q, q, q, dropout_p=0.5)
        p = F.scaled_dot_product_attention(h, h, h, is_causal=True)
        r = F.rms_norm(q, (16,), w)
        grads = torch.autograd.grad(o.sum(), q) + torch.autograd.grad(p.float().sum() + r.sum(),
                                                                      [q, h])
        return [t.detach() for t in (o, p, r, lstm(x)[0], *grads)]

    want = run()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        outs = run()
    replays = []
    for _ in range(2):
        graph.replay()
        torch.cuda.synchronize()
        replays.append([t.clone() for t in outs])
    assert not torch.equal(replays[0][0], replays[1][0]), "each replay drops the same"
    for i in (1, 2, 3, 5, 6):
        for r in replays:
            torch.testing.assert_close(r[i], want[i], rtol=1e-3, atol=1e-3)
    # An `out` that grows.
    out = torch.empty(0, device="cuda")
    with torch.cuda.graph(graph := torch.cuda.CUDAGraph()):
        torch.sum(q.detach(), -1, out=out)
    graph.replay()
    torch.cuda.synchronize()
    torch.testing.assert_close(out, q.detach().sum(-1))


# ---- what CUDA's kernels do, look at, or leave alone, and the CPU's do not


@test
def softmax_of_halves_into_floats():
    x = random(5, 7, dtype=torch.float16)
    for f in (F.softmax, F.log_softmax):
        for dim in (0, 1):
            both(lambda t: f(t, dim, dtype=torch.float32), [x], f"{f.__name__} {dim}", 2e-3)


@test
def svd_takes_the_drivers_of_cusolver():
    a = random(4, 3)
    for driver in ("gesvd", "gesvdj", "gesvda"):
        same(torch.linalg.svd(a.cuda(), driver=driver).S, torch.linalg.svdvals(a), driver)
    raises(RuntimeError, "unknown svd driver", lambda: torch.linalg.svd(a.cuda(), driver="none"))


@test
def halves_are_computed_in_floats():
    grid, kernel = (t.mul(16).round().div(16) for t in (random(2, 8, 8, 2), random(3, 4, 5, 5)))
    calls = (
        lambda x: F.grid_sample(x, grid.to(x), mode="bilinear", align_corners=False),
        lambda x: F.grid_sample(x, grid.to(x), mode="bicubic", align_corners=False),
        lambda x: F.log_softmax(8 * x, 1), lambda x: torch.logit(x.clamp(1 / 64, 63 / 64)),
        lambda x: F.interpolate(x, scale_factor=1.7, mode="bicubic"),
        lambda x: F.interpolate(x[0], scale_factor=1.7, mode="linear"),
        lambda x: F.interpolate(x[None], scale_factor=1.7, mode="trilinear"),
        lambda x: F.adaptive_avg_pool3d(x[None], 3), lambda x: F.conv_transpose2d(x, kernel.to(x)),
        lambda x: torch.trace(x[0, 0]),
        lambda x: torch.ops.aten.avg_pool2d_backward(x, x, 5, 1, 2, False, True, None))
    for dtype in (torch.float16, torch.bfloat16):
        x = random(2, 3, 16, 16, dtype=dtype).cuda()
        for i, call in enumerate(calls):
            got, want = call(x), call(x.float()).to(dtype)
            torch.testing.assert_close(got, want, msg=lambda m, i=i: f"{i} {dtype}: {m}")


@test
def lazy_clones_stay_lazy_until_they_are_written():
    t = torch.arange(4.0, device="cuda")
    clone = t._lazy_clone()
    assert torch.equal(t + clone, 2 * torch.arange(4.0, device="cuda"))
    assert torch._C._is_cow_tensor(t) and torch._C._is_cow_tensor(clone), "reading made a copy"
    clone.add_(1)
    torch.add(t, 5, out=(out := t._lazy_clone()))
    assert t.tolist() == [0, 1, 2, 3] and clone.tolist() == [1, 2, 3, 4] and out[0] == 5
    mean, var = (torch.ones(2, device="cuda") for _ in range(2))
    F.batch_norm(torch.randn(8, 2, device="cuda"), mean._lazy_clone(), var._lazy_clone(), training=True)
    assert mean.tolist() == [1, 1] and var.tolist() == [1, 1], "a clone wrote into what it is of"


@test
def sizes_of_nested_tensors_are_on_the_host():
    nt = torch.nested.as_nested_tensor([torch.rand(2, 3, device="cuda"), torch.rand(1, 3, device="cuda")])
    for t in (nt, nt.clone(), nt * 2):
        for _ in range(2):
            sizes = t._nested_tensor_size()
            assert sizes.is_cpu and sizes.tolist() == [[2, 3], [1, 3]], sizes
        assert torch.is_same_size(t, nt) and t.unbind()[0].shape == (2, 3)


@test
def results_are_moved_and_not_copied():
    x = torch.rand(1 << 20, device="cuda")
    size_B = x.nbytes
    for results, call in ((1, lambda: x + x), (2, lambda: x.frexp()), (2, lambda: torch._foreach_add([x, x], 1))):
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        kept = call()
        peak_B = torch.cuda.max_memory_allocated() - before
        assert results * size_B <= peak_B < (results + 1) * size_B, (peak_B, results, kept)


@test
def lists_of_many_tensors():
    base = torch.arange(400.0).view(100, 4)
    for device in ("cpu", "cuda"):
        rows = base.clone().to(device).unbind()  # views of one storage, which is not base's
        parts = [torch.full((3,), float(i), device=device) for i in range(300)]
        torch._foreach_add_(rows[50:] + rows[:50], 1.0)
        torch._foreach_add_(parts, parts)
        torch._foreach_mul_(parts[:100], parts[200:])
        results = [rows[0]._base, *parts, *torch._foreach_norm(parts), *torch._foreach_sub(parts, parts[::-1])]
        heads = torch.split(results[0], 1)  # results that are views of an argument, too
        torch._foreach_zero_(list(heads[10:90]))
        if device == "cpu":
            want = results
    same(results, want, "lists")


@test
def operators_that_are_not_deterministic_on_a_gpu():
    x = torch.rand(2, 3, 8, 8, device="cuda", requires_grad=True)
    i = torch.zeros(4, dtype=torch.long, device="cuda")
    v = torch.rand(4, device="cuda")
    alerts = (
        ("adaptive_avg_pool2d_backward_cuda", lambda: F.adaptive_avg_pool2d(x, 3).sum().backward()),
        ("grid_sampler_2d_backward_cuda",
         lambda: F.grid_sample(x, torch.zeros(2, 2, 2, 2, device="cuda"), align_corners=True).sum().backward()),
        ("adaptive_max_pool2d_backward_cuda", lambda: F.adaptive_max_pool2d(x, 3).sum().backward()),
        ("_histc_cuda with floating point input", lambda: torch.histc(v)),
        ("_bincount_cuda", lambda: torch.bincount(i, v)),
        ("median CUDA with indices output", lambda: v.median(0)),
        ("put_", lambda: v.clone().put_(i, v, accumulate=True)),
        ("nll_loss2d_forward_out_cuda_template",
         lambda: F.nll_loss(x, torch.zeros(2, 8, 8, dtype=torch.long, device="cuda"))),
    )
    quiet = (lambda: torch.histc(i), lambda: torch.bincount(i), lambda: v.median(),
             lambda: v.scatter_reduce(0, i, v, "amax"), lambda: v.scatter_add(0, i, v),
             lambda: F.nll_loss(x, torch.zeros(2, 8, 8, dtype=torch.long, device="cuda"),
                                reduction="none"))
    torch.use_deterministic_algorithms(True)
    try:
        for name, call in alerts:
            raises(RuntimeError, f"{name} does not have a deterministic implementation", call)
        for call in quiet:
            call()
    finally:
        torch.use_deterministic_algorithms(False)
    for _, call in alerts:
        call()


@test
def operators_that_wait_for_a_gpu():
    x, mask = torch.rand(4, device="cuda"), torch.tensor([True, False, True, True], device="cuda")
    i = torch.tensor([1, 0], device="cuda")
    waiting = (lambda: x.nonzero(), lambda: x[mask], lambda: x[i.cpu()], lambda: x.masked_select(mask),
               lambda: torch.unique(i), lambda: torch.bincount(i), lambda: torch.equal(x, x),
               lambda: torch.repeat_interleave(x, torch.ones_like(x, dtype=torch.long)),
               lambda: x.clone().__setitem__(mask, x[0]))
    running = (lambda: x + x, lambda: x[i], lambda: x.clone().__setitem__(mask, 1.0),
               lambda: x.clone().index_put_((i,), x[:2], accumulate=True))
    host = i.cpu()
    torch.cuda.set_sync_debug_mode("error")
    try:
        for call in waiting:
            raises(RuntimeError, "called a synchronizing CUDA operation", call)
        for call in running:
            call()
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert x[host].shape == (2,)


@test
def arguments_that_only_cpus_take():
    x, n = torch.rand(2, 2, device="cuda"), torch.rand(())
    raises(RuntimeError, "CPU Scalar support for self argument", lambda: torch.addcmul(n, x, x))
    raises(RuntimeError, "CPU Scalar support for tensor1 argument", lambda: torch.addcmul(x, n, x))
    assert torch.addcmul(x, x, n).shape == (2, 2)
    i, c, h = torch.ones(2, 2, dtype=torch.long, device="cuda"), x.to(torch.complex64), x.half()
    image, kernel = i[None, None], i[None, None]
    for name, kind, call in (
            ("cuda_scatter_gather_base_kernel_func", "ComplexFloat",
             lambda: c.scatter_(0, i, c.clone(), reduce="multiply")),
            ("addmm_cuda", "Long", lambda: i @ i),
            ("addmm_cuda", "Long", lambda: F.linear(i, i, i[0])),
            ("addmv_impl_cuda", "Long", lambda: i.mv(i[0])),
            ("baddbmm_cuda", "Int", lambda: torch.bmm(image[0].int(), image[0].int())),
            ("dot", "Long", lambda: i[0].dot(i[0])),
            ("slow_conv2d_cuda", "Long", lambda: F.conv2d(image, kernel)),
            ("max_pool2d_with_indices_out_cuda_frame", "Long", lambda: F.max_pool2d(image, 2)),
            ("avg_pool3d_out_cuda", "Long", lambda: F.avg_pool3d(image[None], 1)),
            ("upsample_bilinear2d_out_frame", "Byte",
             lambda: F.interpolate(image.byte(), 4, mode="bilinear", antialias=True)),
            ("angle_cuda", "Half", lambda: h.angle())):
        raises(NotImplementedError, f"\"{name}\" not implemented for '{kind}'", call)
    assert (i[:0] @ i).shape == (0, 2) and torch.histc(i, 2).tolist() == [0, 4]


@test
def what_is_saved_has_cudas_form():
    c, y = torch.randn(3).abs() + 1, random(4, 3, 5)
    for dtype in (torch.float32, torch.half):
        a = y.to("cuda", dtype)
        mean, var = (t.to("cuda", dtype) for t in (c * 2, c))
        _, m, r = torch.native_batch_norm(a, None, None, mean, var, False, 0.1, 1e-5)
        assert m.dtype == r.dtype == torch.float32, f"statistics of {dtype}: {m.dtype}, {r.dtype}"
        assert m.data_ptr() != mean.data_ptr(), "the mean is a copy"
        same(m, mean.cpu().float(), "mean without training")
        same(r, (var.cpu().float() + 1e-5).rsqrt(), "deviation without training")
        out, m, r, _ = torch.cudnn_batch_norm(a, mean, mean, mean, var, False, 0.1, 1e-5)
        assert m.shape == r.shape == (0,), "cuDNN saves nothing without training"
    assert torch.ops.aten.log_sigmoid_forward(y.cuda())[1].shape == (0,)
    for dtype in (torch.float32, torch.bfloat16):
        both(F.logsigmoid, (y.to(dtype),), f"logsigmoid {dtype}")
    weight, ids = random(10, 4), torch.tensor([1, 2, 4, 5, 4, 3])
    offsets = torch.tensor([0, 2, 2, 6])
    for mode, name in enumerate(("sum", "mean", "max")):
        for last in (False, True):
            for forward in (torch.ops.aten._embedding_bag, torch.ops.aten._embedding_bag_forward_only):
                out, bag_of, sizes, maxima = forward(
                    weight.cuda(), ids.cuda(), offsets.cuda(), False, mode, False, None, last, -1)
                assert bag_of.tolist() == [0, 0, 2, 2, 2, 2], f"{name}: bags {bag_of.tolist()}"
                assert sizes.shape == offsets.shape, f"{name}: sizes {sizes}"
                assert maxima.shape == (out.shape if name == "max" else (0,)), f"{name}: {maxima}"
            both(lambda w: F.embedding_bag(
                ids.to(w.device), w, offsets.to(w.device), mode=name, include_last_offset=last),
                (weight,), f"embedding_bag {name} {last}")


@test
def types_that_cudas_kernels_compose():
    flags = torch.eye(3) > 0
    assert torch.equal(flags.cuda().abs().cpu(), flags)
    assert flags.cuda().trace().item() == 3
    assert torch.nansum(torch.tensor([1, torch.nan], dtype=torch.complex64, device="cuda")).item() == 1


@test
def dropout_of_nested_tensors():
    parts = [torch.ones(3, 4, device="cuda"), torch.ones(2, 4, device="cuda")]
    before = torch.get_rng_state()
    torch.cuda.manual_seed(3)
    got = F.dropout(torch.nested.nested_tensor(parts), 0.5).unbind()
    torch.cuda.manual_seed(3)
    want = F.dropout(torch.cat(parts).reshape(-1), 0.5)
    assert torch.equal(torch.cat(got).reshape(-1), want), "the numbers are those of its elements"
    assert torch.equal(torch.get_rng_state(), before), "the host's generator is nobody's"


@test
def fused_adam_with_states_of_bfloat16():
    """Parameters of float with such a state, as torch.optim's fused Adam has them on a GPU."""
    for name in ("_fused_adam_", "_fused_adamw_"):
        for amsgrad in (False, True):
            def state(dtype):
                return [[random(9, 5, seed=[i]).abs().to("cuda").to(torch.bfloat16).to(dtype)
                         for i in (n, n + 1)] for n in (10, 20, 30)]

            def step(dtype, lr):
                params = [random(9, 5, seed=[i]).to("cuda") for i in (1, 2)]
                grads = [random(9, 5, seed=[i]).to("cuda") for i in (3, 4)]
                avgs, sqs, maxima = state(dtype)
                steps = [torch.tensor(3.0, device="cuda") for _ in params]
                getattr(torch, name)(params, grads, avgs, sqs, maxima if amsgrad else [], steps,
                                     lr=lr, beta1=0.9, beta2=0.99, weight_decay=0.1, eps=1e-8,
                                     amsgrad=amsgrad, maximize=False)
                return params, avgs + sqs + maxima

            for lr in (0.01, torch.tensor(0.01, device="cuda")):
                params, states = step(torch.bfloat16, lr)
                want, wide = step(torch.float32, lr)
                same(params, [w.cpu() for w in want], f"{name} parameters")
                assert all(s.dtype == torch.bfloat16 for s in states), states
                same(states, [w.to(torch.bfloat16).cpu() for w in wide], f"{name} state", 1e-9)


@test
def refusals_say_why():
    x = torch.ones(8, 8, device="cuda")
    for call in (lambda: torch._sparse_semi_structured_tile(x.half(), "largest_abs_values_greedy"),
                 lambda: torch._triton_scaled_dot_attention(x, x, x),
                 lambda: torch.miopen_convolution(x[None, None], x[None, None], None, [0, 0], [1, 1],
                                                  [1, 1], 1, False, False)):
        try:
            call()
        except NotImplementedError as e:
            assert "Heddle: aten::" in str(e) and "is not supported" in str(e), e
            assert "PyTorch has no kernel" not in str(e), f"without a reason: {e}"
        else:
            raise AssertionError("an operator that is refused ran")


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
