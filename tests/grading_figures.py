"""What grading costs, measured on a class that is made up. A program, not a test.

    python -m tests.grading_figures                     classes of 50, 100 and 200
    python -m tests.grading_figures 20 --kills 10       20, killed at ten random moments
    python -m tests.grading_figures 200 --cluster 2     on a Dask LocalCluster; a worker is killed

Each student answers three questions of three themes. 85 % are honest, right or wrong; 10 % hand
in something broken; 5 % are hostile. Every verdict is compared with the one that is expected.

    class_of     write such a class, and give the points that each student must get
    Watch        the memory of a run and its processes, by looking five times a second
"""

import argparse
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from pathlib import Path

import nbformat

from minigrad.grading.release.student import release
from tests.submissions.answers import FORWARD, OPTIMIZERS, REVERSE
from tests.submissions.authors import AUTHORS

THEMES = ("reverse", "forward", "optimizers")  # four points each
HONEST = {
    "reverse": ("full_by_the_formula", "full_as_a_lambda_and_a_list", "half_one_gradient",
                "zero_swapped", "zero_summed", "zero_misspelled", "zero_not_written"),
    "forward": ("full_by_the_formula", "full_with_dual_numbers", "zero_forgot_inner", "zero_a_scalar"),
    "optimizers": ("full_by_the_formula", "full_with_a_setdefault", "zero_no_momentum",
                   "zero_wrong_sign", "half_rate_forgotten"),
}  # fmt: skip
ANSWERS = {"reverse": REVERSE, "forward": FORWARD, "optimizers": OPTIMIZERS}
POINTS = {"full": 4.0, "half": 2.0, "zero": 0.0}
HOSTILE = ("zero_loops_when_called", "zero_ends_the_process", "zero_fills_memory_at_once",
           "zero_starts_processes", "zero_floods_the_output")  # fmt: skip


def class_of(count, folder):
    """Write author.ipynb and class/; the points that each student must get, by name."""
    notebook = nbformat.v4.new_notebook()
    for theme in THEMES:
        for cell in nbformat.from_dict(AUTHORS[theme]).cells:
            cell.id = f"{theme}-{cell.id}"
            if "nbgrader" in cell.metadata:
                cell.metadata.nbgrader.grade_id = cell.id
            notebook.cells.append(cell)
    folder.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, folder / "author.ipynb")
    released = json.loads(
        release(folder / "author.ipynb", folder / "released").read_text(encoding="utf-8")
    )
    (folder / "class").mkdir()
    expected = {}
    for k in range(count):
        content, points, kind = _submission(k, released)
        expected[f"{k:04d}_{kind}"] = points
        (folder / "class" / f"{k:04d}_{kind}.ipynb").write_bytes(content)
    return expected


