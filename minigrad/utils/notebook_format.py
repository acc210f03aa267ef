"""Imports nbformat without a delay of three seconds.

nbformat imports jsonschema, which imports rfc3987_syntax if it is installed. That package compiles
38 grammars for international web addresses, which takes three seconds: five times as long as loading
the rest of a grader command. The notebook schema does not need them. So we block the import of
rfc3987_syntax while nbformat is imported.

It is also a pytest plugin that does only this: `pytest -p minigrad.utils.notebook_format -p nbval.plugin`.
"""

import sys

__all__ = ["nbformat"]

_GRAMMARS = "rfc3987_syntax"

if _GRAMMARS in sys.modules:
    import nbformat
else:
    sys.modules[_GRAMMARS] = None  # type: ignore[assignment]  # None makes an import of it fail
    try:
        import nbformat
    finally:
        del sys.modules[_GRAMMARS]
