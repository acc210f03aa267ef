"""Imports nbformat without a delay of three seconds.

nbformat imports jsonschema, which imports what it needs for each format of a string, if that is installed.
rfc3987_syntax compiles 38 grammars for international web addresses, which takes three seconds: five times
as long as loading the rest of a grader command. isoduration brings a library for dates. The notebook
schema has neither format. So we block the import of both while nbformat is imported.

It is also a pytest plugin that does only this: `pytest -p minigrad.utils.notebook_format -p nbval.plugin`.
"""

import sys

__all__ = ["nbformat"]

_blocked = {"rfc3987_syntax", "isoduration"} - {*sys.modules}
sys.modules |= dict.fromkeys(_blocked)  # type: ignore[arg-type]  # None makes an import of it fail
try:
    import nbformat
finally:
    for _name in _blocked:
        del sys.modules[_name]
