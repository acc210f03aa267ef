"""A class on the disk: an exercise that is released, and the notebooks that students hand in."""

import copy
import json

import nbformat

from minigrad.grading.release.student import release
from tests.submissions.answers import ANSWERS
from tests.submissions.authors import AUTHORS


class Class:
    """An exercise, and a folder of submissions to it.

    path        where the author's notebook is written
    notebook    the author's notebook
    folder      where the submissions go; None: "class" beside the author's notebook
    """

    def __init__(self, path, notebook=AUTHORS["reverse"], folder=None):
        self.author, self.folder = path, folder or path.parent / "class"
        path.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(nbformat.from_dict(notebook), path)
        self.released = json.loads(release(path, path.parent / "released").read_text("utf-8"))

    def submit(self, student, *below, **sources):
        """Write a submission with these sources of cells, and further cells below the last one."""
        notebook = copy.deepcopy(self.released)
        for cell in notebook["cells"]:
            cell["source"] = sources.get(cell["id"], cell["source"])
        notebook["cells"] += [nbformat.v4.new_markdown_cell(source) for source in below]
        path = self.folder / f"{student}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(notebook), "utf-8")
        return path

    def submit_each(self, *names):
        """Hand in these answers to the exercise on reverse mode, and return the folder."""
        for k, name in enumerate(names):
            self.submit(f"{k:02d}-{name}", answer=f"{ANSWERS['reverse'][name]}\n# {k}")
        return self.folder


def write_files(folder, *names, text="{}"):
    """Write files with this text, and their folders."""
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
