"""Sets minigrad up in this folder, and starts it. Needs Python 3.11 or newer and nothing else.

    python3 start.py            set up, then open the lessons in JupyterLab
    python3 start.py test       set up, then run every check: format, lint, types, tests, notebooks
    python3 start.py --help     print this

Everything is installed into .venv beside this file; delete that folder to start afresh. More arguments
are passed on: `python3 start.py lab --no-browser --port 8899`, `python3 start.py test -k nbval`.
"""

import hashlib
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.abspath(__file__))
VENV = os.path.join(ROOT, ".venv")
SCRIPTS = os.path.join(VENV, "Scripts" if os.name == "nt" else "bin")
PYTHON = os.path.join(SCRIPTS, "python.exe" if os.name == "nt" else "python")

# Each line is run from the root of the clone. mypy, which takes half a minute, checks while the tests run,
# and says at the end what it found.
CHECKS = [
    ["ruff", "format", "--check"],
    ["ruff", "check"],
    ["lint-imports"],  # who may import whom: pyproject.toml
]
TYPES = ["mypy"]
# tests/conftest.py says how many workers, and which files come first. A file stays with one worker,
# which starts its kernel or server once. A test that hangs for twenty minutes says where, and fails.
# The arguments of the command line are added here.
TESTS = ["pytest", "-n", "auto", "--dist", "loadfile", "--no-loadscope-reorder"]
TESTS += ["-o", "faulthandler_timeout=1200", "-o", "faulthandler_exit_on_timeout=true"]
TESTS += ["--max-worker-restart=0"]


def main(arguments):
    # Written for any Python 3, so that an old one is told what is missing.
    if sys.version_info < (3, 11):
        sys.exit(
            "minigrad needs Python 3.11 or newer, and this is {}.{}. Run this file with a newer one, "
            "for example  python3.12 start.py".format(*sys.version_info[:2])
        )
    task, rest = (arguments[0], arguments[1:]) if arguments else ("lab", [])
    if task not in ("lab", "test") or "-h" in rest or "--help" in rest:
        print(__doc__)
        sys.exit(0 if {"-h", "--help"} & set(arguments) else 2)
    if task == "lab":
        set_up("lab")
        sys.exit(run(["minigrad", "lab"] + rest))
    set_up("dev")
    # There are as many workers as cores: threads of a matrix product would only wait for each other.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    failed = [check for check in CHECKS if run(check)]
    with tempfile.TemporaryFile() as said:
        types = start(TYPES, stdout=said, stderr=subprocess.STDOUT)
        if run(TESTS + rest):
            failed.append(TESTS)
        if types.wait():
            failed.append(TYPES)
        print("+ " + " ".join(TYPES), flush=True)
        said.seek(0)
        sys.stdout.buffer.write(said.read())
    sys.exit("failed: " + ", ".join(map(" ".join, failed)) if failed else 0)


def set_up(extra):
    """Installs this clone with one extra into .venv, unless it is there already."""
    with open(os.path.join(ROOT, "pyproject.toml"), "rb") as settings:
        wanted = hashlib.sha256(settings.read()).hexdigest()
    stamp = os.path.join(VENV, "minigrad-{}.stamp".format(extra))
    if os.path.exists(stamp) and os.path.exists(PYTHON):
        with open(stamp, encoding="utf-8") as done:
            if done.read() == wanted:
                return
    pip = [PYTHON, "-m", "pip", "--disable-pip-version-check", "install"]
    if not os.path.exists(PYTHON):
        print("+ python3 -m venv .venv", flush=True)
        if subprocess.call([sys.executable, "-m", "venv", VENV]):
            sys.exit(
                "The virtual environment could not be made. On Debian and Ubuntu its module is a package "
                "of its own:  sudo apt-get install python3-venv"
            )
        # Only a recent pip shows a progress bar while it installs. An old one does the work as well.
        print("+ pip install --upgrade pip", flush=True)
        subprocess.call(pip + ["--upgrade", "pip"])
    print("+ pip install -e .[{}]    (the first time takes a minute)".format(extra), flush=True)
    if subprocess.call(pip + ["--no-compile", "--editable", "{}[{}]".format(ROOT, extra)]):
        sys.exit(
            "The installation did not finish; pip says why above. Run the same command again to go on."
        )
    # pip would compile on one core, and what is large and hardly read, too.
    print("+ compileall    (a quarter of a minute)", flush=True)
    left_out = r"[\\/](tests?|sympy|sqlalchemy|mypyc?|pip|setuptools)[\\/]"
    compiled = [PYTHON, "-m", "compileall", "-qq", "-j", "0", "-x", left_out]
    packages = os.path.join(VENV, "Lib" if os.name == "nt" else "lib")
    subprocess.call(compiled + [packages, os.path.join(ROOT, "minigrad")])
    with open(stamp, "w", encoding="utf-8") as done:
        done.write(wanted)


def run(command):
    """Runs a program of .venv in the root of the clone; returns its exit status."""
    print("+ " + " ".join(command), flush=True)
    program = start(command)
    while True:
        try:
            return program.wait()
        except KeyboardInterrupt:  # the program gets it, too: JupyterLab asks whether to stop
            pass


def start(command, **streams):
    """Starts a program of .venv in the root of the clone."""
    program = os.path.join(SCRIPTS, command[0] + (".exe" if os.name == "nt" else ""))
    path = SCRIPTS + os.pathsep + os.environ.get("PATH", "")
    environment = dict(os.environ, PATH=path)
    # Hundreds of kernels are started, and each would compile minigrad anew.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    return subprocess.Popen([program] + command[1:], cwd=ROOT, env=environment, **streams)


if __name__ == "__main__":
    main(sys.argv[1:])
