"""What is refused, and by which words."""
A4, B2, C4 = "{%r0, %r1, %r2, %r3}", "{%r4, %r5}", "{%r6, %r7, %r8, %r9}"
D4 = C4
MMA = "mma.sync.aligned"

# The manual rules these out, the vendor's assembler does not.
BY_MANUAL = [
    (f"mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {D4}, {A4}, {A4}, {C4}, %r0, 2", "the sparsity selector is too big for this shape"),
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
