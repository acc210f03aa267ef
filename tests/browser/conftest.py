"""Browser tests: JupyterLab 4 and Notebook 7 in headless Chromium, everything on this machine.

Chromium is found by MINIGRAD_CHROMIUM, then on PATH (`apt-get install chromium-headless-shell`, which
takes three quarters of the time of `chromium`). Playwright only drives it; it is never asked to
download a browser of its own. Without Chromium these tests are
skipped, unless MINIGRAD_REQUIRE_BROWSER is set, as it is in CI.

    lab_server   session: a JupyterLab server in a fresh folder, no token, loopback only
    browser      module: headless Chromium
    lab          function: lab(cells) opens a notebook with these cells, runs them all, and returns
                 a NotebookPage; lab(path) does so with a copy of a notebook that exists; with
                 run=False no cell is run

A test looks like this:

    def test_click(lab):
        page = lab(["%load_ext minigrad", "%%autograd tape\\n..."])
        assert page.error_outputs() == []
        page.page.locator(".mg-inspector").first.click()
        page.wait_python("tape.selected", "3")
        assert page.outside == []          # no request has left the machine
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
sync_api = pytest.importorskip("playwright.sync_api")

# How long to wait before a test fails. Long, as these are no measure of speed: the machine may be busy.
START_S = 300  # server start
CELL_S = 600  # kernel start plus all cells
STEP_MS = 120_000  # one click, one wait for an element

OUTSIDE = re.compile(r"^(https?|wss?)://(?!127\.0\.0\.1[:/])")
OFFLINE = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"

CHROMIUM_ARGS = [
    OFFLINE,
    "--no-sandbox",  # root in a container
    "--disable-dev-shm-usage",  # small /dev/shm
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",  # no start-up look-ups of outside hosts
    "--disable-component-update",
    "--disable-sync",
    "--force-color-profile=srgb",  # stable screenshots
    "--font-render-hinting=none",
]


def _chromium() -> str | None:
    named = os.environ.get("MINIGRAD_CHROMIUM")
    for path in (
        named,
        shutil.which("chromium-headless-shell"),
        shutil.which("chromium"),
        shutil.which("chromium-browser"),
        "/usr/bin/chromium",
    ):
        if path and Path(path).exists():
            return path
    return None


def _free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def _settings(folder: Path, theme: str = "light") -> None:
    """Lab user settings: no news question, no update check, every cell in the DOM, a fixed theme."""
    wanted = {
        "@jupyterlab/apputils-extension/notification": {
            "checkForUpdates": False,
            "fetchNews": "false",
        },
        "@jupyterlab/apputils-extension/themes": {
            "adaptive-theme": False,
            "theme": "JupyterLab Dark" if theme == "dark" else "JupyterLab Light",
        },
        # Lab 4 keeps off-screen cells out of the DOM, and a widget there is never rendered
        "@jupyterlab/notebook-extension/tracker": {"windowingMode": "none"},
        # a kernel left dirty must not open a dialog at the end
        "@jupyterlab/docmanager-extension/plugin": {"autosave": False},
    }
    for plugin, values in wanted.items():
        name, _, leaf = plugin.rpartition("/")
        path = folder / name / f"{leaf}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(values), encoding="utf-8")


class LabServer:
    def __init__(self, root: Path, settings: Path, url: str, proc: subprocess.Popen, log: Path):
        self.root, self.settings, self.url, self.proc, self.log = root, settings, url, proc, log

    def get(self, path: str):
        with urllib.request.urlopen(self.url + path, timeout=60) as r:
            return json.load(r)

    def stop_kernels(self) -> None:
        deadline = time.monotonic() + START_S
        while sessions := self.get("api/sessions"):
            assert time.monotonic() < deadline, f"kernels that do not end: {sessions}"
            for session in sessions:
                where = self.url + f"api/sessions/{session['id']}"
                try:
                    urllib.request.urlopen(
                        urllib.request.Request(where, method="DELETE"), timeout=60
                    ).close()
                except urllib.error.HTTPError:  # a kernel that is just being restarted
                    time.sleep(0.2)


@pytest.fixture(scope="session")
def lab_server(tmp_path_factory):
    base = tmp_path_factory.mktemp("jupyter")
    root, settings, log = base / "notebooks", base / "settings", base / "server.log"
    root.mkdir()
    _settings(settings)
    env = dict(os.environ)
    # nothing of the user's own Jupyter or IPython set-up takes part
    for name in ("CONFIG", "DATA", "RUNTIME"):
        env[f"JUPYTER_{name}_DIR"] = str(base / name.lower())
    env.update(
        IPYTHONDIR=str(base / "ipython"),
        JUPYTERLAB_SETTINGS_DIR=str(settings),
        JUPYTERLAB_WORKSPACES_DIR=str(base / "workspaces"),
        JUPYTER_PLATFORM_DIRS="1",
        PYTHONUNBUFFERED="1",
    )
    port = _free_port()
    argv = [
        sys.executable,
        "-c",  # as -m jupyterlab, a second faster: see notebook_format.py
        "import minigrad.utils.notebook_format; from jupyterlab.labapp import main; main()",
        "--no-browser",
        "--allow-root",
        "--ip=127.0.0.1",
        f"--port={port}",
        "--ServerApp.port_retries=0",  # a taken port is an error, not another port
        f"--ServerApp.root_dir={root}",
        "--IdentityProvider.token=",
        "--PasswordIdentityProvider.hashed_password=",
        "--ServerApp.disable_check_xsrf=True",  # for the plain DELETE in stop_kernels
        "--ServerApp.terminals_enabled=False",
        "--LabApp.extension_manager=readonly",  # no look-up of the extension listing
        "--LabApp.news_url=",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
        "--LabApp.expose_app_in_browser=True",  # window.jupyterapp, to run commands by name
        "--JupyterNotebookApp.expose_app_in_browser=True",
    ]
    with log.open("wb") as out:
        # a session of its own: the server and its kernels end together, by this one id
        proc = subprocess.Popen(
            argv,
            cwd=root,
            env=env,
            stdout=out,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
    server = LabServer(root, settings, f"http://127.0.0.1:{port}/", proc, log)
    try:
        deadline = time.monotonic() + START_S
        while True:
            if proc.poll() is not None:
                pytest.fail(
                    f"the server ended with {proc.returncode}:\n{log.read_text(encoding='utf-8')[-3000:]}"
                )
            try:
                server.get("api/status")
                break
            except (urllib.error.URLError, OSError, ValueError):
                if time.monotonic() > deadline:
                    pytest.fail(
                        f"no answer in {START_S} s:\n{log.read_text(encoding='utf-8')[-3000:]}"
                    )
                time.sleep(0.2)
        yield server
    finally:
        # At once: a server that is asked to end takes ten seconds. Its kernels see that it is gone, and end.
        try:
            os.killpg(proc.pid, signal.SIGKILL)  # whatever of that session is left
        except ProcessLookupError:
            pass
        proc.wait()


@pytest.fixture(scope="module")
def browser():
    # Not for the session: while Playwright runs, so does its event loop, and no other test of this worker
    # could start one.
    path = _chromium()
    if path is None:
        if os.environ.get("MINIGRAD_REQUIRE_BROWSER"):
            pytest.fail("no Chromium: apt-get install -y chromium-headless-shell")
        pytest.skip("no Chromium on this machine")
    with sync_api.sync_playwright() as p:
        # Scrollbars take room, as on Windows and Linux.
        chromium = p.chromium.launch(
            executable_path=path,
            headless=True,
            args=CHROMIUM_ARGS,
            ignore_default_args=["--hide-scrollbars"],
        )
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def contexts(browser):
    """contexts(theme): what the pages of one theme share, above all the browser's cache."""
    made: dict[object, object] = {}

    def context(theme, motion="reduce"):
        if (theme, motion) not in made:
            made[theme, motion] = browser.new_context(
                viewport={"width": 1280, "height": 900},
                color_scheme=theme,
                service_workers="block",
                reduced_motion=motion,
            )
        return made[theme, motion]

    yield context
    for each in made.values():
        each.close()


