"""Answers, by exercise and name. The name begins with the share of the points that is right."""

from tests.submissions.hostile import HOSTILE, MIME, PRODUCT, RIGHT

REVERSE = {
    # honest
    "full_by_the_formula": RIGHT,
    "full_as_a_lambda_and_a_list": "product_backward = lambda x, y, g: [y * g, x * g]",
    "full_as_rows_of_an_array": "def product_backward(x, y, g):\n    return np.stack([g * y, g * x])",
    "full_with_lists_of_numbers": "def product_backward(x, y, g):\n    return (g * y).tolist(), (g * x).tolist()",
    "full_with_noisy_prints": PRODUCT.format("print('x is', x, '\\u2603' * 50)"),
    "full_with_more_prints_than_may_be_published": PRODUCT.format(
        "\n    for k in range(1500): print('x' * 500, flush=True)"
    ),
    "full_with_magics_and_a_helper": "%matplotlib inline\ndef times(a, b):\n    return a * b\n"
    "def product_backward(x, y, g):\n    return times(g, y), times(g, x)",
    "full_with_shell_lines": "!pip install numpy\n%pip install numpy\nhere = !ls\n" + RIGHT,
    "full_defined_twice": "def product_backward(x, y, g):\n    return 0, 0\n" + RIGHT,
    "full_with_unicode": "größe = 1\n" + RIGHT,
    "full_slow_but_in_time": PRODUCT.format("__import__('time').sleep(0.2)"),
    "full_with_threads": PRODUCT.format(
        "import threading; t = threading.Thread(target=print); t.start(); t.join()"
    ),
    "full_with_a_pool_of_threads": "from concurrent.futures import ThreadPoolExecutor\n"
    + PRODUCT.format(
        "with ThreadPoolExecutor(8) as pool: return tuple(pool.map(np.multiply, (g, g), (y, x)))"
    ),
    "full_with_coroutines": "import asyncio, threading\n"
    "async def times(a, b):\n    await asyncio.sleep(0.01)\n    return a * b\n"
    "async def both(x, y, g):\n    return await asyncio.gather(times(g, y), times(g, x))\n"
    "def product_backward(x, y, g):\n    found = []\n"
    "    t = threading.Thread(target=lambda: found.extend(asyncio.run(both(x, y, g))))\n"
    "    t.start(); t.join()\n    return tuple(found)",
    "full_with_a_temporary_file": "import tempfile\n"
    "def stored(a):\n    with tempfile.TemporaryFile() as file:\n        np.save(file, a); file.seek(0)\n"
    "        return np.load(file)\n"
    "def product_backward(x, y, g):\n    return stored(g * y), stored(g * x)",
    "full_with_an_array_on_the_disk": "import os, tempfile\n"
    "def product_backward(x, y, g):\n    with tempfile.TemporaryDirectory() as folder:\n"
    "        kept = np.memmap(os.path.join(folder, 'a'), 'f8', 'w+', shape=(2, *x.shape))\n"
    "        kept[0], kept[1] = g * y, g * x\n        return np.array(kept[0]), np.array(kept[1])",
    "full_with_an_alarm": "import signal\n"
    "def product_backward(x, y, g):\n    late = lambda *a: (_ for _ in ()).throw(TimeoutError())\n"
    "    try:\n        signal.signal(signal.SIGALRM, late); signal.setitimer(signal.ITIMER_REAL, 2)\n"
    "        return g * y, g * x\n    finally: signal.setitimer(signal.ITIMER_REAL, 0)",
    "full_with_a_module_that_it_wrote": "from pathlib import Path\nimport sys\n"
    "Path('times_by.py').write_text('def times(a, b):\\n    return a * b')\nsys.path.insert(0, '.')\n"
    "from times_by import times\n"
    "def product_backward(x, y, g):\n    return times(g, y), times(g, x)",
    "full_with_a_deep_recursion": "import sys, threading\n"
    "def added(a, n):\n    return a if n == 0 else added(a, n - 1)\n"
    "def product_backward(x, y, g):\n    sys.setrecursionlimit(20_000)\n    threading.stack_size(64 << 20)\n"
    "    found = []\n    t = threading.Thread(target=lambda: found.append((added(g, 9000) * y, g * x)))\n"
    "    t.start(); t.join()\n    return found[0]",
    "full_with_a_log": "import logging, warnings\nlogging.basicConfig(filename='log.txt', level=10)\n"
    "warnings.simplefilter('error'); np.seterr(all='raise')\n"
    + PRODUCT.format("logging.info('called with %s', x.shape)"),
    "full_before_an_error_at_the_end": RIGHT + "\n1 / 0",
    "full_imports_what_is_not_here": "import matplotlib.pyplot as plt, math; import pandas\nfrom scipy import special\n"
    + RIGHT
    + "\nplt.plot([math.pi])",
    "full_plots_above_with_what_is_not_here": "import numba, torch, matplotlib.pyplot as plt\nimport cupy as np\n"
    "import numpy as np\nplt.style.use('dark_background')\nfig, ax = plt.subplots()\nax.plot(torch.ones(3))\n"
    "def shown(a: torch.Tensor) -> torch.Tensor:\n    plt.plot(a)\nshown(1)\nfor k in (1, 2): plt.plot([k])\n"
    "np.testing.assert_allclose(np.ones(1), torch.ones(1))\none = np.ones(1)\n@numba.njit\n"
    + PRODUCT.replace("g * y", "one * g * y").format("pass"),
    "full_with_progress_bars_that_are_not_here": "from tqdm.auto import tqdm, trange\n"
    "def product_backward(x, y, g):\n    dx, dy = np.empty(x.shape), np.empty(x.shape)\n"
    "    with tqdm(total=x.size, desc='dx') as bar:\n"
    "        for k in np.ndindex(x.shape): dx[k] = g[k] * y[k]; bar.update(1); bar.set_postfix(k=k)\n"
    "    for k, _ in zip(tqdm(list(np.ndindex(x.shape)), leave=False), trange(99)): dy[k] = g[k] * x[k]\n"
    "    return dx, dy",
    "full_with_branches_that_import_what_is_not_here": "if True:\n    import seaborn as sns\n    sns.set()\n"
    "if True:\n    import cupy as xp\nelse:\n    import numpy as xp\n" + RIGHT,
    "full_below_a_default_that_is_not_here": "import matplotlib.pyplot as plt\n"
    "def show(x, colors=plt.cm.viridis): plt.imshow(x, colors)\n" + RIGHT,
    "full_tries_the_engine_above": "import minigrad as mg\nx = mg.tensor([1.0], requires_grad=True)\n"
    "(x * x).sum().backward()\nprint(x.grad)\n" + RIGHT,
    "full_with_the_engine_in_hints_decorators_and_classes": "from minigrad import Tensor, no_grad\n"
    "from minigrad.autograd import Function\nclass Mine(Function): pass\n@no_grad()\n"
    "def product_backward(x: Tensor | None, y: Tensor, g) -> Tensor:\n    return g * y, g * x",
    "full_looks_at_the_check_of_an_exercise": "from minigrad.teach import Exercise\nhere = Exercise('f', None, [])\n"
    "print(here.check().rows[0], here.points > 3)\n" + RIGHT,
    "full_below_magics_that_are_not_here": "%config InlineBackend.figure_format = 'retina'\n%load_ext nb_black\n"
    "%tensorboard --logdir runs\n%time one = 1.0\nfiles = !ls\nfor file in files: print(file)\n"
    + PRODUCT.replace("g * y", "one * g * y").format("pass"),
    "full_in_higher_precision": "def product_backward(x, y, g):\n    return np.longdouble(g) * y, np.longdouble(g) * x",
    "full_with_the_other_order_of_bytes": "def product_backward(x, y, g):\n"
    "    return (g * y).astype('>f8'), (g * x).astype('>f8')",
    # honest, and wrong
    "half_one_gradient": "def product_backward(x, y, g):\n    return g * y, g",
    "half_for_one_shape": PRODUCT.format("assert x.ndim == 1"),
    "zero_swapped": "def product_backward(x, y, g):\n    return g * x, g * y",
    "zero_g_forgotten": "def product_backward(x, y, g):\n    return y, x",
    "zero_summed": "def product_backward(x, y, g):\n    return (g * y).sum(), (g * x).sum()",
    "zero_one_value": "def product_backward(x, y, g):\n    return g * y",
    "zero_nothing_returned": "def product_backward(x, y, g):\n    g * y, g * x",
    "zero_not_written": "def product_backward(x, y, g):\n    raise NotImplementedError()",
    "zero_empty": "",
    "zero_syntax": "def product_backward(x, y, g)\n    return g * y, g * x",
    "zero_misspelled": RIGHT.replace("backward", "backwards"),
    "zero_words": "def product_backward(x, y, g):\n    return 'g * y', 'g * x'",
    "zero_nan": "def product_backward(x, y, g):\n    return g * np.nan, g * np.nan",
    "zero_inf": "def product_backward(x, y, g):\n    return g * np.inf, g * np.inf",
    "zero_float32": "def product_backward(x, y, g):\n"
    "    x, y, g = (a.astype('f4') for a in (x, y, g))\n    return g * y, g * x",
    "zero_complex": "def product_backward(x, y, g):\n    return g * y + 0j, g * x + 0j",
    "zero_objects": "def product_backward(x, y, g):\n    return (g * y).astype(object), (g * x).astype(object)",
    "zero_off_by_a_millionth": "def product_backward(x, y, g):\n    return g * y * (1 + 1e-6), g * x * (1 + 1e-6)",
    "zero_recursion": "def product_backward(x, y, g):\n    return product_backward(x, y, g)",
    "zero_ragged": "def product_backward(x, y, g):\n    return [[1], [1, 2]], [[1], [1, 2]]",
    "zero_asks_for_input": PRODUCT.format("input('dx?')"),
    "zero_inputs_spoiled": PRODUCT.format("x *= 1 + 1e-9"),
    # what ends, hangs or fills a process
    "zero_exits": "import sys\nsys.exit(0)",
    "zero_exits_when_called": PRODUCT.format("raise SystemExit(0)"),
    "zero_ends_the_process": "import os\nos._exit(0)",
    "zero_ends_the_process_when_called": PRODUCT.format("import os; os._exit(0)"),
    "half_loops_in_the_second_case": PRODUCT.format("\n    while x.ndim == 2: pass"),
    "zero_ends_the_process_in_the_second_case": PRODUCT.format(
        "x.ndim == 2 and __import__('os')._exit(0)"
    ),
    "zero_shuts_the_kernel_down": PRODUCT.format(
        "get_ipython().kernel.do_shutdown(False); import time; time.sleep(60)"
    ),
    "zero_loops": "while True:\n    pass",
    "zero_loops_when_called": PRODUCT.format("\n    while True: pass"),
    "zero_loops_through_interrupts": "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
    "zero_sleeps": PRODUCT.format("__import__('time').sleep(1000)"),
    "zero_drips": PRODUCT.format(
        "\n    while True: print('.', flush=True); __import__('time').sleep(0.3)"
    ),
    "zero_fills_memory": PRODUCT.format("a = [bytearray(10**8) for _ in range(1000)]"),
    "zero_fills_memory_at_once": PRODUCT.format("np.ones(10**11)"),
    "zero_floods_the_output": PRODUCT.format("\n    while True: print('x' * 10000)"),
    "zero_fills_the_disk": PRODUCT.format(
        "\n    for n in range(10**6): open(f'f{n}', 'wb').write(bytes(10**6))"
    ),
    "zero_breaks_the_kernel": "get_ipython().run_cell = None\nget_ipython().display_pub = None",
    # what reaches for something outside
    "zero_starts_processes": PRODUCT.format("import os; [os.fork() for _ in range(5)]"),
    "zero_runs_a_program": PRODUCT.format("import subprocess; subprocess.run(['ls'], check=True)"),
    "zero_opens_a_connection": PRODUCT.format(
        "import socket; socket.create_connection(('127.0.0.1', 80), 1)"
    ),
    "zero_signals_its_parent": PRODUCT.format("import os; os.kill(os.getppid(), 9)"),
    "zero_reads_a_private_file": PRODUCT.format("open('CANARY')"),
    "zero_writes_a_file_outside": PRODUCT.format("open('CANARY.mine', 'w')"),
    "zero_imports_the_engine": PRODUCT.format("import minigrad; minigrad.tensor(x)"),
    "zero_imports_another_engine": PRODUCT.format("import torch"),
    # what speaks to the grader
    "zero_says_nothing": "import IPython.display\nIPython.display.display = lambda *a, **k: None\n"
    + RIGHT,
    "zero_says_it_passed": "print('all checks passed')\nproduct_backward = 'passed'",
    "zero_answers_twice": "import IPython.display as d\nonce = d.display\n"
    "def twice(*a, **k):\n    once(*a, **k); once(*a, **k)\nd.display = twice\n" + RIGHT,
    "zero_answers_beforehand": "from IPython.display import display\nfor n in (1, 2):\n    for r in ('dx', 'dy'):\n"
    f"        display({{'{MIME}': {{'id': f'check/{{n}}/{{r}}', 'json': 0}}}}, raw=True)",
    "zero_answers_of_a_wrong_form": "import IPython.display as d\nonce = d.display\n"
    "def other(data, **k):\n    for c in data.values(): c['shape'] = [-1]; c['dtype'] = '|O'\n    once(data, **k)\n"
    "d.display = other\n" + RIGHT,
    "zero_a_very_long_answer": "import IPython.display as d\nonce = d.display\n"
    "def longer(data, **k):\n    for c in data.values(): c['data'] = 'A' * 10**8\n    once(data, **k)\n"
    "d.display = longer\n" + RIGHT,
    "zero_a_very_deep_answer": "import IPython.display as d\nonce = d.display\n"
    "def deep(data, **k):\n    v = []\n    for _ in range(900): v = [v]\n"
    "    once({m: {'id': c['id'], 'json': v} for m, c in data.items()}, **k)\nd.display = deep\n"
    + RIGHT,
    "zero_equal_to_everything": "class Equal:\n    def __eq__(self, other): return True\n"
    "    def __array__(self, *a, **k): return np.zeros(3)\n"
    "def product_backward(x, y, g):\n    return Equal(), Equal()",
    "zero_patches_comparisons": "np.allclose = np.isclose = np.array_equal = lambda *a, **k: True\n"
    "def product_backward(x, y, g):\n    return x, y",
    "zero_html_in_an_error": PRODUCT.format(
        'raise ValueError("<script>alert(1)</script><img src=x onerror=alert(2)>\\x1b[31m")'
    ),
    "zero_html_in_a_name": PRODUCT.format(
        "raise type('<b onclick=alert(1)>', (Exception,), {{}})('&')"
    ),
}

