/*
 * Every field of spec/ir_fields.def, changed alone: two instructions that differ in it are not the
 * same, a copy has it, the text form shows it and reads it back, and clearing empties it. The
 * list drives the test, so a new field is tried as soon as it is there.
 */
#include "tap.h"

#include "ir/ir.h"

/* A field's other value, by name, where adding one to zero is not one; in what instruction. */
struct sample {
    const char *field;
    const char *text; /* an instruction that has the field set, and all else it needs */
};

/* One per field: the test fails when one is missing. %0:b64 %1:b32 %2:pred are defined. */
static const struct sample samples[] = {
    {"op", "  %3:b32 = sub.b32 %1, %1"},
    {"type", "  %3:b32 = add.u32 %1, %1"},
    {"type2", "  %3:b32 = dp4a.u32.s32 %1, %1, %1"},
    {"rnd", "  %3:b32 = fadd.f32.rz %1, %1"},
    {"cmp", "  %3:pred = setp.u32.gt %1, %1"},
    {"mods", "  %3:b32 = fadd.f32.rn.ftz.sat %1, %1"},
    {"var", "  %3:b64 = varaddr @v"},
    {"callee", "  %3:b64 = funcaddr @g"},
    {"ext", "  calli (b32, pred) -> (), %0, %1, %2"},
    {"imm", "  %3:b32 = lop3.b32 %1, %1, %1, imm=0x80"},
    {"imm_hi", "  %3:b128 = const.b128 0x1, hi=0x2"},
    {"space", "  %3:b32 = ld.b32.shared [%0]"},
    {"atom", "  atom.u32.global.xor [%0], %1"},
    {"sem", "  %3:b32 = ld.b32.global.acquire [%0]"},
    {"scope", "  fence.sc.sys"},
    {"cache", "  %3:b32 = ld.b32.global.cs [%0]"},
    {"vec", "  %3:b32, %4:b32 = ld.b32.global.v2 [%0]"},
    {"offset", "  %3:b32 = ld.b32.global [%0-8]"},
    {"file", "  nanosleep %1 !1:0"},
    {"line", "  nanosleep %1 !0:3"},
    {"col", "  nanosleep %1 !1:3:9"},
    {"inlined", "  nanosleep %1 !1:3:9@2"},
};

static struct ir_module *read_text(const char *line)
{
    struct ir_module *module = NULL;
    struct hd_buf text;

    hd_buf_init(&text);
    hd_buf_printf(&text,
                  "module \"t\" sm 75\nfile \"a.cu\"\ninline \"\" !1:7\ninline \"f\" !1:8:2@1\n"
                  "var @v global internal align 4 size 4\n\n"
                  "func @g internal () -> () {\nbb0:\n  ret\n}\n\n"
                  "func @f internal (%%0:b64, %%1:b32, %%2:pred) -> () {\nbb0:\n%s\n  ret\n}\n",
                  line);
    if (ir_read_module(text.ptr, text.len, "t", &module) != HD_OK)
        diag("%s", hd_error_message());
    hd_buf_fini(&text);
    return module;
}

static struct ir_instr *first_instr(const struct ir_module *module)
{
    return ir_module_find_func(module, "f")->blocks[0]->first;
}

/* Which fields are set, as a name each. */
static bool field_is_set(const struct ir_instr *instr, const char *field)
{
#define X(type, name, path)                                                                        \
    if (!strcmp(field, #name))                                                                     \
        return instr->path != 0;
#include "ir_fields.def"
    return false;
}

static void field_clear(struct ir_instr *instr, const char *field)
{
#define X(type, name, path)                                                                        \
    if (!strcmp(field, #name))                                                                     \
        instr->path = (type)0;
#include "ir_fields.def"
}

static bool field_is_place(const char *field)
{
#define SRCLOC(type, name)                                                                         \
    if (!strcmp(field, #name))                                                                     \
        return true;
#include "ir_fields.def"
    return false;
}

static void test_text(const struct sample *s, struct ir_module *module)
{
    struct hd_buf text, line;

    hd_buf_init(&text);
    hd_buf_init(&line);
    ir_print_module(module, &text);
    hd_buf_printf(&line, "%s\n", s->text);
    ok(strstr(text.ptr, line.ptr) != NULL, "%s prints as it was read", s->field);
    hd_buf_fini(&text);
    hd_buf_fini(&line);
}

static void test_same(const struct sample *s, const struct ir_instr *instr)
{
    struct ir_instr copy = *instr, other = *instr, words = {.op = instr->op};

    ok(field_is_set(instr, s->field), "%s is read", s->field);
    field_clear(&other, s->field);
    ok(ir_instr_same(instr, &copy) && ir_instr_hash(instr) == ir_instr_hash(&copy), "%s: equal",
       s->field);
    ok(ir_instr_same(instr, &other) == field_is_place(s->field), "%s tells instructions apart",
       s->field);
    ir_instr_copy_fields(&other, instr);
    ok(field_is_set(&other, s->field), "%s is copied", s->field);
    ir_instr_become(&other, IR_OP_UNDEF, IR_VOID);
    ok(field_is_set(&other, s->field) == (field_is_place(s->field) || !strcmp(s->field, "op")),
       "%s is cleared", s->field);
    ir_instr_set_words(&words, ir_instr_words(instr));
#define WORD(type, name) ok(words.name == instr->name, "%s: word " #name " travels", s->field);
#include "ir_fields.def"
}

static const struct sample *sample_of(const char *field)
{
    for (size_t i = 0; i < HD_COUNT_OF(samples); i++)
        if (!strcmp(samples[i].field, field))
            return &samples[i];
    return NULL;
}

static void test_field(const char *field)
{
    const struct sample *s = sample_of(field);
    struct ir_module *module = s ? read_text(s->text) : NULL;

    if (!ok(module != NULL, "%s has a sample that reads", field))
        return;
    test_text(s, module);
    test_same(s, first_instr(module));
    ir_module_destroy(module);
}

/* Payloads are compared by content. */
static void test_ext(void)
{
    struct ir_module *a = read_text("  calli (b32, pred) -> (), %0, %1, %2");
    struct ir_module *b = read_text("  calli (b32, pred) -> (), %0, %1, %2");
    struct ir_module *c = read_text("  calli (pred, b32) -> (), %0, %2, %1");

    ok(ir_instr_same(first_instr(a), first_instr(b)), "equal payloads at two addresses");
    ok(!ir_instr_same(first_instr(a), first_instr(c)), "payloads that differ");
    ir_module_destroy(a);
    ir_module_destroy(b);
    ir_module_destroy(c);
}

int main(void)
{
#define X(type, name, path) test_field(#name);
#include "ir_fields.def"
    test_ext();
    return done();
}
