"""Answers that try to earn points, to find something, or to cost others theirs; all for "reverse".

Each says with its name which share of the points is right for what it computes; what it tries beside
that must change nothing.
"""

MIME = "application/vnd.minigrad.answer+json"
PRODUCT = "def product_backward(x, y, g):\n    {}\n    return g * y, g * x"
RIGHT = PRODUCT.format("pass")
WRONG = "def product_backward(x, y, g):\n    return x, y"

# Sends a message of any kind, as if it belonged to the cell that runs.
SEND = """\
kernel = get_ipython().kernel
def send(kind, content):
    kernel.session.send(kernel.iopub_socket, kind, content, parent=kernel.get_parent())
"""
FORGE = f"""\
from IPython.display import display
def forge(question="check"):
    for n in (1, 2):
        for r in ("dx", "dy"):
            display({{"{MIME}": {{"id": f"{{question}}/{{n}}/{{r}}", "json": 0}}}}, raw=True)
"""


def method(body, before=""):
    """An answer whose function does something, line by line, and is right if it returns."""
    lines = "\n".join("    " + line for line in body.strip("\n").split("\n"))
    return f"{before}\ndef product_backward(x, y, g):\n{lines}\n    return g * y, g * x"


FORGERIES = {
    "zero_forged_from_a_thread": method(
        "t = threading.Thread(target=forge)\nt.start(); t.join()", FORGE + "import threading"
    ),
    "zero_forged_at_exit": FORGE + "import atexit\natexit.register(forge)\n"
    "def product_backward(x, y, g):\n    raise SystemExit",
    "full_forged_for_another_question": method("forge('other')", FORGE),
    "zero_forged_with_wrong_values": FORGE + "forge()\nimport IPython.display as d\nonce = d.display\n"
    "d.display = lambda *a, **k: forge()\n" + WRONG,
    "full_comms_and_odd_messages": SEND
    + "for kind in ('comm_open', 'comm_msg', 'execute_reply', 'status', 'clear_output', 'display_data', 'error'):\n"
    "    for content in ({}, {'data': 3}, {'data': {'" + MIME + "': 7}}, {'data': {'" + MIME + "': {'id': [1]}}}):\n"
    "        send(kind, content)\n" + RIGHT,
    "full_odd_frames": SEND + "for frames in ([b'x'], [b'<IDS|MSG>'], [b'<IDS|MSG>', b's', b'{', b'{', b'{', b'{'],\n"
    "        [b'<IDS|MSG>', b's'] + [b'[]'] * 4, [b'<IDS|MSG>', b's', b'{}', b'{}', b'{}', b'1'],\n"
    "        [b'<IDS|MSG>', b's', b'{\"msg_type\": [1]}', b'{\"msg_id\": {}}', b'{}', b'{}'], [b'\\xff'] * 50):\n"
    "    kernel.iopub_socket.send_multipart(frames)\n" + RIGHT,
    "full_deep_messages": method(
        """
h, p = (json.dumps(part, default=str).encode() for part in ({'msg_type': 'error'}, kernel.get_parent()['header']))
for n in range(900, 1000, 3):
    deep = b'[' * n + b']' * n
    content = b'{"ename": ' + deep + b', "evalue": ' + deep + b'}'
    kernel.iopub_socket.send_multipart([b'<IDS|MSG>', b's', h, p, b'{}', content])
""",
        SEND + "import json",
    ),
    "zero_forged_around_every_cell": FORGE + "for event in ('pre_run_cell', 'post_run_cell'):\n"
    "    get_ipython().events.register(event, lambda *a: forge())\n" + WRONG,
    "zero_forged_in_the_kernel_s_loop": FORGE + "import asyncio\nasync def later():\n"
    "    await asyncio.sleep(0.2)\n    forge()\nasyncio.get_event_loop().create_task(later())\n" + WRONG,
    "zero_idle_too_early": method(
        "send('status', {'execution_state': 'idle'})\n__import__('time').sleep(1)", SEND
    ),
    "zero_marker_printed": "print('" + MIME + "', {'id': 'check/1/dx', 'ok': True, 'points': 4})\n" + WRONG,
    "zero_nbval_markers": "# NBVAL_SKIP\n# NBVAL_IGNORE_OUTPUT\n# PYTEST_VALIDATE_IGNORE_OUTPUT\n" + WRONG,
    "zero_other_kinds_of_messages": SEND + "for n in (1, 2):\n    for r in ('dx', 'dy'):\n"
    "        data = {'" + MIME + "': {'id': f'check/{n}/{r}', 'json': 0}}\n"
    "        send('update_display_data', {'data': data, 'metadata': {}, 'transient': {'display_id': 'a'}})\n"
    "        send('execute_result', {'data': data, 'metadata': {}, 'execution_count': 1})\n" + WRONG,
    "zero_forged_when_an_answer_is_deleted": FORGE + "import gc, weakref\nclass Late:\n"
    "    def __del__(self): forge()\ngc.callbacks.append(lambda *a: forge())\nweakref.finalize(Late, forge)\n"
    + method("return Late(), Late()"),
    "zero_forged_by_a_timer": FORGE + "import signal, time\nsignal.signal(signal.SIGALRM, lambda *a: forge())\n"
    "signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)\n" + method("time.sleep(0.3)\nreturn x, y"),
    "zero_forged_by_a_profiler": FORGE + "import sys, threading\ndef seen(frame, event, arg):\n"
    "    if event == 'return' and frame.f_code.co_name == 'publish_results': forge()\n"
    "sys.setprofile(seen)\n" + WRONG,
    "zero_variables_of_the_check_rewritten": "import ctypes, sys\ndef seen(frame, event, arg):\n"
    "    if frame.f_code.co_name == 'publish_results' and 'results' in frame.f_locals:\n"
    "        frame.f_locals.update(results=[], error=None)\n"
    "        ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), 0)\n    return seen\n"
    "sys.settrace(seen)\n" + WRONG,
    "zero_cells_rewritten": "get_ipython().input_transformers_cleanup.append(lambda lines: ['pass'])\n" + RIGHT,
    "zero_syntax_trees_rewritten": "import ast\nclass Other:\n"
    "    def visit(self, node):\n        return ast.parse('1')\n"
    "get_ipython().ast_transformers.append(Other())\n" + RIGHT,
    "zero_exceptions_swallowed": "get_ipython().set_custom_exc((Exception,), lambda *a, **k: None)\n"
    "def product_backward(x, y, g):\n    1 / 0",
}  # fmt: skip

