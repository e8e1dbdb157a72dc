#!/usr/bin/env python3
"""What looking on costs a program: bench/serve/load.py [HEDDLE] [SECONDS]

A program launches kernels on one CPU while `heddle serve`, 200 pages and 100 scrapes a second are on the others, and while
they are not, in turns. Prints the ratio of its speed (median of the turns), and the CPU time that the server takes meanwhile,
which is what a device that uses all CPUs loses besides. Clients are no part of it: they are other machines' affair.
"""
import http.client
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
heddle = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "build/tools/heddle/heddle")
turn_s = float(sys.argv[2]) if len(sys.argv) > 2 else 2
TURNS, PAGES, SCRAPES_PER_S = 6, 200, 100


def cpu_s(pid):
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Clients:
    def __init__(self, port):
        self.port, self.go, self.over, self.answers, self.failures = port, threading.Event(), False, 0, 0
        self.threads = [threading.Thread(target=self.ask, args=("/api/v1/snapshot", 1, i / PAGES)) for i in range(PAGES)]
        self.threads += [threading.Thread(target=self.ask, args=("/metrics", 10 / SCRAPES_PER_S, i / SCRAPES_PER_S)) for i in range(10)]
        for thread in self.threads:
            thread.start()

    def ask(self, path, period_s, offset_s):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        time.sleep(offset_s)
        while not self.over:
            self.go.wait(0.5)
            if self.go.is_set():
                try:
                    connection.request("GET", path)
                    answer = connection.getresponse()
                    answer.read()
                    self.answers += answer.status == 200
                    self.failures += answer.status != 200
                except (OSError, http.client.HTTPException):
                    self.failures += 1
                    connection.close()
                time.sleep(period_s)
        connection.close()

    def end(self):
        self.over = True
        self.go.set()
        for thread in self.threads:
            thread.join()


def main():
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        sys.exit("load.py: needs two CPUs")
    with tempfile.TemporaryDirectory() as folder:
        env = dict(os.environ, HEDDLE_REGISTRY=os.path.join(folder, "registry"), HEDDLE_CACHE=os.path.join(folder, "cache"), HEDDLE_THREADS="1")
        work = os.path.join(folder, "work")
        subprocess.run([heddle, "cc", os.path.join(HERE, "work.cu"), "-o", work], check=True, env=env)
        program = subprocess.Popen([heddle, "run", work], stdout=subprocess.PIPE, text=True, env=env,
                                   preexec_fn=lambda: os.sched_setaffinity(0, cpus[-1:]))
        os.sched_setaffinity(0, cpus[:-1])
        server = subprocess.Popen([heddle, "serve", "--listen", "127.0.0.1:0", "--rate", "100000"], stdout=subprocess.PIPE, text=True, env=env)
        clients = Clients(int(re.search(r":(\d+)/", server.stdout.readline())[1]))
        speeds, used_s = {False: [], True: []}, 0

        def turn(is_loaded):
            nonlocal used_s
            (clients.go.set if is_loaded else clients.go.clear)()
            for _ in range(2): # what began before, and what is still on its way
                program.stdout.readline()
            before_s, end = cpu_s(server.pid), time.monotonic() + turn_s
            lines = []
            while time.monotonic() < end:
                lines.append(float(program.stdout.readline()))
            used_s += cpu_s(server.pid) - before_s if is_loaded else 0
            speeds[is_loaded].append(statistics.median(lines))
        for _ in range(4):
            program.stdout.readline()
        for _ in range(TURNS):
            turn(False)
            turn(True)
        clients.end()
        program.kill()
        server.terminate()
        ratios = [loaded / quiet for quiet, loaded in zip(speeds[False], speeds[True])]
        share = used_s / (TURNS * turn_s)
        print(f"speed with {PAGES} pages and {SCRAPES_PER_S} scrapes/s: {statistics.median(ratios):.4f} of without ({', '.join(f'{r:.3f}' for r in ratios)})")
        print(f"the server takes {100 * share:.2f} % of one CPU: {100 * share / os.cpu_count():.2f} % of {os.cpu_count()}")
        print(f"{clients.answers} answers, {clients.failures} failures")


main()
