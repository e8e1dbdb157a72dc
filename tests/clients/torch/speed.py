#!/usr/bin/env python3
"""How long training steps take on cuda beside the CPU, with the same threads: speed.py [--threads N] [--rounds N] [MODEL...]

Each round runs some steps on the CPU and as many on cuda, in turn; printed are the medians of rounds and their ratio.
"operator" is the time that one operator takes more."""
import argparse
import statistics
import sys
import time

import torch
from torch import nn
from torch.nn import functional


class Block(nn.Module):
    """Of a GPT: attention and a feed-forward layer, with norms before."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (t.view(batch, length, self.heads, -1).transpose(1, 2) for t in self.qkv(self.norms[0](x)).split(width, 2))
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(functional.gelu(self.up(self.norms[1](x)), approximate="tanh"))


class GPT(nn.Module):
    """GPT-2 small's shape with fewer words."""

    def __init__(self, words=8192, width=768, heads=12, layers=12, length=64):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(layers)), nn.LayerNorm(width))
        self.head = nn.Linear(width, words, bias=False)

    def forward(self, x):
        return self.head(self.blocks(self.words(x) + self.places(torch.arange(x.shape[1], device=x.device))))


class Residual(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(True),
                                  nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False), nn.BatchNorm2d(outputs))
        self.side = nn.Identity() if stride == 1 and inputs == outputs else nn.Sequential(
            nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        return functional.relu(self.body(x) + self.side(x))


def resnet18():
    layers, width = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(True), nn.MaxPool2d(3, 2, 1)], 64
    for outputs, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        layers += [Residual(width, outputs, stride), Residual(outputs, outputs, 1)]
        width = outputs
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000))


def mlp(width):
    return nn.Sequential(nn.Flatten(), nn.Linear(784, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10))


# model, input of a batch, number of classes, steps of a round
MODELS = {
    "mlp-512": (lambda: mlp(512), lambda n: torch.randn(n, 1, 28, 28), 10, 40),
    "mlp-2048": (lambda: mlp(2048), lambda n: torch.randn(n, 1, 28, 28), 10, 10),
    "resnet18": (resnet18, lambda n: torch.randn(n, 3, 224, 224), 1000, 1),
    "gpt2-small": (GPT, lambda n: torch.randint(8192, (n, 64)), 8192, 1),
}


class Training:
    def __init__(self, name, batch, device):
        make, inputs, classes, self.steps = MODELS[name]
        torch.manual_seed(0)
        self.device, self.model, self.x = device, make().to(device), inputs(batch).to(device)
        self.y = torch.randint(classes, self.x.shape[:2] if name.startswith("gpt") else (batch,), generator=torch.Generator()).to(device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-3, momentum=0.9)

    def round(self):
        begin = time.perf_counter()
        for _ in range(self.steps):
            self.optimizer.zero_grad()
            out = self.model(self.x)
            loss = functional.cross_entropy(out.view(-1, out.shape[-1]), self.y.view(-1))
            loss.backward()
            self.optimizer.step()
        loss.item()
        return (time.perf_counter() - begin) / self.steps * 1e6


class Operator:
    """Additions of small tensors: nothing but an operator's own cost."""

    def __init__(self, device):
        self.a = torch.ones(16, device=device)

    def round(self, n=2000):
        a = self.a
        begin = time.perf_counter()
        for _ in range(n):
            torch.add(a, a)
        return (time.perf_counter() - begin) / n * 1e6


def compare(cpu, cuda, rounds):
    for side in (cpu, cuda):
        side.round()
    times = [(cpu.round(), cuda.round()) if i % 2 == 0 else (cuda.round(), cpu.round())[::-1] for i in range(rounds)]
    return statistics.median(t[0] for t in times), statistics.median(t[1] for t in times), statistics.median(t[1] / t[0] for t in times)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"of {', '.join(MODELS)} (all)")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 8])
    options = parser.parse_args()
    for name in options.models:
        if name not in MODELS:
            parser.error(f"no model {name}")
    torch.set_num_threads(options.threads)
    print(f"torch {torch.__version__}, {options.threads} threads, us, medians of {options.rounds} rounds: cpu, cuda, cuda/cpu")
    cpu, cuda, _ = compare(Operator("cpu"), Operator("cuda"), options.rounds)
    print(f"{'operator':12}          {cpu:10.2f} {cuda:10.2f}  {cuda - cpu:+.2f} us", flush=True)
    for name in options.models or MODELS:
        for batch in options.batch:
            cpu, cuda, ratio = compare(Training(name, batch, "cpu"), Training(name, batch, "cuda"), options.rounds)
            print(f"{name:12} batch {batch} {cpu:10.0f} {cuda:10.0f}  {ratio:.2f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