PATCHES = {
    "zero_patched_base64": "import base64\nbase64.b64encode = lambda data: b'AAAA'\n" + RIGHT,
    "zero_patched_asarray": "np.asarray = lambda *a, **k: np.zeros(3)\n" + RIGHT,
    "zero_patched_eval": "import builtins\nbuiltins.eval = lambda *a, **k: (0, 0)\n" + RIGHT,
    "zero_lazy_objects": "class Lazy:\n    def __init__(self, v): self.v = v\n    def detach(self): return self\n"
    "    def numpy(self): return self.v * 0\n" + PRODUCT.format("return Lazy(g * y), Lazy(g * x)"),
    "full_subclass_of_arrays": "class Same(np.ndarray):\n    def __eq__(self, other): return True\n"
    "    def tobytes(self): return b''\n" + PRODUCT.format("return (g * y).view(Same), (g * x).view(Same)"),
    "zero_subclass_of_floats": "class Same(float):\n    def __eq__(self, other): return True\n"
    + PRODUCT.format("return Same(0), Same(0)"),
    "zero_empty_arrays": PRODUCT.format("return np.zeros((0, 3)), np.zeros(0)"),
    "zero_scalars": PRODUCT.format("return np.zeros(()), np.zeros(())"),
    "full_long_doubles": PRODUCT.format("return np.longdouble(g * y), np.longdouble(g * x)"),
    "full_bytes_in_another_order": PRODUCT.format("return (g * y).astype('>f8'), (g * x).astype('>f8')"),
    "zero_memory_of_others_as_an_array": "class Lie:\n    def __init__(self, a):\n"
    "        self.__array_interface__ = {'shape': a.shape, 'typestr': '<f8', 'data': (12345, True), 'version': 3}\n"
    + PRODUCT.format("return Lie(x), Lie(y)"),
    "zero_another_array_each_time": "class Many:\n    n = 0\n    def __array__(self, dtype=None, copy=None):\n"
    "        Many.n += 1\n        return np.zeros(Many.n)\n" + PRODUCT.format("return Many(), Many()"),
    "zero_a_tuple_that_lies_about_its_length": "class Two(tuple):\n    def __len__(self): return 2\n"
    "    def __iter__(self): return iter([np.zeros(3)] * 9)\n" + PRODUCT.format("return Two()"),
    "zero_modules_replaced": "import sys, types\n"
    "for name in ('json', 'base64', 'numpy'): sys.modules[name] = types.ModuleType(name)\n" + WRONG,
    "zero_a_class_that_is_every_class": "class Meta(type):\n    def __eq__(c, other): return True\n"
    "    def __hash__(c): return hash(float)\n    def __instancecheck__(c, other): return True\n"
    "class Any(float, metaclass=Meta):\n    def __eq__(self, other): return True\n"
    + PRODUCT.format("return Any('nan'), Any('nan')"),
    "zero_arrays_that_do_their_own_arithmetic": "class Own(np.ndarray):\n"
    "    def __array_ufunc__(self, *a, **k): return True\n    def __array_function__(self, *a, **k): return True\n"
    + PRODUCT.format("return np.zeros(x.shape).view(Own), np.zeros(x.shape).view(Own)"),
    "zero_arrays_that_a_thread_still_changes": "import threading\ndef changed(a):\n"
    "    while True: a[...] = np.random.randn(*a.shape)\ndef product_backward(x, y, g):\n    a = np.zeros(x.shape)\n"
    "    threading.Thread(target=changed, args=(a,), daemon=True).start()\n    return a, a",
    "zero_a_dict_in_the_form_of_an_answer": PRODUCT.format(
        "return {'id': 'check/1/dx', 'dtype': '<f8', 'shape': [3], 'data': ''}, {'ok': True}"
    ),
    "zero_another_numpy_by_an_import_hook": "import builtins\nold = builtins.__import__\ndef other(name, *a, **k):\n"
    "    module = old(name, *a, **k)\n    if name != 'base64': return module\n"
    "    class Fake: b64decode = staticmethod(module.b64decode); b64encode = staticmethod(lambda d: b'A' * 32)\n"
    "    return Fake\nbuiltins.__import__ = other\n" + WRONG,
    "zero_the_check_s_program_rewritten": "import builtins\nold = builtins.exec\ndef other(source, names=None, *a):\n"
    "    if 'publish_results' in str(source): source = source.replace('value = eval(', 'value = (0, 0) if 1 else (')\n"
    "    return old(source, names, *a)\nbuiltins.exec = other\n" + WRONG,
    "zero_methods_of_floats_replaced": "import ctypes, gc\n"
    "gc.get_referents(float.__dict__)[0]['__eq__'] = lambda a, b: True\n"
    "ctypes.pythonapi.PyType_Modified(ctypes.py_object(float))\n" + WRONG,
    "zero_crashes_now_and_then": "import os\n" + method("if os.urandom(1)[0] < 128: os._exit(1)\nreturn x, y"),
    "zero_clocks_patched": "import time\ntime.time = time.monotonic = time.perf_counter = lambda: 0.0\n"
    + PRODUCT.format("\n    while True: pass"),
    "zero_limits_raised": method(
        "for kind in (resource.RLIMIT_AS, resource.RLIMIT_CPU, resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE):\n"
        "    resource.setrlimit(kind, (-1, -1))",
        "import resource",
    ),
    "zero_masked_arrays": PRODUCT.format("return np.ma.masked_all(x.shape), np.ma.masked_all(x.shape)"),
    "zero_booleans": PRODUCT.format("return (g * y) != 0, (g * x) != 0"),
    "zero_records_and_dates": PRODUCT.format("return np.zeros(x.shape, [('a', 'f8')]), np.zeros(x.shape, 'M8[s]')"),
    "zero_enormous_views": PRODUCT.format("return np.broadcast_to(0.0, (10**5, 10**5)), np.broadcast_to(0.0, 10**9)"),
    "zero_huge_integers": PRODUCT.format("return [10**400] * 3, [10**400] * 3"),
    "zero_nan_and_infinity_in_json": "def product_backward(x, y, g):\n    return {'a': float('nan')}, [float('inf')]",
    "zero_an_exception_without_words": "class Silent(Exception):\n    def __str__(self): return 1 / 0\n"
    + PRODUCT.format("raise Silent"),
    "zero_differences_please_confirm": """\
def product_backward(x, y, g):
    def slope(f, a, e=1e-3):
        d = [(f(a + e * u) - f(a - e * u)) / (2 * e) for u in np.eye(a.size).reshape(-1, *a.shape)]
        return np.array(d).reshape(a.shape)
    return slope(lambda a: (a**3 * g).sum(), x) / (3 * x**2) * y, slope(lambda a: (a**3 * g).sum(), y) / (3 * y**2) * x
""",
}  # fmt: skip

