"""What is refused, and by which words."""
A4, B2, C4 = "{%r0, %r1, %r2, %r3}", "{%r4, %r5}", "{%r6, %r7, %r8, %r9}"
D4 = C4
MMA = "mma.sync.aligned"
WGMMA = "wgmma.mma_async.sync.aligned"

# The manual rules these out, the vendor's assembler does not.
BY_MANUAL = [
    ("tcgen05.mma.cta_group::1.kind::i8 [%r0], %l0, %l1, %r1, %p0, 1", "too many operands"),
    (f"mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {D4}, {A4}, {A4}, {C4}, %r0, 2", "the sparsity selector is too big for this shape"),
]
# What PTX has and is not supported here.
LATER = [
    ("tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%r0], 32", "pairs of blocks (.cta_group::2) are not supported"),
    ("tcgen05.mma.cta_group::1.kind::f16.ashift [%r0], [%r1], %l1, %r1, %p0", "rows that are shifted (.ashift) are not supported"),
    ("tcgen05.mma.ws.cta_group::1.kind::f16 [%r0], %l0, %l1, %r1, %p0, %l2", "a mask of columns that are zero is not supported"),
    ("tcgen05.shift.cta_group::1.down [%r0]", "the instruction is not supported"),
    ("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%r0], %h1", "telling several blocks (.multicast) is not supported"),
]
CASES = [
    (f"{MMA}.m16n8k4.row.col.f32.f16.f16.f32 {D4}, {B2}, %r0, {C4}", "these element types do not have this shape"),
    (f"{MMA}.m16n8k16.row.col.f32.f16.bf16.f32 {D4}, {A4}, {B2}, {C4}", "there is no product of these element types"),
    (f"{MMA}.m16n8k16.row.col.f32.f16.f16.f16 {D4}, {A4}, {B2}, {B2}", "the types of c and d do not go with those of a and b"),
    (f"{MMA}.m16n8k16.col.col.f32.f16.f16.f32 {D4}, {A4}, {B2}, {C4}", "with this shape the layouts are .row.col"),
    (f"{MMA}.m16n8k16.row.f32.f16.f16.f32 {D4}, {A4}, {B2}, {C4}", "the layouts of a and b are missing"),
    (f"{MMA}.m16n8k16.row.col.satfinite.f32.f16.f16.f32 {D4}, {A4}, {B2}, {C4}", ".satfinite is for integers here"),
    (f"{MMA}.m16n8k16.row.col.rn.f32.f16.f16.f32 {D4}, {A4}, {B2}, {C4}", "a rounding is for .f64 here"),
    (f"{MMA}.m16n8k16.row.col.f32.f16.f16.f32 {D4}, {B2}, {B2}, {C4}", "a fragment has another number of registers"),
    (f"{MMA}.m16n8k32.row.col.f32.e3m2.e4m3.f32 {D4}, {A4}, {B2}, {C4}", "there is no product of these element types"),
    (f"{MMA}.m16n8k128.row.col.s32.b1.b1.s32 {D4}, {B2}, %r0, {C4}", "a product of bits is .xor.popc or .and.popc"),
    (f"{MMA}.m16n8k32.row.col.s32.s8.s8.s32.and.popc {D4}, {A4}, {B2}, {C4}", ".popc is for products of bits"),
    (f"mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {D4}, {B2}, {B2}, {C4}, %r0, 4", "the sparsity selector is a constant of 0 to 3"),
    (f"mma.sp.sync.aligned.m16n8k64.row.col.kind::f8f6f4.f32.e2m1.e4m3.f32 {D4}, {A4}, {A4}, {C4}, %r0, 0",
     "this product is sparse with ::ordered_metadata only"),
    (f"{MMA}.m16n8k64.row.col.kind::mxf4.f32.e2m1.e2m1.f32 {D4}, {A4}, {B2}, {C4}", "this kind needs .block_scale and the type of scales"),
    (f"{MMA}.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue8m0 {D4}, {A4}, {B2}, {C4}, %r0, {{0, 0}}, %r1, {{0, 0}}",
     "this kind does not have scales of this number and type"),
    (f"{WGMMA}.m64n8k16.f32.f16.bf16 {C4}, %l0, %l1, %p0, 1, 1, 0, 0", "there is no product of these element types"),
    (f"{WGMMA}.m64n8k16.f16.bf16.bf16 {B2}, %l0, %l1, %p0, 1, 1, 0, 0", "the type of d does not go with those of a and b"),
    (f"{WGMMA}.m64n8k8.f32.f16.f16 {C4}, %l0, %l1, %p0, 1, 1, 0, 0", "these element types do not have this shape"),
    (f"{WGMMA}.m64n40k32.s32.s8.s8 {{{', '.join(['%r0'] * 20)}}}, %l0, %l1, %p0", "these element types do not have this shape"),
    (f"{WGMMA}.m64n8k16.f32.f16.f16 {C4}, %l0, %l1, %p0, 2, 1, 0, 0", "imm-scale is 1 or -1"),
    (f"{WGMMA}.m64n8k16.f32.f16.f16 {C4}, %l0, %l1, %p0, 1, 1, 2, 0", "imm-trans is 0 or 1"),
    (f"{WGMMA}.m64n8k16.f32.f16.f16 {C4}, {A4}, %l1, %p0, 1, 1, 0, 0", "another number of operands"),
    (f"{WGMMA}.m64n8k8.f32.tf32.tf32 {C4}, %l0, %l1, %p0, 1, 1, 0, 0", "another number of operands"),
    (f"{WGMMA}.m64n8k256.s32.b1.b1.xor.popc {C4}, %l0, %l1, %p0", "a product of bits is .and.popc"),
    (f"wgmma.mma_async.sp.sync.aligned.m64n8k64.f32.e4m3.e4m3 {C4}, %l0, %l1, %r0, 1, %p0, 1, 1", "the sparsity selector is too big for this shape"),
    (f"tcgen05.ld.sync.aligned.32x32b.x4.b32 {B2}, [%r0]", "a fragment has another number of registers"),
    (f"tcgen05.ld.sync.aligned.32x32b.b32 {B2}, [%r0]", "not so many of this shape"),
    (f"tcgen05.ld.sync.aligned.16x32bx2.x2.b32 {B2}, [%r0], %r1", "the distance of the halves is a constant"),
    ("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r1}, [%l0]", "an address in tensor memory has 32 bits"),
    (f"tcgen05.ld.red.sync.aligned.16x64b.x2.max.f32 {B2}, %r1, [%r0]", "reductions are of two and more of .32x32b and .16x32bx2"),
    ("tcgen05.alloc.sync.aligned.shared::cta.b32 [%r0], 32", ".cta_group is missing"),
    ("tcgen05.cp.cta_group::1.32x128b [%r0], %l0", "this shape goes to other warps' lanes"),
    ("tcgen05.cp.cta_group::1.128x256b.warpx4 [%r0], %l0", "this shape goes to other warps' lanes"),
    ("tcgen05.mma.cta_group::1.kind::mxf4 [%r0], %l0, %l1, %r1, [%r4], [%r5], %p0", "this kind needs .block_scale"),
    ("tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale [%r0], %l0, %l1, %r1, [%r4], [%r5], %p0", "this kind does not have scales of this number"),
    ("tcgen05.mma.ws.cta_group::1.kind::mxf4.block_scale.scale_vec::2X [%r0], %l0, %l1, %r1, [%r4], [%r5], %p0", "there is no product of this kind"),
    ("tcgen05.mma.cta_group::1.kind::f16 [%r0], %l0, %l1, %r1, %p0, 16", "scale-input-d is a constant of 0 to 15"),
    ("wmma.load.a.sync.aligned.row.m16n16k16.global.s4 {%r0}, [%l4]", "this shape does not have this element type"),
    ("wmma.load.a.sync.aligned.row.m16n8k16.global.f16 {%r0}, [%l4]", "wmma does not have this shape"),
    ("wmma.load.a.sync.aligned.col.m8n8k32.global.s4 {%r0}, [%l4]", "elements of less than 8 bits: a is .row, b is .col"),
    ("wmma.store.d.sync.aligned.row.m8n8k4.local.f64 [%l4], {%l0, %l1}", "fragments are in global or shared memory"),
    ("wmma.load.c.sync.aligned.m8n8k4.global.f64 {%l0, %l1}, [%l4]", "the layout is .row or .col"),
    ("wmma.mma.sync.aligned.row.col.m8n8k32.s32.s4.u4.s32 {%r0, %r1}, {%r2}, {%r3}, {%r0, %r1}", "this shape does not have these element types"),
    ("ldmatrix.sync.aligned.m8n8.x4.shared.b8 {%r0, %r1, %r2, %r3}, [%r4]", "there are no matrices of this shape, type and transposition"),
    ("ldmatrix.sync.aligned.m16n16.x4.trans.shared.b8 {%r0, %r1, %r2, %r3, %r5, %r6, %r7, %r8}, [%r4]", "not so many matrices of this shape"),
    ("ldmatrix.sync.aligned.m8n8.x1.global.b16 {%r0}, [%l4]", "matrices are in shared memory"),
]
