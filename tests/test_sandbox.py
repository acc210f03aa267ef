"""The tiers of isolation: which is chosen, what is said about the others, and containers.

The container's command line is held against a podman that only writes down what it is asked, and
runs nothing in a container; against a real engine the tier is tried where one is there.
"""

import ast
import inspect
import json
import os
import platform
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path

import pytest

pytest.importorskip("minigrad.grading.sandbox.choose")

from minigrad.grading.sandbox import choose, container, launch, lockdown, stand_in
from minigrad.grading.sandbox.channel import Budget, Channel, TooMuch
from minigrad.grading.sandbox.image import build_image, cached_image
from minigrad.grading.sandbox.launch import Limits, Process
from minigrad.grading.sandbox.wire import Kernel, NotStarted
from tests.grading_figures import _descendants

# An engine that notes its arguments. `run` starts what it is told to without a container, where
# FAKE_RUN says so, and ends when `kill` is called; as an engine's client does.
# The second line is a command to sh and a string to Python: after #!, a path could have no spaces.
FAKE = f"""\
#!/bin/sh
"exec" "{sys.executable}" "$0" "$@"
import json, os, pathlib, subprocess, sys, time
folder = pathlib.Path(__file__).parent
with open(folder / "calls", "a") as file:
    file.write(json.dumps(sys.argv[1:]) + "\\n")
what = sys.argv[1]
if what == "image":
    sys.exit(0 if (folder / "image").exists() else 1)
if what == "import":
    if (folder / "no service").exists():
        sys.exit(125)
    (folder / "image").write_bytes(sys.stdin.buffer.read())
if what == "info":
    print("[name=rootless]" if (folder / "rootless").exists() else "[name=seccomp]")
if what == "kill":
    (folder / "killed").touch()
if what == "run":
    print("the engine says no", file=sys.stderr)
    while (folder / "runs").exists() and not (folder / "killed").exists():
        time.sleep(0.01)
    sys.exit(125)
"""


@pytest.fixture
def engine(tmp_path, monkeypatch):
    """A folder with a fake podman, which is all that is on the PATH."""
    folder = tmp_path / "engine"
    folder.mkdir()
    (folder / "podman").write_text(FAKE, encoding="utf-8")
    (folder / "podman").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    for name in ("ENGINE", "IMAGE"):
        monkeypatch.delenv(f"MINIGRAD_CONTAINER_{name}", raising=False)
    container.engine.cache_clear()
    yield folder
    container.engine.cache_clear()


@pytest.fixture
def image():
    return cached_image(False)


def calls(folder):
    return [json.loads(line) for line in (folder / "calls").read_text("utf-8").splitlines()]


def asked_to_run(folder, image):
    """The options of `run`, and the command, when a kernel is started in a container."""
    with Process("container", image, Limits(memory=1000, disk=8)) as process:
        process.start({"connection": "/run/kernel/k.json"})
        process.child.wait(20)
        inside = process.folder
    run = next(c for c in calls(folder) if c[0] == "run")
    at = run.index("--entrypoint")
    return run[:at], run[at:], inside


def values(options, name):
    return [value for key, value in zip(options, options[1:]) if key == name]


# ------------------------------------------------------------------------- attacks


