"""What a tape, a static program or the progress shows in a notebook.

    come_alive(what)    the widget, where one can run
    bundle(tape)        its picture: as SVG, as PNG for viewers that trust no SVG, and as text

Which of them is the business of minigrad/jupyter/display.py. The widget is an output of its own
(live.py), so that the picture is there for whoever opens the saved notebook without a kernel.
"""

from __future__ import annotations

import base64
from typing import Any

from minigrad.core import display as registry
from minigrad.jupyter import display, tensor_html
from minigrad.tape import bitmap
from minigrad.tape.faces import Faces
from minigrad.tape.shapes import esc


def come_alive(what: Any) -> None:
    """Show the widget, where one can run: an output that is empty where it does not."""
    if display.mode() == "widget":
        from minigrad.jupyter.live import beside

        beside(_widget(what))


def view(what: Any) -> dict[str, Any]:
    """The widget as one more form in a bundle, for front ends that do not know our element."""
    if display.mode() == "widget":
        from minigrad.jupyter.live import takes_views

        if takes_views():
            found: dict[str, Any] = _widget(what).view()
            return found
    return {}


def _widget(what: Any) -> Any:
    if isinstance(what, Faces):
        from minigrad.jupyter.widget import show

        return show(what)
    from minigrad.jupyter.progress_widget import panel

    return panel()


def bundle(tape: Faces) -> dict[str, Any]:
    """The faces of a tape or a program, by their MIME types, for the notebook to choose from."""
    mode = display.mode()
    found: dict[str, Any] = {"text/plain": tape.text()}
    if mode == "text":
        return found
    if mode == "html":
        return found | {"text/html": framed(tape)}
    found["image/svg+xml"] = picture = tape.svg(folded=True)
    if display.is_seen():
        found["image/png"] = base64.b64encode(bitmap.png(picture, bitmap.NOTEBOOK)).decode()
    return found | view(tape)


def framed(tape: Faces) -> str:
    """The inspector in a sandboxed frame; where frames are not allowed, the picture."""
    what = tape.what
    page = tape.html().replace("&", "&amp;").replace('"', "&quot;")
    picture = base64.b64encode(tape.svg(folded=True).encode()).decode()
    alt = esc(f"The {what} {tape.name} as a picture")
    return (
        f'<iframe sandbox="allow-scripts" title="{esc(f"The {what} {tape.name}")}" srcdoc="{page}"'
        ' style="width:100%;height:640px;border:0"></iframe>'
        "<details><summary>Static picture</summary>"
        f'<img alt="{alt}" src="data:image/svg+xml;base64,{picture}"></details>'
    )


registry.register(
    tensor_html=tensor_html.html, bundle=bundle, view=view, come_alive=come_alive, mode=display.mode
)
