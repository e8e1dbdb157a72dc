"""Checks of extensions that have no tests of their own, or too large ones:

    heddle run PYTHON extension_checks.py diff_gaussian
    heddle run PYTHON extension_checks.py nvdiffrast
    heddle run PYTHON extension_checks.py pointnet2
    heddle run PYTHON extension_checks.py fused_ssim tests/test.py
    heddle run PYTHON extension_checks.py vllm libraries/_vllm_fa2_C.abi3.so
"""
import math
import re
import sys


def close(what, got, want, tolerance):
    error = (got.detach().cpu().double() - want.detach().cpu().double()).abs().max().item()
    print(f"{what}: {error:.2g} off")
    assert error <= tolerance, f"{what}: {error:.3g} off, more than {tolerance}"


def gaussians(torch, count):
    generator = torch.Generator().manual_seed(1)
    means = torch.rand(count, 3, generator=generator) * torch.tensor([1.6, 1.6, 2.0]) + torch.tensor([-0.8, -0.8, 2.0])
    scales = torch.rand(count, 3, generator=generator) * 0.1 + 0.05
    turns = torch.nn.functional.normalize(torch.randn(count, 4, generator=generator))
    opacities = torch.rand(count, 1, generator=generator) * 0.6 + 0.2
    colors = torch.rand(count, 3, generator=generator)
    return [t.double().requires_grad_() for t in (means, scales, turns, opacities, colors)]


def splat(torch, means, scales, turns, opacities, colors, size, tan):
    """The picture in doubles: every Gaussian over every pixel, from front to back."""
    r, x, y, z = turns.unbind(1)
    axes = torch.stack([1 - 2 * (y * y + z * z), 2 * (x * y - r * z), 2 * (x * z + r * y),
                        2 * (x * y + r * z), 1 - 2 * (x * x + z * z), 2 * (y * z - r * x),
                        2 * (x * z - r * y), 2 * (y * z + r * x), 1 - 2 * (x * x + y * y)], 1).view(-1, 3, 3)
    axes = axes * scales[:, None, :]
    focal = size / (2 * tan)
    depth, zero = means[:, 2], torch.zeros_like(means[:, 2])
    slope = torch.stack([focal / depth, zero, -focal * means[:, 0] / depth**2, zero, focal / depth, -focal * means[:, 1] / depth**2], 1).view(-1, 2, 3)
    flat = slope @ axes
    cover = flat @ flat.transpose(1, 2) + 0.3 * torch.eye(2, dtype=torch.float64)
    center = ((means[:, :2] / (depth * tan)[:, None] + 1) * size - 1) / 2
    at = torch.arange(size, dtype=torch.float64)
    pixels = torch.stack(torch.meshgrid(at, at, indexing="xy"), -1).view(-1, 2)
    off = pixels[:, None] - center[None]
    power = -0.5 * (off[:, :, None] @ torch.linalg.inv(cover) @ off[..., None]).squeeze(-1).squeeze(-1)
    alpha = (opacities[:, 0] * power.exp()).clamp(max=0.99)
    alpha = torch.where(alpha < 1 / 255, torch.zeros_like(alpha), alpha)
    order = depth.argsort()
    alpha = alpha[:, order]
    left = torch.cumprod(torch.cat([torch.ones_like(alpha[:, :1]), 1 - alpha], 1), 1)[:, :-1]
    return ((alpha * left) @ colors[order]).T.view(3, size, size)


