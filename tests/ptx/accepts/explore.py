"""Which forms of an opcode to ask about: those known, all of few, and the neighbours of what somebody takes."""
import itertools
import random
import re

import forms

SEEDS = ("tests/ptx/forms/forms_sm120a.ptx", "tests/ptx/forms/forms_sm120.ptx", "tests/ptx/forms/forms_sm100a.ptx", "tests/ptx/forms/forms_sm90a.ptx",
         "tests/ptx/forms/extra_all.ptx", "tests/ptx/forms/extra_sm90a.ptx", "tests/ptx/forms/extra_sm100a.ptx")


def known():
    """{opcode name: {(modifiers, types)}} of the texts in tests/ptx/forms."""
    found = {}
    for path in SEEDS:
        for dotted in re.findall(r"^\s*(?:@!?%\w+\s+)?([a-z][\w.:]*)\s*[^:;{]*[;{]", forms.source(path), re.M):
            op = forms.find_op(dotted)
            if op:
                found.setdefault(op.name, set()).add(forms.split(op, dotted))
    return found


def simple(op):
    """Every pair of types alone, and with every modifier alone."""
    types = list(forms.TYPES) if op.has_type else []
    tuples = [()] + [(t,) for t in types]
    for one in tuples:
        yield (), one
        for mod in op.mods:
            yield (mod,), one
    for pair in itertools.product(types, types):
        yield (), pair


def neighbours(op, form, everything):
    mods, types = form
    offered = sorted(set(forms.CLASS_OF) - strays()) if everything else op.mods
    for i in range(len(mods)):
        yield mods[:i] + mods[i + 1:], types
        for mod in offered:
            if mod not in mods and (everything or forms.CLASS_OF[mod] == forms.CLASS_OF.get(mods[i])):
                yield mods[:i] + (mod,) + mods[i + 1:], types
    for mod in offered:
        if mod not in mods:
            yield mods + (mod,), types
    for i in range(len(types)):
        yield mods, types[:i] + types[i + 1:]
        for t in forms.TYPES:
            yield mods, types[:i] + (t,) + types[i + 1:]
    if op.has_type and len(types) < 4:
        for t in forms.TYPES:
            yield mods, types + (t,)


# Those that ptxas takes for a part of the opcode and wants in front.
FRONT = {"OWN", "HALF", "APPROX"}


def canonical(op, form):
    mods, types = form
    kinds = forms.CLASS_OF
    spaces = tuple(m for m in mods if kinds[m] == "SPACE")
    return tuple(sorted((m for m in mods if kinds[m] != "SPACE"), key=lambda m: (kinds[m] not in FRONT and m not in op.own, m))) + spaces, types


# What ptxas reads as the type of a texture or a tensor and then forgets is no form of the language.
STRAY = {"texref", "samplerref", "surfref", "pred", "b1024", "b8x16", "b6x16_p32", "b4x16_p64", "b6p2x16"}


# Likewise for words of testp, of tensor maps and of tcgen05.
STRAY_KINDS = {"TESTP", "TMAPFIELD", "QUERY"}
STRAY_WORDS = {"acc::f16", "acc::f32"}


def strays():
    return {word for word, kind in forms.CLASS_OF.items() if kind in STRAY_KINDS} | STRAY_WORDS


def is_stray(form):
    return len(form[1]) > 1 and bool(STRAY & set(form[1]))


class Walk:
    """Asks ever more: `ask(forms)` returns those that somebody takes."""

    def __init__(self, op, ask, most, seed):
        self.op, self.ask, self.most, self.random = op, ask, most, random.Random(seed)
        self.seen = set()

    def fresh(self, candidates):
        new = {canonical(self.op, form) for form in candidates if not is_stray(form)} - self.seen
        room = max(0, self.most - len(self.seen))
        new = sorted(form for form in new if forms.find_op(forms.dotted(self.op, *form)) is self.op)
        if len(new) > room:
            new = self.random.sample(new, room)
        self.seen.update(new)
        return new

    def run(self, start):
        taken = self.ask(self.fresh(start))
        taken += self.ask(self.fresh(simple(self.op)))
        for form in self.random.sample(taken, min(len(taken), 6)):
            taken += self.ask(self.fresh(neighbours(self.op, form, True)))
        done = 0
        while done < len(taken) and len(self.seen) < self.most:
            batch = taken[done:done + 40]
            done += len(batch)
            taken += self.ask(self.fresh(n for form in batch for n in neighbours(self.op, form, False)))
        return len(self.seen)