@pytest.fixture(scope="module")
def open_page(contexts, tmp_path_factory):
    """open_page(tape) saves a tape or a program as a page and opens it; nothing may leave the machine."""

    def open_page(shown, theme="light", framed=False, address=""):
        path = shown.save(tmp_path_factory.mktemp("page") / "page.html")
        if framed:
            inner = path.read_text(encoding="utf-8").replace("&", "&amp;").replace('"', "&quot;")
            # Without a charset Chromium guesses one from whatever arrived first, now and then windows-1257;
            # the script then no longer has the hash that its policy asks for.
            path.write_text(
                '<!DOCTYPE html><meta charset="utf-8">'
                f'<iframe sandbox="allow-scripts" srcdoc="{inner}" width=1200></iframe>',
                encoding="utf-8",
            )
        page = contexts(theme, "no-preference").new_page()
        page.problems = []
        page.on("pageerror", lambda e: page.problems.append(str(e)))
        page.on("console", lambda m: m.type == "error" and page.problems.append(m.text))
        page.route(
            re.compile("^https?:"), lambda r: (page.problems.append(r.request.url), r.abort())
        )
        page.set_default_timeout(STEP_MS)
        page.goto(path.as_uri() + address)
        return page

    return open_page


@pytest.fixture
def opened(open_page):
    """As open_page; the page is closed after the test."""
    pages = []
    yield lambda *shown, **how: pages.append(open_page(*shown, **how)) or pages[-1]
    for page in pages:
        page.close()


