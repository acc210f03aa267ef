"""The site. In the root of the clone:  sphinx-build -W -c docs . site

Lessons and exercises are shown with their stored outputs; no notebook is run. The site
works without the network: the theme, MathJax and the inspector are files in it.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "docs" / "extensions")]

# After the path is set. The first import speeds up a later one: myst_nb imports nbformat too, slowly.
import minigrad.utils.notebook_format  # noqa: E402, F401
from minigrad.version import __version__  # noqa: E402

project = "minigrad"
author = "the minigrad developers"
project_copyright = author
release = version = __version__
language = "en"

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx-mathjax-offline",
    "docstrings",  # the last three are in docs/extensions
    "notebooks",
    "reference",
]
root_doc = "docs/index"
include_patterns = ["docs/**", "notebooks/**", "exercises/**", "*.md"]
# Without the last three, Sphinx also looks for pages in environments, which takes seconds.
exclude_patterns = ["docs/extensions/**", ".*", "minigrad", "tests"]

myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence"]
myst_heading_anchors = 3
nb_execution_mode = "off"
# Only the cells with an answer are folded.
nb_code_prompt_show, nb_code_prompt_hide = "Show the answer", "Hide the answer"
nb_ipywidgets_js: dict[str, dict[str, str]] = {}  # the widgets' scripts would come from the network
nb_mime_priority_overrides = [("html", "text/html", 1), ("html", "image/svg+xml", 2)]

html_theme = "furo"
html_title = "minigrad"
html_show_sourcelink = False
html_copy_source = False
html_static_path = ["static"]
html_css_files = ["site.css"]
html_additional_pages = {"index": "redirect.html"}
templates_path = ["templates"]

autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_preserve_defaults = (
    False  # Sphinx would look for the defaults of losses in the decorated function
)
