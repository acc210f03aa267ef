"""Remove outputs from a notebook that only a running kernel can show.

Without its kernel, a widget is useless to a reader. Our widgets leave an empty output next to the
picture; others show "Error displaying widget: model not found", or a blank page if state was
saved with them. So for a notebook that is handed out, we remove our empty outputs, the widget view
keys in other outputs, and the widget state. The pictures and the text, which a check of the outputs
compares, stay, and so does everything else.

Stripping twice gives the same result as stripping once. An output that is only a widget has
nothing else to show; it is removed.
"""

import json
from pathlib import Path
from typing import Any

from minigrad.tape.names import count_of
from minigrad.tape.render.page import VIEW, is_element
from minigrad.utils.notebook_format import nbformat

STATE = "widgets"  # in the notebook's metadata

Notebook = Any  # nbformat's NotebookNode: a dict with attribute access, which is not typed


class StripError(ValueError):
    """A file cannot be stripped; the message gives the reason."""


def strip_file(path: str | Path, *, check: bool = False) -> list[str]:
    """Strip a notebook in place; return what was done, as text.

    check    only check: do not change the file

    If there is nothing to do, the file is not written. Raises StripError if it cannot be
    read as a notebook, or cannot be written.
    """
    path = Path(path)
    try:
        notebook = nbformat.read(path, as_version=nbformat.NO_CONVERT)
        if not isinstance(notebook.cells, list):
            raise ValueError("it has no list of cells")
    except OSError as error:
        raise StripError(f"{path} cannot be read: {error.strerror or error}.") from error
    except AttributeError:
        raise StripError(f"{path} is not a notebook of format 4: it has no cells.") from None
    except (ValueError, TypeError, nbformat.reader.NotJSONError) as error:
        raise StripError(f"{path} is not a notebook of format 4: {str(error)[:200]}.") from error
    before = json.dumps(notebook)
    changes = strip_notebook(notebook)
    if not check and json.dumps(notebook) != before:
        try:
            nbformat.write(notebook, path, version=nbformat.NO_CONVERT)
        except OSError as error:
            raise StripError(f"{path} cannot be written: {error.strerror or error}.") from error
    return changes


def strip_notebook(notebook: Notebook) -> list[str]:
    """Strip a notebook; return what was done, as text."""
    views = 0
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        kept = []
        for output in cell.outputs:
            data = output.get("data")
            if data is not None:
                if is_element(output):
                    data.clear()
                    views += 1
                views += data.pop(VIEW, None) is not None
            if data is None or data:
                kept.append(output)
        cell.outputs = kept
    changes = [count_of(views, "widget")] if views else []
    state = notebook.metadata.pop(STATE, None) is not None
    return [*changes, "the state of widgets"] if state else changes