def _submission(k, released):
    """The file of student k, the points that it is worth, and what it is."""
    chosen = {t: HONEST[t][random.Random(f"{k} {t}").randrange(len(HONEST[t]))] for t in THEMES}
    if k % 20 == 3:
        chosen["reverse"] = HOSTILE[k // 20 % len(HOSTILE)]
        kind = "hostile"
    else:
        kind = "broken" if k % 10 == 5 else "honest"
    cells = {}
    for theme in THEMES:
        source = ANSWERS[theme][chosen[theme]].replace("CANARY", "/etc/passwd")
        cells[f"{theme}-answer"] = f"{source}\n# by student {k}"
    notebook = json.loads(json.dumps(released))
    for cell in notebook["cells"]:
        cell["source"] = cells.get(cell["id"], cell["source"])
    points = {t: POINTS[chosen[t].split("_")[0]] for t in THEMES}
    how = k // 10 % 5
    if kind == "broken" and how == 3:  # an answer deleted
        notebook["cells"] = [c for c in notebook["cells"] if c["id"] != "forward-answer"]
        points["forward"] = 0.0
    content = json.dumps(notebook).encode()
    if kind == "broken" and how < 3:
        points = {}
        content = (content[: 400 + k], b"", b"%PDF-1.7 " + str(k).encode())[how]
    if kind == "broken" and how == 4:
        content = b"\xef\xbb\xbf" + content
    return content, sum(points.values()), kind


class Watch(threading.Thread):
    """The most memory that each kind of process had, in megabytes; and of all at once."""

    KINDS = (
        ("supervise.py", "supervisors"),
        ("boot.py", "kernels"),
        ("grading.run.recorder", "recorders"),
        ("pytest", "judge"),
        ("multiprocessing", "cluster"),
    )

    def __init__(self, process):
        super().__init__(daemon=True)
        self.process, self.most = process, defaultdict(float)
        self.start()

    def run(self):
        while self.process.poll() is None:
            together = 0.0
            for pid in _descendants(self.process.pid):
                try:
                    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
                    command = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
                except OSError:
                    continue
                resident = _field(status, "VmRSS")
                together += resident
                kind = "parent" if pid == self.process.pid else "other"
                kind = next((name for word, name in self.KINDS if word in command), kind)
                self.most[kind] = max(self.most[kind], resident)
            self.most["together"] = max(self.most["together"], together)
            time.sleep(0.2)


def _field(status, name):
    line = next((x for x in status.splitlines() if x.startswith(name)), ": 0")
    return int(line.split()[1]) / 1024


def _descendants(root):
    parents = defaultdict(list)
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text(encoding="utf-8")
            except OSError:
                continue
            parents[int(stat.rpartition(")")[2].split()[1])].append(int(entry.name))
    found, waiting = [], [root]
    while waiting:
        found.append(pid := waiting.pop())
        waiting += parents[pid]
    return found


def command(folder, out, *more):
    return [
        *(sys.executable, "-m", "minigrad.cli", "grade", str(folder / "class")),
        *("-e", str(folder / "author.ipynb"), "-o", str(folder / out), "--seed", "figures", *more),
    ]


def start(folder, out, *more):
    return subprocess.Popen(
        command(folder, out, *more),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
    )


def run(folder, out, *more):
    """Grade; the seconds, the processor's seconds, and the memory."""
    before, begun = _used(), time.perf_counter()
    process = start(folder, out, *more)
    watch = Watch(process)
    output = process.communicate()[0]
    seconds = time.perf_counter() - begun
    if process.returncode:
        raise SystemExit(output)
    return seconds, _used() - before, dict(watch.most)


def _used():
    """Seconds of processor so far; not a number without a control group of our own that counts them.

    What a process may ask about its children leaves out those that a sandbox ends with itself.
    """
    for line in Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines():
        number, kinds, path = line.split(":", 2)
        if path != "/" and "cpuacct" in kinds.split(","):
            return (
                int(Path(f"/sys/fs/cgroup/cpuacct{path}/cpuacct.usage").read_text(encoding="utf-8"))
                / 1e9
            )
        if path != "/" and number == "0":
            for stat in Path(f"/sys/fs/cgroup{path}").glob("cpu.stat"):
                return int(stat.read_text(encoding="utf-8").split()[1]) / 1e6
    return float("nan")


def grades(folder, out):
    document = json.loads((folder / out / "grades.json").read_text(encoding="utf-8"))
    return {grade["student"]: grade for grade in document["grades"]}


def wrong(folder, out, expected):
    """Students whose points are not those that are expected; also who is left out."""
    given = grades(folder, out)
    names = expected.keys() | given.keys()
    return sorted(n for n in names if n not in given or given[n]["points"] != expected.get(n))


def bare_kernel():
    """Seconds from starting an ordinary kernel to the end of `import numpy`; the median of five."""
    from jupyter_client.manager import KernelManager

    taken = []
    with tempfile.TemporaryDirectory() as folder:
        for k in range(5):
            begun = time.perf_counter()
            manager = KernelManager(
                transport="ipc", connection_file=f"{folder}/{k}.json", ip=f"{folder}/{k}"
            )
            manager.start_kernel()
            client = manager.client()
            client.start_channels()
            client.wait_for_ready(timeout=30)
            client.execute_interactive("import numpy", timeout=30)
            taken.append(time.perf_counter() - begun)
            client.stop_channels()
            manager.shutdown_kernel(now=True)
    return statistics.median(taken)


def answered(folder, out):
    return len(list((folder / out / "answers").glob("*.answers.json")))


def killed_in_the_middle(folder, count, *more):
    """SIGKILL when half is recorded, and the same command again."""
    process = start(folder, "killed", *more)
    while process.poll() is None and answered(folder, "killed") < count / 2:
        time.sleep(0.02)
    process.kill()
    process.communicate()
    there = answered(folder, "killed")
    seconds, _, _ = run(folder, "killed", *more)
    return there, seconds


def killed_at_random(folder, kills, *more):
    """SIGKILL at random moments all over the run, one after the other; then to the end."""
    count = len(list((folder / "class").iterdir()))
    chance = random.Random(0)
    seen = []
    for there in sorted(chance.randrange(count + 1) for _ in range(kills)):
        process = start(folder, "fuzzed", *more)
        # at the start, while submissions are recorded, or while they are judged
        while process.poll() is None and answered(folder, "fuzzed") < there:
            time.sleep(0.01)
        time.sleep(chance.uniform(0, 1.5))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        seen.append(answered(folder, "fuzzed"))
    run(folder, "fuzzed", *more)
    return seen


def on_a_cluster(folder, count, workers, *more):
    """On a LocalCluster, one of whose workers gets SIGKILL when a third is recorded."""
    import distributed

    with distributed.LocalCluster(
        n_workers=workers, threads_per_worker=1, dashboard_address=None
    ) as cluster:
        begun = time.perf_counter()
        process = start(folder, "cluster", "--scheduler", cluster.scheduler_address, *more)
        while process.poll() is None and answered(folder, "cluster") < count / 3:
            time.sleep(0.02)
        os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)
        output = process.communicate()[0]
        if process.returncode:
            raise SystemExit(output)
        return time.perf_counter() - begun


