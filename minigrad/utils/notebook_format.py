"""nbformat, without three seconds that no notebook needs.

nbformat imports jsonschema, and jsonschema imports rfc3987_syntax where that is installed, which
compiles 38 grammars of international web addresses: three seconds, in which the rest of a command
of the grader is loaded five times over. The schema of notebooks has no such addresses, so the
grammars are left out while jsonschema is imported, and only then.

It is also a plugin of pytest that does nothing else: `pytest -p minigrad.utils.notebook_format -p nbval.plugin`.
"""

import sys

__all__ = ["nbformat"]

_GRAMMARS = "rfc3987_syntax"

if _GRAMMARS in sys.modules:
    import nbformat
else:
    sys.modules[_GRAMMARS] = None  # type: ignore[assignment]  # None: an import of it fails
    try:
        import nbformat
    finally:
        del sys.modules[_GRAMMARS]
