#!/usr/bin/env python3
"""Every form of PTX becomes code, or is refused as this list says; docs/binding.md says so, too (TAP).

    test_binding.py BINDING

A form that is added to spec/ptx_forms.def, or an instruction to spec/ptx_ops.def, has to get code, or a line here.
"""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../scripts"))
import gen_binding  # noqa: E402

REFUSED = {
    # Rightly: 32 bits do not hold a generic address.
    "mapa.u32": "generic addresses have 64 bits",
    "getctarank.u32": "generic addresses have 64 bits",
    # The ISA has no form for them yet.
    "isspacep.shared::cluster": "isspacep of a cluster's memory",
    "mbarrier.init.b64": "a barrier in memory that is used in another way",
    "mbarrier.arrive.noComplete.b64": "a barrier in memory that is used in another way",
    "cp.async.mbarrier.arrive.noinc.b64": "a barrier in memory that is used in another way",
    "tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64": "a barrier in memory that is used in another way",
}
tests = failed = 0


def ok(good, name, details=()):
    global tests, failed
    tests += 1
    failed += not good
    print(f"{'ok' if good else 'not ok'} {tests} - {name}")
    for line in () if good else details:
        print(f"# {line}")


def main():
    tool = sys.argv[1]
    bindings = gen_binding.Bindings(tool)
    refused = dict(bindings.refused())
    ok(not bindings.missing(), "every instruction of spec/ptx_ops.def has a form that becomes code", bindings.missing())
    wrong = [f"{text}: {refused.get(text, 'becomes code')}; the list says: {REFUSED.get(text, 'becomes code')}"
             for text in sorted(refused.keys() | REFUSED.keys()) if refused.get(text) != REFUSED.get(text)]
    ok(not wrong, f"the forms of {len(bindings.rows)} rows become code, but for {len(REFUSED)}", wrong)

    compiler = gen_binding.Compiler(tool)
    for line, why in (("ADD 0 u8", "no type of it"), ("ADD 0 approx f32", "no modifier of it"), ("ADD 4 u32", "no number of operands of it")):
        row = gen_binding.Row(line)
        ok("refused" in gen_binding.ask_rows(compiler, [row])[0][0][1], f"a row that nothing is made of is noticed: {why}")
    row = gen_binding.Row("ADD 0 u16|u32 u32?")
    gen_binding.reduce_rows(compiler, [row])
    ok(not row.fixed, "words that make a difference are kept", [row.fixed])
    row = gen_binding.Row("LD 0 weak? global ca|cg u16|u32")
    gen_binding.reduce_rows(compiler, [row])
    ok(set(row.fixed) == {0, 2, 3}, "words that make none are joined", [row.fixed])

    features = gen_binding.features()
    ok(not list(gen_binding.wrong_features(features)), "spec/features.def has every packet and attribute, and names what there is", gen_binding.wrong_features(features))
    without = [row for row in features if "COPY" not in row.packets]
    ok(any("COPY" in said for said in gen_binding.wrong_features(without)), "a packet without a feature is noticed")
    invented = [row._replace(calls=["cuLaunchPigeon"]) for row in features]
    ok(any("cuLaunchPigeon" in said for said in gen_binding.wrong_features(invented)), "a call that there is none of is noticed")

    ok(gen_binding.page(bindings) == gen_binding.forms.source("docs/binding.md"), "docs/binding.md is what the compiler does", ["run `make docs`"])
    print(f"1..{tests}")
    return failed != 0


sys.exit(main())