class NotebookPage:
    """A notebook open in the browser, with what went wrong on the way."""

    def __init__(self, page, server: LabServer, app: str):
        self.page, self.server, self.app, self.name = page, server, app, ""
        self.outside: list[str] = []  # requests that would have left the machine
        self.errors: list[str] = []  # uncaught exceptions in the page, with their stacks
        self.console: list[str] = []  # console.error; anywidget reports a failing render() there
        page.on("pageerror", lambda e: self.errors.append(f"{e}\n{getattr(e, 'stack', '') or ''}"))
        page.on("console", lambda m: self.console.append(m.text) if m.type == "error" else None)
        # Chromium itself reaches nothing else (OFFLINE). A route that refused it here would also switch off
        # the browser's cache, and each page would load JupyterLab anew.
        page.on("request", lambda r: self.outside.append(r.url) if OUTSIDE.match(r.url) else None)

    def widget_errors(self) -> list[str]:
        """What the widget's own code did wrong. anywidget imports it from a blob: URL; Notebook 7 and Lab raise
        a few errors of their own (Notebook 7.6.5: "... (reading 'schema')"), which are not the project's."""
        return [e for e in self.errors if "blob:" in e] + [
            c for c in self.console if "anywidget" in c.lower()
        ]

    def open(self, name: str) -> None:
        """Loads the whole page, with this notebook in it."""
        self.name = name
        tail = f"lab/tree/{name}?reset" if self.app == "lab" else f"notebooks/{name}"
        self.page.goto(
            self.server.url + tail, wait_until="domcontentloaded", timeout=START_S * 1000
        )
        self.page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=START_S * 1000)
        self.page.wait_for_function("() => window.jupyterapp !== undefined", timeout=STEP_MS)

    def open_next(self, name: str) -> None:
        """Opens a notebook in the JupyterLab that is there."""
        self.name = name
        for seen in (self.outside, self.errors, self.console):
            seen.clear()
        self.settled(
            """async (path) => {
                 await (await window.jupyterapp.commands.execute('docmanager:open', {path})).context.ready;
               }""",
            name,
            seconds=START_S,
        )

    def open_again(self, name: str) -> None:
        """Opens a notebook in place of this one; Notebook 7 loads a page for it."""
        if self.app == "lab":
            self.leave()
            self.open_next(name)
        else:
            self.open(name)

    def leave(self) -> None:
        """Closes the notebook, and leaves JupyterLab open."""
        self.page.evaluate(
            "() => { for (const w of [...window.jupyterapp.shell.widgets('main')]) w.dispose(); }"
        )

    def settled(self, function: str, argument=None, seconds: float = STEP_MS / 1000):
        """What an asynchronous JavaScript function gives. Playwright alone would wait for it for ever."""
        return self.page.evaluate(
            f"""([argument, ms]) => Promise.race([
                 ({function})(argument),
                 new Promise((_, refuse) => setTimeout(
                   () => refuse(new Error(`no answer in ${{ms / 1000}} s`)), ms)),
               ])""",
            [argument, seconds * 1000],
        )

    def wait_kernel(self) -> None:
        """Waits until the kernel takes cells."""
        self.settled(
            """async () => {
                 await window.jupyterapp.restored;
                 await window.jupyterapp.shell.currentWidget.sessionContext.ready;
               }""",
            seconds=START_S,
        )

    def run_all(self) -> None:
        """Runs every cell through the command registry: no menu text, no shortcut."""
        # It is not waited for here: this promise settles when the last cell has run.
        self.page.evaluate(
            "() => { window.jupyterapp.commands.execute('notebook:run-all-cells'); }"
        )
        # A prompt reads '[*]:' while its cell runs and '[3]:' when it has run
        self.page.wait_for_function(
            """() => {
                 const p = [...document.querySelectorAll('.jp-CodeCell .jp-InputArea-prompt')];
                 return p.length > 0 && p.every(e => /^\\[\\d+\\]:?$/.test(e.textContent.trim()));
               }""",
            timeout=CELL_S * 1000,
        )

    def error_outputs(self) -> list[str]:
        """The errors of the notebook's cells, without colors. They are asked of the document: on
        the page an error cannot be told from what a cell wrote to stderr."""
        texts = self.page.evaluate(
            """() => {
                 const notebook = window.jupyterapp.shell.currentWidget.content.model.toJSON();
                 return notebook.cells.flatMap(c => c.outputs || [])
                                      .filter(o => o.output_type === 'error')
                                      .map(o => o.traceback.join('\\n'));
               }"""
        )
        return [re.sub(r"\x1b\[[0-9;]*m", "", text) for text in texts]

    def python(self, expression: str) -> str:
        """The text of an expression, asked of the notebook's own kernel."""
        return self.settled(
            """async (code) => {
                 const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel;
                 const future = kernel.requestExecute({code: '', silent: true, store_history: false,
                                                       user_expressions: {v: code}});
                 const reply = await future.done;
                 const v = reply.content.user_expressions.v;
                 return v.status === 'ok' ? v.data['text/plain'] : v.ename + ': ' + v.evalue;
               }""",
            expression,
        )

    def wait_python(self, expression: str, wanted: str, seconds: float = STEP_MS / 1000) -> None:
        """Waits for the kernel to see what the browser sent; a comm message takes a moment."""
        deadline, got = time.monotonic() + seconds, None
        while time.monotonic() < deadline:
            got = self.python(expression)
            if got == wanted:
                return
            self.page.wait_for_timeout(50)
        raise AssertionError(f"{expression} is {got}, not {wanted}")


KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}


def _notebook(cells):
    """A notebook of these code cells; or, given a path, the one that is there, outputs cleared."""
    if isinstance(cells, Path):
        nb = nbformat.read(cells, as_version=4)
        for cell in nb.cells:
            if cell.cell_type == "code":
                cell.outputs, cell.execution_count = [], None
        return nb
    return nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(c) for c in cells], metadata={"kernelspec": KERNEL}
    )


@pytest.fixture(scope="module")
def tabs():
    """JupyterLab, left open by the last test in its light theme: to load it takes longer than most tests."""
    return []


@pytest.fixture
def lab(lab_server, contexts, tabs, request, tmp_path):
    opened, failed = [], request.session.testsfailed

    def factory(cells, app: str = "lab", theme: str = "light", run: bool = True) -> NotebookPage:
        _settings(lab_server.settings, theme)
        name = re.sub(r"\W+", "_", request.node.name)[:60] + ".ipynb"
        nbformat.write(_notebook(cells), lab_server.root / name)
        again = (app, theme) == ("lab", "light")
        if again and tabs:
            notebook = tabs.pop()
            notebook.open_next(name)
        else:
            notebook = NotebookPage(contexts(theme).new_page(), lab_server, app)
            notebook.page.set_default_timeout(STEP_MS)
            notebook.open(name)
        opened.append((notebook, again))
        notebook.wait_kernel()
        if run:
            notebook.run_all()
        return notebook

    yield factory
    for i, (notebook, again) in enumerate(opened):
        try:
            # kept by pytest when the test fails
            notebook.page.screenshot(path=str(tmp_path / f"end{i}.png"))
        finally:
            if again and request.session.testsfailed == failed:
                notebook.leave()
                tabs.append(notebook)
            else:
                notebook.page.close()
    lab_server.stop_kernels()