def diff_gaussian():
    import torch
    from diff_gaussian_rasterization import GaussianRasterizationSettings, GaussianRasterizer
    size, tan, count = 64, 0.5, 20
    want_of = gaussians(torch, count)
    got_of = [t.detach().float().cuda().requires_grad_() for t in want_of]
    near, far = 0.01, 100.0
    projection = torch.tensor([[1 / tan, 0, 0, 0], [0, 1 / tan, 0, 0], [0, 0, far / (far - near), 1], [0, 0, -far * near / (far - near), 0]])
    settings = GaussianRasterizationSettings(image_height=size, image_width=size, tanfovx=tan, tanfovy=tan, bg=torch.zeros(3, device="cuda"), scale_modifier=1.0,
                                             viewmatrix=torch.eye(4, device="cuda"), projmatrix=projection.cuda(), sh_degree=0,
                                             campos=torch.zeros(3, device="cuda"), prefiltered=False, debug=False)
    means, scales, turns, opacities, colors = got_of
    picture, radii = GaussianRasterizer(settings)(means3D=means, means2D=torch.zeros_like(means, requires_grad=True), opacities=opacities,
                                                  colors_precomp=colors, scales=scales, rotations=turns)
    want = splat(torch, *want_of, size, tan)
    assert (radii > 0).sum() == count
    close("picture", picture, want, 1e-5)
    weights = torch.linspace(-1, 1, want.numel(), dtype=torch.float64).view_as(want)
    (want * weights).sum().backward()
    (picture * weights.float().cuda()).sum().backward()
    for name, got, wanted in zip(("means", "scales", "rotations", "opacities", "colors"), got_of, want_of):
        close(f"gradient of {name}", got.grad, wanted.grad, 1e-4 * max(1.0, wanted.grad.abs().max().item()))


def fused_ssim(script):
    """The project's test with smaller pictures and fewer rounds."""
    with open(script, encoding="utf-8") as file:
        text = file.read()
    for pattern, small in ((r"= 5, 5, 1080, 1920", "= 1, 3, 120, 200"), (r"= 2, 1, 96, 96, 96", "= 2, 1, 32, 40, 48"), (r"iterations = \d+", "iterations = 2")):
        text = re.sub(pattern, small, text)
    exec(compile(text, script, "exec"), {"__name__": "__main__"})


def nvdiffrast():
    import torch
    import nvdiffrast.torch as dr
    size = 32
    context = dr.RasterizeCudaContext()
    corners = torch.tensor([[-0.8, -0.8, 0, 1], [0.9, -0.7, 0, 1], [-0.1, 0.85, 0, 1]]).double()
    triangle = torch.tensor([[0, 1, 2]], dtype=torch.int32)
    at = (torch.arange(size).double() + 0.5) * 2 / size - 1
    y, x = torch.meshgrid(at, at, indexing="ij")
    a, b, c = corners[:, :2]

    def area(p, q):
        return (q[0] - p[0]) * (y - p[1]) - (q[1] - p[1]) * (x - p[0])

    whole = ((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])).item()
    weights = torch.stack([area(b, c), area(c, a), area(a, b)], -1) / whole
    inside = (weights > 0).all(-1)
    clear = weights.amin(-1).abs() > 0.01  # corners are rounded to parts of pixels

    position = corners.float().cuda()[None].contiguous().requires_grad_()
    pixels, _ = dr.rasterize(context, position, triangle.cuda(), resolution=[size, size])
    assert ((pixels[0, ..., 3] > 0).cpu() == inside)[clear].all(), "pixels in the triangle"
    inside = (inside & clear)[..., None]
    close("barycentric coordinates", pixels[0, ..., :2].cpu() * inside, weights[..., :2] * inside, 1e-5)

    colors = torch.rand(1, 3, 4, generator=torch.Generator().manual_seed(1))
    got, _ = dr.interpolate(colors.cuda(), pixels, triangle.cuda())
    close("interpolated attributes", got[0].cpu() * inside, (weights @ colors[0].double()) * inside, 1e-5)

    texture = torch.rand(1, 16, 16, 3, generator=torch.Generator().manual_seed(2))
    where = torch.rand(1, size, size, 2, generator=torch.Generator().manual_seed(3)) * 0.9 + 0.05
    mine, theirs = texture.cuda().requires_grad_(), texture.double().requires_grad_()
    got = dr.texture(mine, where.cuda(), filter_mode="linear", boundary_mode="clamp")
    want = torch.nn.functional.grid_sample(theirs.permute(0, 3, 1, 2), where.double() * 2 - 1, align_corners=False, padding_mode="border").permute(0, 2, 3, 1)
    close("a texture", got, want, 1e-4)
    (got**2).sum().backward()
    (want**2).sum().backward()
    close("gradient of a texture", mine.grad, theirs.grad, 1e-2)

    def coverage(offset):
        moved = position.detach().clone()
        moved[0, :, 0] += offset
        drawn, _ = dr.rasterize(context, moved, triangle.cuda(), resolution=[size, size])
        return dr.antialias((drawn[..., 3:] > 0).float().contiguous(), drawn, moved, triangle.cuda())

    # The edge of a coverage moves with the triangle: its gradient is the one of the picture's first moment, its area.
    drawn = dr.antialias((pixels[..., 3:] > 0).float().contiguous(), pixels, position, triangle.cuda())
    moment = torch.arange(size, device="cuda").float()[None, None, :, None]
    (drawn * moment).sum().backward()
    step = 0.02
    slope = ((coverage(step) - coverage(-step)) * moment).sum().item() / (2 * step)
    got = position.grad[0, :, 0].sum().item()
    print(f"antialias: {got:.1f}, by differences {slope:.1f}")
    assert math.isclose(got, slope, rel_tol=0.05), "gradient of antialias"