def equal(folder, one, other):
    """Are the two grades.json the same, byte for byte?"""
    return (folder / one / "grades.json").read_bytes() == (
        folder / other / "grades.json"
    ).read_bytes()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("sizes", nargs="*", type=int, default=[50, 100, 200])
    parser.add_argument("--isolation", default="auto")
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--cluster", type=int, default=0, help="workers")
    asked = parser.parse_args()
    tier = ("--isolation", asked.isolation)
    cores = len(os.sched_getaffinity(0))
    bare = bare_kernel()
    print(
        f"{cores} cores; a bare kernel that imports numpy: {bare:.2f} s; isolation {asked.isolation}"
    )
    print(
        "submissions  seconds  per minute  s a submission  over 3 bare kernels  cpu s each  wrong  MB:"
    )
    for size in asked.sizes:
        with tempfile.TemporaryDirectory(prefix="figures-") as name:
            folder = Path(name)
            expected = class_of(size, folder)
            seconds, used, memory = run(folder, "whole", *tier)
            each = seconds * cores / size
            said = ", ".join(f"{kind} {most:.0f}" for kind, most in sorted(memory.items()))
            print(
                f"{size:11}  {seconds:7.1f}  {60 * size / seconds:10.0f}  {each:14.2f}  {each - 3 * bare:19.2f}"
                f"  {used / size:10.2f}  {len(wrong(folder, 'whole', expected)):5}  {said}",
                flush=True,
            )
            if size == asked.sizes[-1]:
                there, again = killed_in_the_middle(folder, size, *tier)
                print(f"killed when {there} of {size} were recorded; the rest took {again:.1f} s; "
                      f"grades.json equal: {equal(folder, 'whole', 'killed')}", flush=True)  # fmt: skip
                if asked.kills:
                    seen = killed_at_random(folder, asked.kills, *tier)
                    print(f"killed at {asked.kills} random moments, after which {seen} were recorded; "
                          f"grades.json equal: {equal(folder, 'whole', 'fuzzed')}", flush=True)  # fmt: skip
                if asked.cluster:
                    seconds = on_a_cluster(folder, size, asked.cluster, *tier)
                    wholes, there = grades(folder, "whole"), grades(folder, "cluster")
                    same = {n: g["points"] for n, g in wholes.items()} == {
                        n: g["points"] for n, g in there.items()
                    }
                    print(f"on a cluster of {asked.cluster}, a worker killed: {seconds:.1f} s; points equal: {same}; "
                          f"grades.json equal: {equal(folder, 'whole', 'cluster')}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