@pytest.fixture(scope="module")
def ordinary():
    """Run a program as an ordinary user, with a Python that such a user may run; give what it prints."""
    home = tempfile.mkdtemp(prefix="mg-home-")
    environment = {"HOME": home, "PATH": os.environ["PATH"], "OPENBLAS_NUM_THREADS": "1"}
    somebody = {}
    python = sys.executable
    if os.geteuid() == 0:
        os.chown(home, 65534, 65534)
        somebody = {"user": 65534, "group": 65534, "extra_groups": []}
        environment["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path[1:]])
        python = "/usr/bin/python3"  # ours may lie in root's home

    def run(source):
        command = [python, "-c", source]
        return subprocess.run(
            command, env=environment, cwd="/", capture_output=True, encoding="utf-8", **somebody
        )

    probe = run("import minigrad.grading.sandbox.choose, sys; print(sys.version_info[:2])")
    if probe.stdout.strip() != str(sys.version_info[:2]):
        pytest.skip(f"no Python that an ordinary user may run: {probe.stderr[-200:]}")
    yield run
    shutil.rmtree(home, ignore_errors=True)


# As on a kernel without it: a system call is refused to this process and its children.
REFUSING = """
import ctypes, struct
from minigrad.grading.sandbox.image import cached_image
from minigrad.grading.sandbox import lockdown
cached_image(False)
program = [(0x20, 0, 0, 0), (0x15, 0, 1, {call}), (0x06, 0, 0, 0x00050026), (0x06, 0, 0, 0x7FFF0000)]
packed = b"".join(struct.pack("HBBI", *step) for step in program)
buffer = ctypes.create_string_buffer(packed, len(packed))
lockdown.no_new_privileges()
head = struct.pack("HxxxxxxP", 4, ctypes.addressof(buffer))
lockdown._call(lockdown.SECCOMP[lockdown.platform.machine()], ctypes.c_uint(1), ctypes.c_uint(1), head)
"""
TRIED = """
import json, time
from minigrad.grading.sandbox.image import cached_image
from minigrad.grading.sandbox import choose
from minigrad.grading.sandbox.image import build_image  # noqa: E402
from minigrad.grading.sandbox.launch import Limits, Process
from minigrad.grading.sandbox.wire import Kernel
image = cached_image(False)
"""


@cache
def self_test(tier):
    """What the self-test finds of a tier here."""
    return choose.try_tier(tier, cached_image(False))


@pytest.mark.parametrize("tier", launch.TIERS[:-1])
def test_a_tier_that_starts_here_blocks_every_attack(tier):
    found = self_test(tier)

    if not found.attacks:
        pytest.skip(found.reason)
    assert found.holds and found.attacks == 19, found.reason


@pytest.mark.skipif(os.geteuid() != 0, reason="the test above has tried it")
@pytest.mark.parametrize("tier", launch.TIERS[:-1])
def test_a_tier_blocks_every_attack_for_an_ordinary_user_too(ordinary, tier):
    tried = f"f = choose.try_tier({tier!r}, image); print(json.dumps([f.attacks, f.reason]))"
    said = ordinary(f"{TRIED}{tried}")
    attacks, reason = json.loads(said.stdout or said.stderr)

    if not attacks:
        pytest.skip(reason)
    assert (attacks, reason) == (19, "")


@pytest.mark.parametrize("tier", launch.TIERS[:-1])
def test_killing_a_kernel_leaves_no_process_behind(image, tier):
    try:
        with Process(tier, image, Limits()) as process, Kernel(process) as kernel:
            kernel.run("while True: pass", time.monotonic() + 1)
            started = _descendants(process.child.pid)
    except (NotStarted, OSError) as error:
        pytest.skip(str(error))

    ends = time.monotonic() + 20
    while any(os.path.exists(f"/proc/{pid}") for pid in started) and time.monotonic() < ends:
        time.sleep(0.05)
    assert started and not [pid for pid in started if os.path.exists(f"/proc/{pid}")]


# Cells for one kernel, the last of which ends it: what the report says of each.
UNINDENT = "unindent does not match any outer indentation level"
LARGE = f"x = '{'a' * 400_000}'"
CELLS = {
    "large cells, a syntax error, an exit": {
        LARGE: "",
        "print(x)": "",
        "raise ValueError(x)": "ValueError: ",
        "x = 1\nx = = 2": "SyntaxError: invalid syntax (line 2 of the cell)",
        "if 1:\n    x = 1\n  x = 2": f"IndentationError: {UNINDENT} (line 3 of the cell)",
        "import os; os._exit(3)": "exit status 3",
    },
    "a crash": {"import os; os.kill(os.getpid(), 11)": "signal SIGSEGV"},
}


@pytest.mark.parametrize("cells", CELLS.values(), ids=CELLS)
@pytest.mark.parametrize("tier", launch.TIERS)
def test_a_kernel_survives_large_messages_and_the_report_says_what_failed_and_how_it_died(
    image, tier, cells
):
    try:
        with Process(tier, image, Limits()) as process, Kernel(process) as kernel:
            runs = [kernel.run(cell, time.monotonic() + 20) for cell in cells]
    except (NotStarted, OSError) as error:
        pytest.skip(str(error))

    assert [run.end for run in runs] == ["idle"] * (len(cells) - 1) + ["died"]
    assert [(run.error or "").partition("aaa")[0] for run in runs] == list(cells.values())


@pytest.mark.parametrize("tier", launch.TIERS)
def test_no_exit_status_of_a_kernel_is_reported_as_too_many_files(image, tier):
    try:
        with Process(tier, image, Limits()) as process, Kernel(process) as kernel:
            run = kernel.run(f"import os; os._exit({launch.TOO_MANY})", time.monotonic() + 20)
    except (NotStarted, OSError) as error:
        pytest.skip(str(error))

    assert run.error in ("exit status 1", f"exit status {launch.TOO_MANY}")


def few_files(monkeypatch, tmp_path):
    """The self-test, with files that are enough to be too many, and no more than a test can bear."""
    source = choose.PROBE.read_text(encoding="utf-8").replace("10**6", "200_000")
    (tmp_path / "probe.py").write_text(source, encoding="utf-8")
    monkeypatch.setattr(choose, "PROBE", tmp_path / "probe.py")


def test_without_a_sandbox_the_attacks_of_the_self_test_succeed(image, monkeypatch, tmp_path):
    few_files(monkeypatch, tmp_path)

    reason = choose.try_tier("none", image).reason

    for attack in ("reads the judge bundle", "writes beside it", "empties it", "lists its folder",
                 "reaches the network", "makes a socket", "sees the parent", "signals the parent",
                 "lets a pipe signal it", "starts a process", "slows the parent down",
                 "signals others by a lock"):  # fmt: skip
        assert attack in reason
    for attack in ("real-time priority", "the kernel's settings"):
        assert (attack in reason) == (os.geteuid() == 0)
    if os.geteuid() == 0:  # for others, it depends on how many threads they may start
        assert "2,000 threads" in reason
    assert "frame" not in reason and "memory" not in reason  # these hold everywhere


def finding_without(walls, image, monkeypatch, tmp_path):
    """What the self-test finds of bwrap when some of its walls are taken away."""
    whole, paths = Process._bwrap, Process._paths

    def bwrap(self, environment):
        arguments = whole(self, environment)
        if "first process" in walls:
            arguments.remove("--as-pid-1")
        if "read-only settings" in walls:
            at = arguments.index("/proc/sys") - 1
            del arguments[at : at + 3]
        return arguments

    few_files(monkeypatch, tmp_path)
    monkeypatch.setattr(Process, "_bwrap", bwrap)
    monkeypatch.setattr(Process, "_paths", (lambda self: None) if "landlock" in walls else paths)
    if "own user" in walls:
        monkeypatch.setattr(launch, "_unused_uid", lambda: None)
    return choose.try_tier("bwrap", image)


@pytest.mark.parametrize(
    "walls", [("landlock",), ("read-only settings",), ("landlock", "read-only settings")]
)
def test_each_layer_of_bwrap_holds_without_the_others(image, monkeypatch, tmp_path, walls):
    if not self_test("bwrap").attacks:
        pytest.skip(f"bwrap cannot be used here: {self_test('bwrap').reason}")

    assert finding_without(walls, image, monkeypatch, tmp_path).holds


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user may not change them anyway")
def test_the_self_test_finds_what_is_possible_without_any_layer(image, monkeypatch, tmp_path):
    if not self_test("bwrap").holds:
        pytest.skip("bwrap cannot be used here")
    walls = ("landlock", "first process", "read-only settings", "own user")
    monkeypatch.setattr(container, "PATIENCE", 0.5)  # for the end of what does not look for ours

    bare = finding_without(walls, image, monkeypatch, tmp_path)

    assert not bare.holds
    for attack in ("changes the kernel's settings", "writes into process 1", "threads", "files"):
        assert attack in bare.reason


@pytest.mark.skipif(os.geteuid() != 0, reason="the kernel counts an ordinary user's threads")
@pytest.mark.parametrize("tier", ["bwrap", "landlock"])
def test_a_tier_in_which_root_s_threads_are_not_counted_is_not_offered(
    image, monkeypatch, tmp_path, tier
):
    if not self_test(tier).attacks:
        pytest.skip(f"{tier} cannot be used here")
    few_files(monkeypatch, tmp_path)
    monkeypatch.setattr(launch, "_unused_uid", lambda: None)

    found = choose.try_tier(tier, image)

    # If root has many threads elsewhere, the kernel itself gets none.
    threads = ("starts 2,000 threads", "could not be started")
    assert not found.holds and any(why in found.reason for why in threads)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="it names a system call by number")
