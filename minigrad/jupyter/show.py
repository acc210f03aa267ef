"""The output of a tape, a static program or a progress report in a notebook.

    show_widget(what)    shows the widget, if one can run
    bundle(tape)         the picture as SVG, as PNG for viewers that do not show SVG, and as text

minigrad/jupyter/display.py decides which of them to use. The widget is a separate output
(widgets.py), so that the picture is still there if the saved notebook is opened without a kernel.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from minigrad.core import display as registry
from minigrad.jupyter import display, tensor_html
from minigrad.tape.inspectable import Inspectable
from minigrad.tape.render import bitmap, draw
from minigrad.tape.render.shapes import esc

if TYPE_CHECKING:
    from minigrad.jupyter.widgets import Live
    from minigrad.teach.question import Progress


def show_widget(what: Inspectable | Progress) -> None:
    """Show the widget, if one can run: an output that stays empty if the widget is not running."""
    if isinstance(what, Inspectable) and what.too_large():
        return
    if display.chosen_mode() == "widget":
        _widget(what).show_beside()


def widget_view(what: Inspectable | Progress) -> dict[str, object]:
    """The widget as one more entry in a bundle, for front ends that do not know our element."""
    wanted = display.chosen_mode() == "widget" and display.takes_views()
    return _widget(what).view() if wanted else {}


def _widget(what: Inspectable | Progress) -> Live:
    from minigrad.jupyter import progress_panel, widgets

    return widgets.inspector_of(what) if isinstance(what, Inspectable) else progress_panel.panel()


def bundle(tape: Inspectable) -> dict[str, object]:
    """A tape or a program in several formats, by MIME type, from which the notebook chooses."""
    if why := tape.too_large():
        return {"text/plain": why}
    mode = display.chosen_mode()
    data: dict[str, object] = {"text/plain": tape.text()}
    if mode == "text":
        return data
    if mode == "html":
        return data | {"text/html": framed(tape)}
    picture = draw.picture(tape.shown(), folded=True)
    if mode != "png":
        data["image/svg+xml"] = picture.svg()
    if mode == "png" or display.is_seen():
        data["image/png"] = base64.b64encode(bitmap.rendered(picture, bitmap.NOTEBOOK)).decode()
    return data | widget_view(tape)


def framed(tape: Inspectable) -> str:
    """The inspector in a sandboxed frame; if frames are not allowed, the picture."""
    title = f"The {tape.what} {tape.name}"
    page = tape.html().replace("&", "&amp;").replace('"', "&quot;")
    picture = base64.b64encode(tape.svg(folded=True).encode()).decode()
    alt = esc(f"{title} as a picture")
    return (
        f'<iframe sandbox="allow-scripts" title="{esc(title)}" srcdoc="{page}"'
        ' style="width:100%;height:640px;border:0"></iframe>'
        "<details><summary>Static picture</summary>"
        f'<img alt="{alt}" src="data:image/svg+xml;base64,{picture}"></details>'
    )


def card(report: object) -> bool:
    """Show a report in the output of the cell, if this is a kernel with a reader."""
    if not display.is_seen() or display.chosen_mode() == "text":
        return False
    from IPython.display import display as show

    show(report)
    return True


registry.register(
    tensor_html=tensor_html.html_of,
    bundle=bundle,
    view=widget_view,
    show_widget=show_widget,
    card=card,
    mode=display.chosen_mode,
)
