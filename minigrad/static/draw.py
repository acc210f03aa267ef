"""Draw: a program as a picture, in the language of Graphviz (dot -Tsvg).

Boxes are instructions, ovals are what there is at first; an arrow leads from each value to the
instruction that reads it. What a plan does not compute anew, views, is dashed.
"""

from minigrad.static.program import Program


def to_dot(program: Program) -> str:
    """The program as the text of a drawing.

    >>> import minigrad
    >>> from minigrad import static
    >>> print(to_dot(static.record(lambda x: x * x)(minigrad.ones(2))))
    digraph program {
        rankdir=TB; node [fontname="monospace", fontsize=10];
        v0 [label="x\\n(2,)", shape=ellipse];
        v1 [label="%1 = mul\\n(2,)", shape=box];
        v0 -> v1; v0 -> v1;
        v1 -> out0; out0 [label="result", shape=plaintext];
    }
    """
    lines = [
        "digraph program {",
        '    rankdir=TB; node [fontname="monospace", fontsize=10];',
    ]
    drawn = {i for line in program.instructions for i in line.reads()} | {*program.inputs}
    drawn |= set(program.outputs)
    for i, value in enumerate(program.values):
        if value.kind != "result" and i in drawn:
            label = value.name or program.first_words(i)
            lines.append(f'    v{i} [label="{label}\\n{value.shape}", shape=ellipse];')
    for line in program.instructions:
        shape = program.values[line.result].shape
        style = ", style=dashed" if line.op.view else ""
        lines.append(
            f'    v{line.result} [label="%{line.result} = {line.op.name}\\n{shape}", shape=box{style}];'
        )
        arrows = [f"v{i} -> v{line.result};" for i in line.reads()]
        if line.over is not None:
            arrows.append(f'v{line.result} -> v{line.over} [style=dotted, label="over"];')
        if arrows:
            lines.append("    " + " ".join(arrows))
    for k, i in enumerate(program.outputs):
        lines.append(f'    v{i} -> out{k}; out{k} [label="result", shape=plaintext];')
    return "\n".join([*lines, "}"])
