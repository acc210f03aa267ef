"""Settings of IPython shells in tests."""

from traitlets.config import Config

# Tests run side by side: they write no history into one database of the user's.
NO_HISTORY = Config({"HistoryManager": {"enabled": False}})
