"""Four exercises, one for each theme, small enough to be graded in a second."""

import copy

from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook


def a_cell(kind, name, source, **settings):
    """A cell with this id and grade_id, and these settings in nbgrader's metadata."""
    ungraded = {"schema_version": 3, "grade": False, "solution": False, "locked": False}
    metadata = {"nbgrader": {**ungraded, "grade_id": name, **settings}}
    return kind(source, id=name, metadata=metadata)


def author(given, solution, **question):
    """An author's notebook of one question."""
    graded = {"grade": True, "locked": True, "points": 4}
    check = a_cell(new_code_cell, "check", "# checked when it is graded", **graded)
    check.metadata["minigrad"] = {"question": question}
    story = new_markdown_cell("# An exercise", id="story")
    above = a_cell(new_code_cell, "given", given, locked=True)
    answer = a_cell(new_code_cell, "answer", solution, solution=True)
    return new_notebook(cells=[story, above, answer, check])


def by_exercise(shapes):
    """The notebook on reverse mode, with an Exercise in place of the declared question."""
    notebook = copy.deepcopy(AUTHORS["reverse"])
    notebook.cells[1].source = (
        "from minigrad.teach import Exercise\n"
        f"e = Exercise('product_backward', lambda x, y: x * y, shapes={shapes})"
    )
    notebook.cells[3].source = "e.check().or_raise()"
    del notebook.cells[3].metadata["minigrad"]
    return notebook


AUTHORS = {
    "reverse": author(
        "import numpy as np",
        '''\
def product_backward(x, y, g):
    """The gradients of L by x and y, where z = x * y and g = dL/dz."""
    ### BEGIN SOLUTION
    dx = g * y
    dy = g * x
    return dx, dy
    ### END SOLUTION''',
        call="product_backward(x, y, g)",
        results=["dx", "dy"],
        cases=[{n: {"shape": shape} for n in "xyg"} for shape in ([3], [2, 3])],
        wrong=["def product_backward(x, y, g):\n    return g * x, g * y"],
        right=["product_backward = lambda x, y, g: [np.multiply(y, g), np.multiply(x, g)]"],
    ),
    "forward": author(
        "import numpy as np",
        '''\
def sine_tangent(x, x_dot):
    """How z = sin(x * x) moves when x moves by x_dot."""
    ### BEGIN SOLUTION
    inner = x * x
    inner_dot = 2 * x * x_dot
    return np.cos(inner) * inner_dot
    ### END SOLUTION''',
        call="sine_tangent(x, x_dot)",
        results=["z_dot"],
        cases=[
            {"x": {"shape": [4]}, "x_dot": {"shape": [4]}},
            {"x": {"shape": []}, "x_dot": {"shape": []}},
        ],
        rtol=1e-12,
        wrong=["def sine_tangent(x, x_dot):\n    return np.cos(x * x) * x_dot"],
    ),
    "inplace": author(
        "import numpy as np",
        '''\
def scale_(x, a):
    """Multiply x by a, in place, and give it back."""
    ### BEGIN SOLUTION
    np.multiply(x, a, out=x)
    return x
    ### END SOLUTION''',
        call="scale_(x, a)",
        results=["x"],
        cases=[
            {"x": {"shape": [3]}, "a": {"value": 3.0}},
            {"x": {"shape": [2, 2]}, "a": {"value": -1}},
        ],
        wrong=["def scale_(x, a):\n    return x * a"],
    ),
    "optimizers": author(
        "import numpy as np",
        '''\
def momentum_step(p, g, state, lr):
    """One step of gradient descent with momentum 0.9; state is a dict that is kept."""
    ### BEGIN SOLUTION
    state["v"] = 0.9 * state.get("v", 0.0) + g
    return p - lr * state["v"]
    ### END SOLUTION''',
        call="run(momentum_step, p, grads, lr)",
        helpers=(
            "def run(step, p, grads, lr):\n    state, seen = {}, []\n    for g in grads:\n"
            "        p = step(p, g, state, lr)\n        seen.append(p)\n    return seen\n"
        ),
        results=["steps"],
        cases=[
            {"p": {"shape": [2]}, "grads": {"shape": [3, 2]}, "lr": {"value": lr}}
            for lr in (0.1, 1.0)
        ],
        wrong=["def momentum_step(p, g, state, lr):\n    return p - lr * g"],
    ),
}
