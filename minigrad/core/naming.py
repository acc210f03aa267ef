"""How classes are shown that PyTorch has at the top of its package: <class 'minigrad.Tensor'>."""


class TopLevel(type):
    """The class of such classes. The classes that users derive from them are shown as usual.

    >>> type(minigrad.zeros(2)), type(minigrad.float32)
    (<class 'minigrad.Tensor'>, <class 'minigrad.dtype'>)
    """

    def __repr__(cls) -> str:
        ours = cls.__module__.startswith("minigrad.core.")
        return f"<class 'minigrad.{cls.__name__}'>" if ours else super().__repr__()