def pointnet2():
    import torch
    from pointnet2_ops import pointnet2_utils as ops
    generator = torch.Generator().manual_seed(1)
    points, few = torch.rand(2, 300, 3, generator=generator), torch.rand(2, 40, 3, generator=generator)
    features = torch.rand(2, 5, 300, generator=generator)

    got = ops.furthest_point_sample(points.cuda(), 20).cpu()
    for batch in range(2):
        nearest, at = torch.full((300,), math.inf), 0
        for i in range(20):
            assert got[batch, i] == at, "furthest points"
            nearest = torch.minimum(nearest, ((points[batch] - points[batch, at])**2).sum(1))
            at = nearest.argmax().item()

    mine = features.cuda().requires_grad_()
    taken = ops.gather_operation(mine, got.cuda())
    wanted = features.gather(2, got.long()[:, None].expand(-1, 5, -1))
    close("gathered features", taken, wanted, 0)
    (taken * taken).sum().backward()
    close("gradient of them", mine.grad, torch.zeros_like(features).scatter_add(2, got.long()[:, None].expand(-1, 5, -1), 2 * wanted), 1e-6)

    distance, index = ops.three_nn(few.cuda(), points.cuda())
    want, where = torch.cdist(few.double(), points.double()).topk(3, largest=False)
    close("three nearest", distance, want, 1e-5)
    assert (index.cpu() == where).all()

    weight = torch.rand(2, 40, 3, generator=generator)
    mine = features.cuda().requires_grad_()
    mixed = ops.three_interpolate(mine, index, weight.cuda())
    theirs = features.double().requires_grad_()
    wanted = (theirs[:, :, None].expand(-1, -1, 40, -1).gather(3, where[:, None].expand(-1, 5, -1, -1)) * weight[:, None]).sum(-1)
    close("interpolated features", mixed, wanted, 1e-5)
    (mixed**2).sum().backward()
    (wanted**2).sum().backward()
    close("gradient of them", mine.grad, theirs.grad, 1e-4)

    found = ops.ball_query(0.3, 8, points.cuda(), few.cuda()).cpu()
    inside = ((few[:, :, None] - points[:, None])**2).sum(-1) < 0.09
    for batch in range(2):
        for i in range(40):
            near = inside[batch, i].nonzero()[:8, 0].tolist()
            near += near[:1] * (8 - len(near))
            assert found[batch, i].tolist() == (near or [0] * 8), "points in a ball"

    mine = features.cuda().requires_grad_()
    grouped = ops.grouping_operation(mine, found.cuda())
    theirs = features.clone().requires_grad_()
    wanted = theirs[:, :, None].expand(-1, -1, 40, -1).gather(3, found.long()[:, None].expand(-1, 5, -1, -1))
    close("grouped features", grouped, wanted, 0)
    (grouped**2).sum().backward()
    (wanted**2).sum().backward()
    close("gradient of them", mine.grad, theirs.grad, 1e-4)