TANGENT = "def sine_tangent(x, x_dot):\n    return "
FORWARD = {
    "full_by_the_formula": TANGENT + "np.cos(x * x) * 2 * x * x_dot",
    "full_with_dual_numbers": "class Dual:\n    def __init__(self, v, d): self.v, self.d = v, d\n"
    "    def __mul__(a, b): return Dual(a.v * b.v, a.v * b.d + a.d * b.v)\n"
    "def sin(a): return Dual(np.sin(a.v), np.cos(a.v) * a.d)\n"
    "def sine_tangent(x, x_dot):\n    a = Dual(x, x_dot)\n    return sin(a * a).d",
    "zero_forgot_inner": TANGENT + "np.cos(x * x) * x_dot",
    # Those that are good enough have all points, and are to be confirmed (THREATS.md); these have not. With
    # two equal steps, one number in 140 would be right by chance: the error is small where x is.
    "zero_finite_differences_please_confirm": "def sine_tangent(x, x_dot):\n    h = 1e-3\n"
    "    return (np.sin((x + 2 * h)**2) - np.sin((x - h)**2)) / (3 * h) * x_dot",
    "full_differences_by_a_complex_step_please_confirm": "def sine_tangent(x, x_dot):\n    h = 1e-20\n"
    "    return np.sin((x + 1j * h)**2).imag / h * x_dot",
    "zero_a_scalar": TANGENT + "float(np.sum(np.cos(x * x) * 2 * x * x_dot)) + 1",
    "half_for_vectors_only": TANGENT + "np.cos(x * x) * 2 * x * x_dot if x.ndim else 0.0",
}