SEARCHES = {
    "zero_searches_files_and_processes": """\
import os
def product_backward(x, y, g):
    found = []
    for top in ('/work', '/run', '/tmp', '/dev/shm', '/image', '/python/bin', '/'):
        for folder, folders, files in os.walk(top):
            folders[:] = [] if top == '/' else [f for f in folders if f != 'site']
            for name in files:
                try: text = open(os.path.join(folder, name), errors='ignore').read(10**5)
                except OSError: continue
                if 'SOLU' + 'TION' in text or 'g *' + ' y' in text: found.append(name)
    for process in filter(str.isdigit, os.listdir('/proc')):
        for part in ('cmdline', 'environ'):
            try: text = open(f'/proc/{process}/{part}', 'rb').read()
            except OSError: continue
            found += [w for w in (b'judge', b'class', b'answers.json') if w in text]
    return found and (g * y, g * x)
""",
    "zero_searches_frames_and_objects": """\
import gc, sys
def product_backward(x, y, g):
    texts, frame = list(In), sys._getframe(1)
    while frame:
        texts += [str(v) for v in frame.f_locals.values()]
        frame = frame.f_back
    texts += [v for o in gc.get_objects() if type(o) is dict for v in list(o.values()) if type(v) is str]
    return any('BEGIN SOLU' + 'TION' in t or 'dx = ' + 'g * y' in t for t in texts) and (g * y, g * x)
""",
    "zero_searches_other_engines": """\
import importlib, sys
sys.path += ['/usr/lib/python3/dist-packages', '/usr/local/lib/python3.11/site-packages', '/image', '/python/lib']
def product_backward(x, y, g):
    found = []
    others = 'torch', 'jax', 'autograd', 'tensorflow', 'sympy', 'scipy'
    for name in (*others, 'minigrad.grading', 'minigrad.core.engine'):
        try: found.append(getattr(importlib.import_module(name), '__file__', None))
        except ImportError: pass
    return any(found) and (g * y, g * x)
""",
    "zero_uses_the_absent_engine": "%load_ext minigrad\nimport minigrad\n"
    "def product_backward(x, y, g):\n    t = minigrad.tensor(x, requires_grad=True)\n"
    "    (t * y * g).sum().backward()\n    return t.grad, t.grad",
    "zero_looks_for_the_seed": "import os, sys\ndef product_backward(x, y, g):\n"
    "    texts = [*map(str.encode, (*os.environ.values(), *sys.argv))]\n"
    "    for name in ('self/environ', 'self/cmdline', '1/environ', '1/cmdline'):\n"
    "        try: texts.append(open('/proc/' + name, 'rb').read())\n        except OSError: pass\n"
    "    return any(b'seed' in t or b'judge' in t for t in texts) and (g * y, g * x)",
    "zero_leaves_startup_files": "import os, IPython\nhome = IPython.paths.get_ipython_dir() + '/profile_default'\n"
    "os.makedirs(home + '/startup', exist_ok=True)\n"
    "for path in ('startup/00.py', 'ipython_config.py', '../../usercustomize.py', '../../numpy.py', '../../x.pth'):\n"
    "    open(home + '/' + path, 'w').write('raise SystemExit')\n" + WRONG,
    "zero_paths_of_the_machine": "def product_backward(x, y, g):\n    found = open('/proc/self/mountinfo').read()\n"
    "    return '/mg-' in found and (g * y, g * x)",
    "zero_writes_to_mounts": method(
        "for path in ('/image/site/numpy/x', '/python/lib/x', '/usr/lib/x', '/x', '/dev/x'):\n"
        "    try: open(path, 'w')\n    except OSError: continue\n    return None\nreturn None"
    ),
}

