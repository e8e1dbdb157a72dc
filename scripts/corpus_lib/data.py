"""Input of programs whose repositories keep none: graphs, a mesh, a formula; the same bytes every time."""
import os
import random
import struct
from collections import defaultdict
from dataclasses import dataclass

SEED = 7
WEIGHTS = 100  # of edges: 1 to that

Point = tuple[float, float]
Edge = tuple[int, int]
Triangle = tuple[int, int, int]


@dataclass
class Graph:
    nodes: int
    weights: dict[Edge, int]  # (from, to), in order; an undirected edge is there twice


def random_graph(rng: random.Random, nodes: int, edges: int, directed: bool = False) -> Graph:
    """Every node has an edge to its successor: some readers lose nodes that none leaves. No loops, none twice."""
    wanted = [(node, (node + 1) % nodes) for node in range(nodes)]
    weights: dict[Edge, int] = {}
    while len(weights) < edges:
        a, b = wanted.pop() if wanted else (rng.randrange(nodes), rng.randrange(nodes))
        if a == b or (a, b) in weights:
            continue
        weights[a, b] = rng.randint(1, WEIGHTS)
        if not directed:
            weights[b, a] = weights[a, b]
    return Graph(nodes, dict(sorted(weights.items())))


def dimacs(graph: Graph) -> bytes:
    """The format of the ninth DIMACS challenge (shortest paths): nodes count from 1."""
    lines = [f"p s {graph.nodes} {len(graph.weights)}"]  # "s", not "sp": Pannotia's reader has room for one letter
    lines += [f"a {a + 1} {b + 1} {weight}" for (a, b), weight in graph.weights.items()]
    return ("\n".join(lines) + "\n").encode()


def metis(graph: Graph) -> bytes:
    """A line of neighbours for each node; the head counts an undirected edge once."""
    neighbours = defaultdict(list)
    for a, b in graph.weights:
        neighbours[a].append(str(b + 1))
    lines = [f"{graph.nodes} {len(graph.weights) // 2}"]
    # a space ends each line: Pannotia's reader takes what is behind the last one for a number
    lines += [" ".join(neighbours[node]) + " " for node in range(graph.nodes)]
    return ("\n".join(lines) + "\n").encode()


def galois(graph: Graph) -> bytes:
    """Galois' binary .gr, version 1: head, end of each node's edges, their targets, padding, their weights."""
    degree = [0] * graph.nodes
    for a, _ in graph.weights:
        degree[a] += 1
    ends = [sum(degree[:node + 1]) for node in range(graph.nodes)]
    count = len(graph.weights)
    padding = b"\0" * (4 * (count % 2))
    return (struct.pack(f"<4Q{graph.nodes}Q", 1, 4, graph.nodes, count, *ends) +
            struct.pack(f"<{count}I", *(b for _, b in graph.weights)) + padding +
            struct.pack(f"<{count}I", *graph.weights.values()))


def orientation(a: Point, b: Point, c: Point) -> float:
    """Twice the area of a triangle; positive when its corners go counterclockwise."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (c[0] - a[0]) * (b[1] - a[1])


def in_circle(a: Point, b: Point, c: Point, p: Point) -> bool:
    """Whether p lies within the circle through the corners of a counterclockwise triangle."""
    rows = [(q[0] - p[0], q[1] - p[1]) for q in (a, b, c)]
    (ax, ay), (bx, by), (cx, cy) = rows
    lift = [x * x + y * y for x, y in rows]
    return lift[0] * (bx * cy - cx * by) - lift[1] * (ax * cy - cx * ay) + lift[2] * (ax * by - bx * ay) > 1e-9


@dataclass
class Mesh:
    points: list[Point]
    triangles: list[Triangle]  # counterclockwise
    segments: list[Edge]       # of the border


def grid_mesh(rng: random.Random, side: int, border: int) -> Mesh:
    """A square of side * side points, those behind a border of cells moved a little; each cell is two triangles."""
    def place(i: int, j: int) -> Point:
        moved = all(border < k < side - 1 - border for k in (i, j))
        return (i + rng.uniform(-.3, .3), j + rng.uniform(-.3, .3)) if moved else (float(i), float(j))

    points = [place(i, j) for i in range(side) for j in range(side)]
    triangles, segments, last = [], [], side - 1
    for i in range(last):
        for j in range(last):
            a, b, c, d = i * side + j, (i + 1) * side + j, (i + 1) * side + j + 1, i * side + j + 1
            triangles += [(a, b, c), (a, c, d)]
        segments += [(i, i + 1), (i * side, (i + 1) * side), (last * side + i, last * side + i + 1),
                     (i * side + last, (i + 1) * side + last)]
    return Mesh(points, triangles, segments)


def make_delaunay(mesh: Mesh) -> None:
    """Lawson's flips: the shared edge of two triangles gives way to the other diagonal until no circle holds a point."""
    points, flipped = mesh.points, True
    while flipped:
        flipped, beside = False, {}
        for number, (a, b, c) in enumerate(mesh.triangles):
            beside.update({(a, b): (number, c), (b, c): (number, a), (c, a): (number, b)})
        changed: set[int] = set()
        for (a, b), (one, c) in beside.items():
            other, d = beside.get((b, a), (one, c))
            if a > b or {one, other} & changed or not in_circle(points[a], points[b], points[c], points[d]):
                continue
            mesh.triangles[one], mesh.triangles[other] = (c, a, d), (c, d, b)
            changed |= {one, other}
            flipped = True


