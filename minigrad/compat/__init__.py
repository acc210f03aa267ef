"""Compatibility with PyTorch: old names, settings without effect, modules that are left out."""
