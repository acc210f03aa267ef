"""The frame of a page: its look, its policy, and how text gets into it.

Everything that comes from a submission is escaped, names of files included; the pages hold no
script, and say in their policy that none may run, and that nothing may be loaded. Text of
students stands in <bdi>, so that one written from right to left does not turn around what follows.
"""

from html import escape

from minigrad.grading.reports.document import clean

STYLE = """
:root { color-scheme: light dark; --ink: #1d2430; --quiet: #5a6577; --paper: #fff; --line: #d9dee7;
  --track: #e6ebf2; --bar: #2f6fb0; --good: #1c7c4a; --bad: #b3412f; --warn: #fff3d6; --edge: #d99a00; --box: #f5f7fa; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ef; --quiet: #9aa7ba; --paper: #14181f; --line: #2d3542;
  --track: #27303d; --bar: #6aa7e8; --good: #6cc596; --bad: #f09483; --warn: #3a2f12;
  --box: #1c222c; } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem;
  color: var(--ink); background: var(--paper); overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; margin-bottom: .3rem; } h2 { font-size: 1.15rem; margin: 2rem 0 .4rem; }
h3 { font-size: 1rem; margin: 1rem 0 .3rem; } a { color: var(--bar); }
table { border-collapse: collapse; width: 100%; } th { font-weight: 600; color: var(--quiet); font-size: .875rem; }
th, td { text-align: start; padding: .3rem .9rem .3rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
td.n, th.n { text-align: right; width: 1%; white-space: nowrap; font-variant-numeric: tabular-nums;
  overflow-wrap: normal; }
td.wide { vertical-align: middle; } td.said { min-width: 14rem; }
.good { color: var(--good); } .bad { color: var(--bad); }
.bar { background: var(--track); height: .7rem; border-radius: .35rem; overflow: hidden; min-width: 6rem; }
.bar div { background: var(--bar); height: 100%; }
.cards { display: flex; flex-wrap: wrap; gap: .8rem; margin: 1rem 0; padding: 0; list-style: none; }
.cards li { background: var(--box); border: 1px solid var(--line); border-radius: .5rem; padding: .5rem .9rem;
  min-width: 6rem; }
.cards b { display: block; font-size: 1.35rem; font-variant-numeric: tabular-nums; }
.cards span { color: var(--quiet); font-size: .875rem; }
.warn { background: var(--warn); border-left: 4px solid var(--edge); padding: .5rem .8rem; border-radius: .2rem; }
.hint { background: var(--box); border-left: 4px solid var(--bar); padding: .5rem .8rem; border-radius: .2rem; }
.quiet { color: var(--quiet); font-size: .875rem; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: .3rem 0; font: .9rem/1.45 ui-monospace, monospace;
  background: var(--box); padding: .5rem .8rem; border-radius: .3rem; max-height: 20rem; overflow: auto; }
bdi { unicode-bidi: isolate; }
@media print { body { margin: 0; max-width: none; } h2, tr { break-inside: avoid; } }
"""

WITHOUT = '<p class="warn">Isolation: none. Students\' code ran without a sandbox.</p>'


def page(title: str, body: str) -> str:
    """A whole HTML page. `title` is escaped here; `body` is HTML already, and may run no script."""
    policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta name="referrer" content="no-referrer">\n'
        f"<title>{escaped(title)}</title><style>{STYLE}</style></head>\n<body>\n{body}\n</body></html>\n"
    )


def escaped(text: object) -> str:
    """Text for HTML: no control characters, and quotes escaped as well."""
    return escape(clean(str(text)), quote=True)


def theirs(text: object, most: int = 2000) -> str:
    """Text that comes from a submission, shortened if it is longer."""
    whole = str(text)
    return f"<bdi>{escaped(whole if len(whole) <= most else whole[: most - 1] + '…')}</bdi>"


def bar(share: float) -> str:
    """A bar that is filled to this share, from 0 to 1; shares beyond are cut off."""
    return f'<div class="bar"><div style="width: {round(100 * min(max(share, 0.0), 1.0))}%"></div></div>'


def cards(*said: tuple[str, str]) -> str:
    """A row of figures, each as (name, value)."""
    items = "".join(
        f"<li><b>{escaped(value)}</b><span>{escaped(name)}</span></li>" for value, name in said
    )
    return f'<ul class="cards">{items}</ul>'