def numbered(head: str, rows: list) -> bytes:
    lines = [head] + [" ".join(map(str, (number, *row))) for number, row in enumerate(rows)]
    return ("\n".join(lines) + "\n").encode()


def mesh_files(mesh: Mesh, name: str) -> dict[str, bytes]:
    """Shewchuk's format. Programs are given the name without its ending: a file of that name says so."""
    return {
        name: f"The mesh is in {name}.node, {name}.ele and {name}.poly.\n".encode(),
        f"{name}.node": numbered(f"{len(mesh.points)} 2 0 0", mesh.points),
        f"{name}.ele": numbered(f"{len(mesh.triangles)} 3 0", mesh.triangles),
        f"{name}.poly": b"0 2 0 0\n" + numbered(f"{len(mesh.segments)} 0", mesh.segments),
    }


def formula(rng: random.Random, variables: int, clauses: int) -> bytes:
    """A random formula of three literals a clause, in DIMACS' CNF."""
    lines = [f"p cnf {variables} {clauses}"]
    for _ in range(clauses):
        chosen = rng.sample(range(1, variables + 1), 3)
        lines.append(" ".join(str(v * rng.choice((1, -1))) for v in chosen) + " 0")
    return ("\n".join(lines) + "\n").encode()


# CloverLeaf's second test problem, for a form of it that reads clover.in in its folder and takes no arguments
CLOVER = """*clover
 state 1 density=0.2 energy=1.0
 state 2 density=1.0 energy=2.5 geometry=rectangle xmin=0.0 xmax=5.0 ymin=0.0 ymax=2.0
 x_cells=960
 y_cells=960
 xmin=0.0
 ymin=0.0
 xmax=10.0
 ymax=10.0
 initial_timestep=0.04
 timestep_rise=1.5
 max_timestep=0.04
 end_step=87
 test_problem 2
 use_cuda_kernels
*endclover
"""

# A small problem for Quicksilver, of every kind of event; what its examples say goes before its arguments
QUICKSILVER = """Simulation:
   dt: 1e-08
   fMax: 0.1
   boundaryCondition: reflect
   nParticles: 2000
   nSteps: 3
   nx: 4
   ny: 4
   nz: 4
   lx: 40
   ly: 40
   lz: 40
   nGroups: 50
   seed: 1029384756

Geometry:
   material: mixed
   shape: brick
   xMin: 0
   xMax: 40
   yMin: 0
   yMax: 40
   zMin: 0
   zMax: 40

Material:
   name: mixed
   nIsotopes: 4
   nReactions: 9
   sourceRate: 1e+10
   totalCrossSection: 1
   absorptionCrossSection: flat
   fissionCrossSection: flat
   scatteringCrossSection: flat
   absorptionCrossSectionRatio: 1
   fissionCrossSectionRatio: 1
   scatteringCrossSectionRatio: 8

CrossSection:
   name: flat
   A: 0
   B: 0
   C: 0
   D: 0
   E: 1
   nuBar: 2
"""


def files() -> dict[str, bytes]:
    """What {data} holds: file names and contents."""
    rng = random.Random(SEED)
    tiny, small, middle = (random_graph(rng, nodes, 8 * nodes) for nodes in (64, 1024, 8192))
    mesh = grid_mesh(rng, 24, 2)
    make_delaunay(mesh)
    return {
        "tiny.gr": dimacs(tiny), "dense.gr": dimacs(random_graph(rng, 256, 8192, directed=True)), "middle.gr": dimacs(middle),
        "middle.metis": metis(middle), "small.galois.gr": galois(small), "middle.galois.gr": galois(middle),
        "formula.cnf": formula(rng, 300, 1000), "clover/clover.in": CLOVER.encode(),
        "quicksilver.inp": QUICKSILVER.encode(), **mesh_files(mesh, "mesh"),
    }


def write(folder: str) -> None:
    for name, content in files().items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content)