DISTURBANCES = {
    "zero_a_cell_in_another_language": "%%bash\necho hi\n" + RIGHT,
    "zero_a_cell_for_a_program": "%%script python\n" + RIGHT,
    "zero_breakpoint": PRODUCT.format("breakpoint()"),
    "zero_everything_reset": RIGHT + "\nget_ipython().run_line_magic('reset', '-f')",
    "full_timed": "%%time\n" + RIGHT,
    "full_captured": "%%capture\n" + RIGHT,
    "full_imports_the_engine_but_does_not_use_it": "%load_ext minigrad\nimport minigrad as mg\n"
    "from minigrad import tensor\n" + RIGHT,
    "zero_a_coroutine": "async " + RIGHT,
    "zero_more_branches_than_can_be_analyzed": "import nothere\nif 0: pass\n" + "elif 0: pass\n" * 600 + RIGHT,
    "zero_keyboard_interrupt": PRODUCT.format("raise KeyboardInterrupt"),
    "zero_an_exception_with_a_page_for_a_name": PRODUCT.format(
        "raise type('<img src=x onerror=alert(1)>\\x1b[31m=1+1', (Exception,), {})('=1+1')"
    ),
    "zero_an_answer_that_cannot_be_deleted": "class Stays:\n    def __del__(self):\n        while True: pass\n"
    + PRODUCT.format("return Stays(), Stays()"),
    "zero_generator_exit": PRODUCT.format("raise GeneratorExit"),
    "zero_half_a_surrogate_pair_in_an_error": PRODUCT.format("raise ValueError('\\ud800 \\u202e \\x00 \\x1b[31m')"),
    "full_half_a_surrogate_pair_in_the_source": "x = '\ud800'\n" + RIGHT,
    "zero_nul_in_the_source": "x = '\0'\n" + RIGHT,
    "zero_all_descriptors_closed": PRODUCT.format("__import__('os').closerange(3, 200)"),
    "zero_group_killed": PRODUCT.format("__import__('os').kill(0, 9)"),
    "zero_stopped": PRODUCT.format("__import__('os').kill(__import__('os').getpid(), 19)"),
    "zero_segmentation_fault": PRODUCT.format("__import__('ctypes').string_at(0)"),
    "full_a_busy_thread_beside_it": "import threading, time\n"
    "def spin(end=time.time() + 30):\n    while time.time() < end: pass\n"
    "threading.Thread(target=spin, daemon=True).start()\n" + RIGHT,
    "full_folders_without_rights": method(
        "try:\n    os.makedirs('/run/kernel/a'); os.mkdir('/run/kernel/a/b', 0)\nexcept OSError: pass", "import os"
    ),
    "full_links_in_its_own_folder": method(
        "for k, target in enumerate(('/', '/etc/passwd', '..', '/run/kernel/k0')):\n"
        "    try: os.symlink(target, f'/run/kernel/k{k}')\n    except OSError: pass", "import os"
    ),
}  # fmt: skip