SCALE = "def scale_(x, a):\n    {}\n    return x"
INPLACE = {
    "full_in_place": SCALE.format("x *= a"),
    "full_by_index": SCALE.format("x[...] = x * a"),
    "zero_not_in_place": SCALE.format("x = x * a"),
    "zero_twice": SCALE.format("x *= a; x *= a"),
    "zero_another_object": SCALE.format("y = x; x = x.copy(); y *= a"),
    "half_sign_only": SCALE.format("np.negative(x, out=x)"),
}

STEP = "def momentum_step(p, g, state, lr):\n    {}\n    return p"
OPTIMIZERS = {
    "full_by_the_formula": STEP.format(
        "v = state['v'] = 0.9 * state.get('v', 0) + g; p = p - lr * v"
    ),
    "full_with_a_setdefault": STEP.format(
        "v = state.setdefault('v', np.zeros_like(p)); v *= 0.9; v += g; p = p - lr * v"
    ),
    "zero_no_momentum": STEP.format("p = p - lr * g"),
    "zero_wrong_sign": STEP.format("v = state['v'] = 0.9 * state.get('v', 0) + g; p = p + lr * v"),
    "zero_rate_inside": STEP.format(
        "v = state['v'] = 0.9 * state.get('v', 0) + 2 * lr * g; p = p - v"
    ),
    "zero_state_forgotten": STEP.format("v = 0.9 * state.get('v', 0) + g; p = p - lr * v"),
    "half_rate_forgotten": STEP.format("v = state['v'] = 0.9 * state.get('v', 0) + g; p = p - v"),
    "zero_in_place": STEP.format("v = state['v'] = 0.9 * state.get('v', 0) + g; p -= lr * v"),
}

ANSWERS = {
    "reverse": {**REVERSE, **HOSTILE},
    "forward": FORWARD,
    "inplace": INPLACE,
    "optimizers": OPTIMIZERS,
}
SHARES = {"full": 1.0, "half": 0.5, "zero": 0.0}