def attention(torch, q, k, v, window):
    """One sequence in doubles; queries are the last ones. `window`: how far left and right they look, -1 without end."""
    q, k, v = (t.detach().cpu().double().transpose(0, 1) for t in (q, k, v))
    k, v = (t.repeat_interleave(q.shape[0] // t.shape[0], 0) for t in (k, v))
    score = q @ k.transpose(1, 2) / math.sqrt(q.shape[-1])
    off = torch.arange(k.shape[1])[None, :] - torch.arange(q.shape[1])[:, None] - (k.shape[1] - q.shape[1])
    hidden = ((off < -window[0]) if window[0] >= 0 else (off < off.min())) | ((off > window[1]) if window[1] >= 0 else (off > off.max()))
    return (score.masked_fill(hidden, -math.inf).softmax(-1) @ v).transpose(0, 1)


def vllm(library):
    import torch
    torch.ops.load_library(library)
    generator = torch.Generator().manual_seed(1)
    lengths = [(5, 70), (129, 129), (1, 300)]
    starts = [torch.tensor([0, *(l[i] for l in lengths)], dtype=torch.int32).cumsum(0, dtype=torch.int32) for i in range(2)]
    page = 16
    for type_, size in ((torch.float16, 64), (torch.bfloat16, 64), (torch.float16, 128)):
        q = torch.randn(int(starts[0][-1]), 4, size, generator=generator).to(type_).cuda()
        k, v = (torch.randn(int(starts[1][-1]), 2, size, generator=generator).to(type_).cuda() for _ in range(2))
        pages = [(n + page - 1) // page for _, n in lengths]
        order = torch.randperm(sum(pages), generator=generator)
        table = torch.zeros(len(lengths), max(pages), dtype=torch.int32)
        caches = [torch.zeros(sum(pages), page, 2, size, dtype=type_, device="cuda") for _ in range(2)]
        slots, used = [], 0
        for i, (_, n) in enumerate(lengths):
            table[i, :pages[i]] = order[used:used + pages[i]]
            used += pages[i]
            slots.append(table[i].long().repeat_interleave(page)[:n] * page + torch.arange(n) % page)
        for cache, values in zip(caches, (k, v)):
            cache.view(-1, 2, size)[torch.cat(slots).cuda()] = values
        for window in ((-1, 0), (-1, -1), (20, 0)):
            want = torch.cat([attention(torch, q[starts[0][i]:starts[0][i + 1]], k[starts[1][i]:starts[1][i + 1]], v[starts[1][i]:starts[1][i + 1]], window)
                              for i in range(len(lengths))])
            most = [max(l[i] for l in lengths) for i in range(2)]
            for paged in (False, True):
                lengths_k = torch.tensor([n for _, n in lengths], dtype=torch.int32).cuda() if paged else None
                got, _ = torch.ops._vllm_fa2_C.varlen_fwd(
                    q, *(caches if paged else (k, v)), None, starts[0].cuda(), torch.zeros_like(starts[1]).cuda() if paged else starts[1].cuda(), lengths_k, None,
                    table.cuda() if paged else None, None, *most, 0.0, 1 / math.sqrt(size), False, window == (-1, 0), *window, 0.0, False, 0, None)
                close(f"attention {type_}, {size} wide, window {window}{', in pages' if paged else ''}", got, want, 0.02 if type_ == torch.bfloat16 else 0.003)


if __name__ == "__main__":
    {"diff_gaussian": diff_gaussian, "nvdiffrast": nvdiffrast, "pointnet2": pointnet2, "fused_ssim": fused_ssim, "vllm": vllm}[sys.argv[1]](*sys.argv[2:])