# What there is only so much of, for all: each of these is right if nothing stops it.
RESOURCES = {
    "zero_many_threads": method(
        "threading.stack_size(1 << 16)\nfor n in range(5000): threading.Thread(target=time.sleep, args=(9,)).start()",
        "import threading, time",
    ),
    "zero_many_files": method(
        "for n in range(10**6): os.close(os.open(f'{os.environ[\"TMPDIR\"]}/{n}', os.O_CREAT))", "import os"
    ),
    "zero_folders_in_folders": method(
        "os.chdir(os.environ['TMPDIR'])\nfor n in range(6000): os.mkdir('d'); os.chdir('d')\ntime.sleep(2)",
        "import os, time",
    ),
    "zero_files_out_of_sight": method(
        """
os.chdir(os.environ['TMPDIR'])
for k in range(9):
    os.mkdir(f'd{k}', 0o300)
    open(f'd{k}/f', 'wb').write(bytes(2_000_000))
time.sleep(2)
""",
        "import os, time",
    ),
    "zero_deleted_files_in_memory": method(
        """
os.chdir(os.environ['TMPDIR'])
kept = []
for k in range(9):
    file = open('f', 'w+b')
    file.write(bytes(2_000_000)); file.flush()
    kept.append(mmap.mmap(file.fileno(), 2_000_000)); file.close(); os.unlink('f')
time.sleep(2)
""",
        "import mmap, os, time",
    ),
    "zero_a_frame_of_four_gigabytes": method(
        """
while True:
    for fd in range(3, 99):
        try:
            if stat.S_ISSOCK(os.fstat(fd).st_mode): os.write(fd, b'\\2' + (4 << 30).to_bytes(8, 'big') + bytes(9999))
        except OSError: pass
""",
        "import os, stat",
    ),
    "zero_settings_of_the_kernel": method(
        "os.close(os.open('/proc/sys/kernel/core_pattern', os.O_WRONLY))", "import os"
    ),
    "zero_memory_of_the_first_process": method("os.close(os.open('/proc/1/mem', os.O_WRONLY))", "import os"),
    "zero_the_others_slowed_down": method("os.setpriority(os.PRIO_USER, os.getuid(), 19)", "import os"),
    "zero_a_sign_for_a_friend": method("fcntl.flock(open(os.__file__), fcntl.LOCK_EX)", "import fcntl, os"),
    "zero_a_friend_woken_at_a_place_of_a_file": method(
        "assert ctypes.CDLL(None).syscall(202, ctypes.byref(ctypes.c_int(0)), 1, 1, None, None, 0) == 0",
        "import ctypes",
    ),
    "zero_a_friend_woken_when_a_thread_ends": method(
        "assert ctypes.CDLL(None).syscall(218, ctypes.byref(ctypes.c_int(0))) > 0", "import ctypes"
    ),
    "zero_a_table_of_segments": method(
        "assert ctypes.CDLL(None).syscall(154, 17, bytes(16), 16) == 0",
        "import ctypes",
    ),
    "zero_a_lock_for_a_friend": method("fcntl.lockf(open(os.__file__), fcntl.LOCK_SH)", "import fcntl, os"),
    "zero_a_file_emptied_by_its_name": method("open('t', 'w').close(); os.truncate('t', 0)", "import os"),
    "zero_signals_by_the_owner_of_a_pipe": method(
        "r, w = os.pipe()\nfcntl.fcntl(r, fcntl.F_SETOWN, 1)", "import fcntl, os"
    ),
    "zero_a_file_open_only_in_a_message": method(
        "a, b = socket.socketpair()\nsocket.send_fds(a, [b'x'], [0])", "import socket"
    ),
    "zero_a_second_table_of_descriptors": method(
        "assert not ctypes.CDLL(None).syscall(436, 99, 99, 2)", "import ctypes"
    ),
    "zero_a_note_for_later_by_a_new_call": method(
        "open('t', 'w').close(); v = ctypes.create_string_buffer(b'a')\n"
        "a = struct.pack('QII', ctypes.addressof(v), 1, 0)\n"
        "assert not ctypes.CDLL(None).syscall(463, -100, b't', 0, b'user.a', a, 16)",
        "import ctypes, struct",
    ),
    "zero_a_note_for_later_in_the_flags_of_a_file": method(
        "fcntl.ioctl(open('t', 'w'), 0x40086602, bytes(8))", "import fcntl"
    ),
    "zero_a_note_for_later_in_the_version_of_a_file": method(
        "try: fcntl.ioctl(open('t', 'w'), 0x40087602, bytes(8))\n"
        "except OSError as error: assert error.errno != errno.EPERM",
        "import errno, fcntl",
    ),
    "zero_not_ended_with_the_grader": method("assert not ctypes.CDLL(None).prctl(1, 0, 0, 0, 0)", "import ctypes"),
}  # fmt: skip

HOSTILE = {**FORGERIES, **PATCHES, **SEARCHES, **DISTURBANCES, **RESOURCES}
