"""What a tape or a static program shows in a notebook: the widget, a page, a picture or a table.

Which of them is the business of minigrad/jupyter/display.py. The widget comes with the
picture, for whoever opens the saved notebook without a kernel.
"""

from __future__ import annotations

import base64
from typing import Any

from minigrad.tape.faces import Faces
from minigrad.tape.shapes import esc

WIDGET = "application/vnd.jupyter.widget-view+json"


def bundle(tape: Faces) -> dict[str, Any]:
    """The faces of a tape or a program, by their MIME types, for the notebook to choose from."""
    from minigrad.jupyter.display import mode as wanted

    mode = wanted()
    found: dict[str, Any] = {"text/plain": tape.text()}
    if mode == "text":
        return found
    if mode == "html":
        return found | {"text/html": framed(tape)}
    found["image/svg+xml"] = tape.svg()
    if mode == "widget":
        from minigrad.jupyter.widget import show

        found[WIDGET] = {
            "version_major": 2,
            "version_minor": 0,
            "model_id": show(tape).model_id,
        }
    return found


def framed(tape: Faces) -> str:
    """The inspector in a sandboxed frame; where frames are not allowed, the picture."""
    what = tape.what
    page = tape.html().replace("&", "&amp;").replace('"', "&quot;")
    picture = base64.b64encode(tape.svg().encode()).decode()
    alt = esc(f"The {what} {tape.name} as a picture")
    return (
        f'<iframe sandbox="allow-scripts" title="{esc(f"The {what} {tape.name}")}" srcdoc="{page}"'
        ' style="width:100%;height:640px;border:0"></iframe>'
        "<details><summary>Static picture</summary>"
        f'<img alt="{alt}" src="data:image/svg+xml;base64,{picture}"></details>'
    )