def test_landlock_is_not_offered_to_a_user_who_may_have_no_namespace_to_count_threads_in(ordinary):
    tried = "print(choose.try_tier('landlock', image).reason)"
    said = ordinary(f"{REFUSING.format(call=272)}{TRIED}{tried}")

    if "no Landlock" in said.stdout:
        pytest.skip("this kernel has no Landlock")
    assert said.stdout == "student code in it starts 2,000 threads\n", said.stderr


def test_root_s_sandboxes_run_as_unused_users(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    users = {launch._unused_uid() for _ in range(20)}
    if users == {None}:
        pytest.skip("in this namespace root is alone")

    assert len(users) > 15 and all(1000 < user < 2**31 for user in users)
    for known, users in (("0 1000 1", [None]), ("0 100000 65536", range(32768, 65536))):
        monkeypatch.setattr(Path, "read_text", lambda self, known=known, **how: known)
        assert launch._unused_uid() in users


# ------------------------------------------------------------------------- what a kernel keeps

KEPT = {
    "open": "kept.append(os.open('f', os.O_CREAT | os.O_RDWR)); os.unlink('f'); os.write(kept[-1], part)",
    "in memory": "d = os.open('f', os.O_CREAT | os.O_RDWR); os.write(d, part); kept.append(mmap.mmap(d, len(part)));"
    "os.close(d); os.unlink('f')",
    "mapped by a page": "d = os.open('f', os.O_CREAT | os.O_RDWR); os.write(d, part); libc.mmap(None, 1, 1, 1, d, 0);"
    "os.close(d); os.unlink('f')",
    "in a message": "d = os.open('f', os.O_CREAT | os.O_RDWR); os.write(d, part); os.unlink('f')\n"
    "    with suppress(PermissionError): socket.send_fds(pair[0], [b'x'], [d]); os.close(d)",
    "in a table of its own": "k or threading.Thread(target=own_table).start()",
    "by a thread that outlives the first": "k or threading.Thread(target=keep).start(); k == 8 and libc.syscall(60, 0)",
    "out of sight": "os.mkdir(f'd{k}', 0o300); open(f'd{k}/f', 'wb').write(part)",
    "as names": "[os.mkdir(f'd{k}-{n}') for n in range(700)]",
    "under another name each time": "open(f'f{k}', 'wb').write(part); k or threading.Thread(target=rename).start()",
    "in each other": "[(os.mkdir('d'), os.chdir('d')) for n in range(700)]",
}
KEEPS = """
import ctypes, mmap, os, socket, threading, time
from contextlib import suppress
libc, pair = ctypes.CDLL(None, use_errno=True), socket.socketpair()
def keep():
    for _ in range(9):
        time.sleep(0.1)
        d = os.open("f", os.O_CREAT | os.O_RDWR); os.unlink("f"); os.write(d, part)
    time.sleep(5)
def own_table():
    libc.syscall(436, 250, 251, 2); keep()
def rename():
    while True:
        for name in os.listdir("."): os.rename(name, name[1:] if name[0] == "x" else "x" + name)
os.chdir(os.environ["TMPDIR"])
kept, part = [], bytes(2_000_000)
for k in range(9):
    {body}
time.sleep(5)
"""


@pytest.mark.parametrize("who", ["we", "an ordinary user"])
def test_what_a_kernel_keeps_is_counted_under_landlock_however_it_is_hidden_and_is_removed(
    request, who
):
    cells = {how: KEEPS.format(body=body) for how, body in KEPT.items()}
    source = f"""{TRIED}
from concurrent.futures import ThreadPoolExecutor
def kept(cell):
    with Process("landlock", image, Limits(disk=8)) as process, Kernel(process) as kernel:
        run = kernel.run(cell, time.monotonic() + 20)
    return run.end, run.error, process.folder.exists()
cells = {cells!r}
with ThreadPoolExecutor(4) as several:
    for how, found in zip(cells, several.map(kept, cells.values())):
        print(how, *found)
"""
    if who == "we":
        said = subprocess.run([sys.executable, "-c", source], capture_output=True, encoding="utf-8")
    elif os.geteuid() == 0:
        said = request.getfixturevalue("ordinary")(source)
    else:
        pytest.skip("we are one")

    if "no Landlock" in said.stderr:
        pytest.skip("this kernel has no Landlock")
    assert said.stdout.splitlines() == [f"{how} disk None False" for how in KEPT], said.stderr


CHANGES = """
import ctypes, fcntl, os, struct
value, path = ctypes.create_string_buffer(b"a"), {path!r}.encode()
call = ctypes.CDLL(None).syscall
changed = {{
    "attributes": call(463, -100, path, 0, b"user.a", struct.pack("QII", ctypes.addressof(value), 1, 0), 16),
    "flags": call(469, -100, path, struct.pack("QIIQ", 0x40, 0, 0, 0), 24, 0),
    "mode": call(452, -100, path, 0o777, 0),
    "size": call(76, path, 0),
}}
assert set(changed.values()) == {{-1}}, changed
fcntl.ioctl(os.open({path!r}, os.O_RDONLY), 0x40086602, bytes(8))
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="it names system calls by number")
def test_under_landlock_nothing_of_a_file_that_the_user_owns_can_be_changed(ordinary):
    said = ordinary(f"""{TRIED}
path = str(image / "boot.py")
with Process("landlock", image, Limits()) as process, Kernel(process) as kernel:
    run = kernel.run({CHANGES!r}.format(path=path), time.monotonic() + 20)
print(run.end, run.error)
""")

    if "no Landlock" in said.stderr:
        pytest.skip("this kernel has no Landlock")
    assert said.stdout == "idle PermissionError: [Errno 1] Operation not permitted\n", said.stderr


def test_packages_beside_shared_libraries_are_not_in_a_sandbox(image, tmp_path, monkeypatch):
    packages = tmp_path / "python3.11" / "site-packages"
    packages.mkdir(parents=True)
    (tmp_path / "libm.so").touch()
    monkeypatch.setattr(launch, "_libraries", lambda: [str(tmp_path)])

    bwrap, landlock = (Process(tier, image, Limits()) for tier in ("bwrap", "landlock"))
    with bwrap, landlock:
        assert (str(image / "empty"), str(packages)) in bwrap.mounts()
        read = landlock._paths()["read"]

    assert str(tmp_path / "libm.so") in read and not {str(tmp_path), str(packages.parent)} & {*read}


def test_an_image_is_readable_for_root_s_unused_user(tmp_path):
    before = os.umask(0o077)
    try:
        made = build_image(tmp_path / "image", engine=False)
    finally:
        os.umask(before)

    for path in (made, *made.rglob("*")):
        wanted = 0o555 if path.is_dir() else 0o444
        assert path.stat().st_mode & wanted == wanted, path


@pytest.mark.parametrize("answered", [list, lambda absent: absent.tangent(1).detach()])
def test_what_stands_in_for_a_check_says_so_where_an_answer_uses_it(answered):
    check = stand_in._Absent("minigrad.teach.Tangents", inert=True)()

    with pytest.raises(ImportError, match="Tangents.*: the engine is not available"):
        answered(check)


# ------------------------------------------------------------------------- what is started

STARTS = {"Popen", "run", "call", "check_call", "check_output", "getoutput", "system", "popen", "fork", "forkpty",
          "posix_spawn", "posix_spawnp", "create_subprocess_exec", "create_subprocess_shell"}  # fmt: skip
# Everything in the package that starts a process: what, and from which folder. A Python gets -I or -P.
STARTED = {
    ("grading/doctor.py", "[found, '--version']", None): "a browser",
    ("grading/trusted.py", "[sys.executable, '-P', *arguments]", "folder"): "of its own",
    ("grading/run/recorder.py", "[sys.executable, '-P', '-W', 'ignore', '-m',", "'/'"): "of root's",
    ("grading/sandbox/boot.py", "", None): "forks",
    ("grading/sandbox/container.py", "[program, *arguments]", None): "an engine",
    ("grading/sandbox/launch.py", "command", "cwd"): "the sandbox, and what ends it",
    ("grading/sandbox/probe.py", "", None): "tries to, in a sandbox",
    ("grading/sandbox/supervise.py", "[engine, *arguments]", None): "an engine",
}  # fmt: skip


def test_every_start_of_a_process_is_known_and_no_python_imports_from_its_folder():
    package = Path(launch.__file__).parents[2]
    found = set()
    for path in package.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                of = ast.unparse(node.func.value)
                exec_or_spawn = of == "os" and node.func.attr.startswith(("exec", "spawn"))
                known = of in ("subprocess", "os", "asyncio", "pty") and node.func.attr in STARTS
                if known or exec_or_spawn:
                    command = ast.unparse(node.args[0]) if node.args else ""
                    cwd = {k.arg: ast.unparse(k.value) for k in node.keywords}.get("cwd")
                    found.add((path.relative_to(package).as_posix(), command, cwd))
            elif isinstance(node, ast.ImportFrom) and node.module in (
                "subprocess",
                "asyncio",
                "pty",
            ):
                pytest.fail(f"{path} imports {node.names[0].name}, which is not looked for")

    unknown = [
        (file, command, cwd)
        for file, command, cwd in found
        if not any(f == file and command.startswith(c) and cwd == w for f, c, w in STARTED)
    ]
    assert not unknown and len({file for file, _, _ in found}) == len(STARTED)
    started = inspect.getsource(launch)
    assert started.count("sys.executable") == 2 and '[sys.executable, "-I", "-S", script' in started
    assert started.count('options = ["-S", "-s", "-P", "-B",') == 1


# ------------------------------------------------------------------------- what a kernel sends

# Raw frames of ZMTP, to every socket that the kernel has: each says that MORE follow.
FLOOD = """
import os, stat
flood = {frame} * {times}
sockets = [fd for fd in range(3, 256) if os.path.exists(f"/dev/fd/{{fd}}") and stat.S_ISSOCK(os.fstat(fd).st_mode)]
while True:
    for fd in sockets:
        try:
            os.set_blocking(fd, False)
            os.write(fd, flood)
        except OSError:
            pass
"""


@pytest.mark.skipif(sys.platform != "linux", reason="it looks for sockets in /dev/fd")
@pytest.mark.parametrize("frame, times", [("b'\\1\\xff' + bytes(255)", 1000), ("b'\\1\\0'", 30000)])
def test_endless_frames_stop_the_cell_and_use_no_memory(image, frame, times):
    import resource

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    with Kernel(Process("none", image, Limits())) as kernel:
        began = time.monotonic()
        run = kernel.run(FLOOD.format(frame=f"({frame})", times=times), began + 30)
        took = time.monotonic() - began

    assert run.end in ("bytes", "messages")
    assert took < 15
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # KiB


def test_a_message_in_many_pieces_is_one_message():
    ours, theirs = socket.socketpair(socket.AF_UNIX)
    connection = Channel.__new__(Channel)
    connection.socket, connection._arrived, connection._message, connection._size = (
        ours, bytearray(), [], 0,
    )  # fmt: skip
    long = bytes(300)
    sent = b"\1\2ab" + b"\4\4\3abc" + b"\2" + (300).to_bytes(8, "big") + long

    found = []
    budget = Budget(messages=10, size=1000, message=500)
    for k in range(len(sent)):
        theirs.send(sent[k : k + 1])
        found += connection.messages(budget)

    assert found == [[b"ab", long]]  # the command between them is passed over
    with pytest.raises(TooMuch, match="bytes"):
        theirs.send(b"\2" + (501).to_bytes(8, "big"))
        list(connection.messages(budget))


# ------------------------------------------------------------------------- choosing


def test_the_order_is_gvisor_bwrap_landlock_container_and_never_none(image, monkeypatch):
    def fails(tier, image):
        return choose.Finding(tier, False, f"no {tier} here", choose.FIXES[tier])

    monkeypatch.setattr(choose, "try_tier", fails)

    with pytest.raises(choose.NoSandbox) as told:
        choose._strongest(image, "auto")
    said = [line.split()[0] for line in str(told.value).splitlines() if " here" in line]
    assert said == ["gvisor", "bwrap", "landlock", "container"]
    assert "--isolation none" in str(told.value)


def test_a_tier_that_does_not_hold_is_skipped(image, monkeypatch):
    def tried(tier, image):
        return choose.Finding(tier, tier == "container", "no")

    monkeypatch.setattr(choose, "try_tier", tried)

    assert choose._strongest(image, "auto").tier == "container"


def test_a_missing_bwrap_is_reported_with_the_command_that_installs_it(image, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")

    found = choose.try_tier("bwrap", image)

    assert not found.holds and found.reason == "bwrap is not installed"
    assert found.fix.startswith("apt-get install bubblewrap")


def test_bwrap_s_own_error_is_reported(image, tmp_path, monkeypatch):
    bwrap = tmp_path / "bwrap"
    bwrap.write_text(
        "#!/bin/sh\necho bwrap: No permissions to create new namespace >&2\nexit 1\n",
        encoding="utf-8",
    )
    bwrap.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")

    found = choose.try_tier("bwrap", image)

    assert not found.holds and "No permissions to create new namespace" in found.reason


def test_a_sysctl_setting_that_forbids_namespaces_is_named(tmp_path, monkeypatch):
    real = Path.read_text

    def read_text(path, *more, **named):
        if str(path) == "/proc/sys/kernel/apparmor_restrict_unprivileged_userns":
            return "1\n"
        if str(path) == "/proc/sys/kernel/unprivileged_userns_clone":
            raise FileNotFoundError
        return real(path, *more, **named)

    monkeypatch.setattr(Path, "read_text", read_text)

    for tier in ("gvisor", "bwrap", "landlock"):
        said = choose._fix_for(tier)
        assert said.startswith("sysctl -w kernel.apparmor_restrict_unprivileged_userns=0")


def test_missing_subordinate_user_ids_are_reported_with_the_command_that_adds_them(
    image, monkeypatch
):
    def refused(tier, image, tell, said):
        said.write(b"Error: keep-id requires additional UIDs or GIDs defined in /etc/subuid\n")
        raise NotStarted("the kernel did not start")

    monkeypatch.setattr(choose, "_attacks", refused)

    found = choose.try_tier("container", image)

    assert not found.holds and "keep-id requires" in found.reason
    assert "usermod --add-subuids" in found.fix and "uidmap" in found.fix


@pytest.mark.skipif(not lockdown.landlock_version(), reason="this kernel has no Landlock")
@pytest.mark.skipif(sys.platform != "linux", reason="Linux only")
def test_on_a_kernel_without_landlock_the_tier_does_not_hold_and_says_so():
    source = f"""{REFUSING.format(call=444)}{TRIED}
found = choose.try_tier("landlock", image)
print(found.holds, found.reason, "|", found.fix)
"""
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, encoding="utf-8")

    assert done.stdout.startswith("False"), done.stderr
    assert "this kernel has no Landlock" in done.stdout
    assert "use Linux 5.14 or newer" in done.stdout


# ------------------------------------------------------------------------- containers


def test_a_container_has_no_network_no_capabilities_and_is_read_only(engine, image):
    options, command, private = asked_to_run(engine, image)

    for name, value in (
        ("--network", "none"),
        ("--cap-drop", "ALL"),
        ("--ipc", "private"),
        ("--pull", "never"),
        ("--pids-limit", "64"),
        ("--memory", str((1000 + 4 * 8 + 128) * 2**20)),
        ("--memory-swap", str((1000 + 4 * 8 + 128) * 2**20)),
        ("--shm-size", str(8 * 2**20)),
    ):
        assert values(options, name) == [value]
    assert {"--read-only", "--rm", "--read-only-tmpfs=false", "--no-hosts"} <= set(options)
    assert "no-new-privileges" in values(options, "--security-opt")
    assert "--privileged" not in options and not values(options, "--cap-add")
    assert command[:3] == ["--entrypoint", "/python/bin/python3", container.EMPTY]
    assert command[3:8] == ["-S", "-s", "-P", "-B", "/image/boot.py"]


def test_only_one_folder_of_this_machine_can_be_written_from_a_container(engine, image):
    options, _, private = asked_to_run(engine, image)

    mounts = values(options, "--mount")
    writable = [m for m in mounts if "readonly" not in m]
    assert writable == [f"type=bind,src={private},dst=/run/kernel"]
    assert f"type=bind,src={image},dst=/image,readonly" in mounts
    assert all(t.startswith(("/tmp:rw,nosuid,nodev,size=8388608", "/work:rw,nosuid,nodev,size=8388608"))
               for t in values(options, "--tmpfs"))  # fmt: skip


def test_a_container_gets_a_clean_environment_without_the_machine_s_proxies(
    engine, image, monkeypatch
):
    monkeypatch.setenv("HTTPS_PROXY", "http://name:password@proxy")

    options, _, _ = asked_to_run(engine, image)

    given = dict(v.split("=", 1) for v in values(options, "--env"))
    assert given["HTTPS_PROXY"] == "" and given["PYTHONHASHSEED"] == "0"
    assert "--env-file" not in options and "--env-host" not in options


def test_student_code_in_a_container_runs_as_an_unused_user_or_without_capabilities(engine, image):
    options, _, _ = asked_to_run(engine, image)

    if os.geteuid() == 0:
        (user,) = values(options, "--user")
        assert int(user.split(":")[0]) > 1000 and "--userns" not in options
    else:
        assert values(options, "--user") == [f"{os.getuid()}:{os.getgid()}"]
        assert values(options, "--userns") == ["keep-id"]


def test_an_empty_image_is_made_once_and_none_is_fetched(engine, image):
    for _ in range(2):
        asked_to_run(engine, image)
        container.engine.cache_clear()

    made = [c for c in calls(engine) if c[0] in ("import", "pull", "build")]
    assert made == [["import", "-", container.EMPTY]]
    assert (engine / "image").read_bytes() == bytes(10240)


def test_a_named_image_uses_its_own_python(engine, image, monkeypatch):
    monkeypatch.setenv("MINIGRAD_CONTAINER_IMAGE", "registry/course:2")

    options, command, private = asked_to_run(engine, image)

    assert command[:3] == ["--entrypoint", "python3", "registry/course:2"]
    assert len(values(options, "--mount")) == 2  # the packages, and our folder
    assert not any(v.startswith("LD_LIBRARY_PATH") for v in values(options, "--env"))
    assert not [c for c in calls(engine) if c[0] == "import"]


def test_docker_gets_no_options_of_podman(engine, image, monkeypatch):
    (engine / "podman").rename(engine / "docker")

    options, _, _ = asked_to_run(engine, image)

    assert not {"--read-only-tmpfs=false", "--no-hosts", "--userns"} & set(options)


def test_with_docker_that_runs_as_the_user_root_there_is_the_user_here(engine, image, monkeypatch):
    (engine / "podman").rename(engine / "docker")
    (engine / "rootless").touch()
    monkeypatch.setattr(os, "geteuid", lambda: 1000)

    options, _, _ = asked_to_run(engine, image)

    assert values(options, "--user") == ["0:0"]


@pytest.mark.parametrize(
    "prepare, reason",
    [
        (lambda f: (f / "podman").unlink(), "neither podman nor docker is installed"),
        (lambda f: (f / "no service").touch(), "could not make an image: does its service run?"),
        (lambda f: None, "it could not be started here: the engine says no"),
    ],
    ids=["not installed", "no service", "it refuses"],
)
def test_a_missing_container_engine_is_reported_with_the_command_that_installs_it(
    engine, image, prepare, reason
):
    prepare(engine)

    found = choose.try_tier("container", image)

    assert not found.holds and reason in found.reason and "apt-get install podman" in found.fix


def test_a_configured_engine_that_is_missing_is_named(engine, image, monkeypatch):
    monkeypatch.setenv("MINIGRAD_CONTAINER_ENGINE", "nerdctl")

    assert choose.try_tier("container", image).reason == "nerdctl is not installed"


def test_a_container_is_killed_by_its_engine(engine, image):
    (engine / "runs").touch()
    with Process("container", image, Limits()) as process:
        process.start({"connection": "/run/kernel/k.json"})
        wait_until(lambda: any(c[0] == "run" for c in _calls_so_far(engine)))
        assert process.alive()

        process.kill()

        assert not process.alive()
    name = values(next(c for c in calls(engine) if c[0] == "run"), "--name")[0]
    assert ["kill", name] in calls(engine)


def test_a_container_is_killed_when_the_grader_is_killed(engine, image, tmp_path):
    (engine / "runs").touch()
    source = (
        "import time\nfrom pathlib import Path\n"
        "from minigrad.grading.sandbox.launch import Limits, Process\n"
        f"process = Process('container', Path({str(image)!r}), Limits())\n"
        "process.start({'connection': '/run/kernel/k.json'})\ntime.sleep(60)\n"
    )
    grader = subprocess.Popen([sys.executable, "-c", source])
    wait_until(lambda: any(c[0] == "run" for c in _calls_so_far(engine)))

    grader.send_signal(signal.SIGKILL)
    grader.wait()

    wait_until((engine / "killed").exists)


def test_in_a_real_container_a_kernel_runs_and_can_do_nothing_else(image):
    found = choose.try_tier("container", image)
    if not found.holds:
        pytest.skip(f"no container can be had here: {found.reason}")

    with Process("container", image, Limits()) as process, Kernel(process) as kernel:
        deadline = time.monotonic() + 120
        right = kernel.run("import numpy as np; assert np.ones(3).sum() == 3", deadline)
        wrong = kernel.run("open('/image/x', 'w')", deadline)
        forked = kernel.run("import os; os.fork()", deadline)

    assert right.error is None
    assert "Read-only file system" in wrong.error
    assert "Operation not permitted" in forked.error


def wait_until(condition, seconds=120):
    ends = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < ends, "waited in vain"
        time.sleep(0.02)


def _calls_so_far(engine):
    try:
        return calls(engine)
    except (OSError, ValueError):
        return []


# ------------------------------------------------------------------------- what a kernel loads


def test_a_kernel_compiles_nothing_that_it_imports(image):
    sources = [p for p in (image / "site").rglob("*.py") if "numpy" in p.parts or "zmq" in p.parts]

    assert sources
    tag = sys.implementation.cache_tag
    compiled = [p.parent / "__pycache__" / f"{p.stem}.{tag}.pyc" for p in sources]
    assert not [p for p in compiled if not p.exists()]
