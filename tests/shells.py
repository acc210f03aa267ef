"""Settings of IPython shells in tests."""

from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

# Tests run side by side: they write no history into one database of the user's.
NO_HISTORY = Config({"HistoryManager": {"enabled": False}})
# At its exit, Python would ask each shell to collect garbage: minutes, for the shells of all tests.
InteractiveShell.atexit_operations = lambda shell: None
