"""A pseudorandom number generator: the Mersenne Twister, which produces 32-bit words.

The sequence of words is determined by the seed. PyTorch uses the same generator on the CPU, so
the same seed gives the same words there. kernels.py turns words into uniform and normal samples
and permutations in the same way as PyTorch. So a program that sets a seed prints the same
numbers with both.

Source: Matsumoto and Nishimura, Mersenne Twister (1998), in NumPy's implementation.
"""

import operator
import os
from threading import RLock
from typing import Any

import numpy as np

from minigrad.core import modes
from minigrad.core.devices import CPU, DeviceLike, check_device
from minigrad.core.devices import device as Device
from minigrad.core.memory import Tensor, make
from minigrad.core.shapes import Array

WORD = np.array(32, np.uint64)  # bits
DEFAULT_SEED = 67280421310721  # for a Generator() without a seed

# The memory layout of a generator's state in PyTorch: the 624 words of the twister, how many of
# them are left, and the second number of a Box-Muller pair if it has not been used yet.
STATE = np.dtype(
    [
        ("seed", "<u8"),
        ("left", "<i4"),
        ("seeded", "<i4"),
        ("next", "<u8"),
        ("words", "<u8", 624),
        ("unused", "<f8"),
        ("spare", "<f8"),
        ("unused too", "<f8"),
        ("has_spare", "<i4"),
        ("spare of single precision", "<f4"),
        ("has that", "<u8"),
    ]
)


class Generator:
    """A source of random numbers with its own state.

    >>> g = Generator().manual_seed(0)
    >>> g.initial_seed()
    0
    >>> g.words(2)
    array([2357136044, 2546248239], dtype=uint64)
    """

    def __init__(self, device: DeviceLike = "cpu") -> None:
        check_device(device)
        self.lock = RLock()
        self._twister: Any = None  # made on first use, and seeded again after manual_seed
        self.manual_seed(DEFAULT_SEED)

    def manual_seed(self, seed: int) -> "Generator":
        """Restart from this seed, and return the generator.

        seed   a 64-bit integer. Only its low 32 bits are used; -1 means 2**64 - 1

        Raises RuntimeError if it is not an integer, and ValueError if it has more than 64 bits.
        """
        modes.tell("reseeds")
        try:
            seed = operator.index(seed)
        except TypeError:
            raise RuntimeError(
                f"manual_seed expected a long, but got {type(seed).__name__}"
            ) from None
        if not -(2**63) <= seed < 2**64:
            raise ValueError(f"Overflow when unpacking long long: the seed {seed} has over 64 bits")
        with self.lock:
            self._seed, self._seeded = seed % 2**64, False
            self.spare: float | None = None
        return self

    def seed(self) -> int:
        """Restart from a random seed, and return the seed."""
        return self.manual_seed(int.from_bytes(os.urandom(7), "little"))._seed

    def initial_seed(self) -> int:
        """The seed that this generator was started from."""
        return self._seed

    # ------------------------------------------------------------------------ words

    @property
    def twister(self) -> Any:
        """NumPy's Mersenne Twister, created on first use, because NumPy imports it lazily."""
        with self.lock:
            if self._twister is None:
                self._twister = np.random.MT19937(0)
            if not self._seeded:
                np.random.RandomState(self._twister).seed(self._seed % 2**32)  # as in the paper
                self._seeded = True
            return self._twister

    def words(self, n: int) -> Array:
        """The next n words: 32-bit integers, as uint64."""
        return self.twister.random_raw(n)

    def long_words(self, n: int) -> Array:
        """The next n pairs of words, each joined into a 64-bit integer."""
        w = self.words(2 * n)
        return w[0::2] << WORD | w[1::2]

    # ------------------------------------------------------------------------ the state

    def get_state(self) -> Tensor:
        """The complete state as a tensor of bytes, in PyTorch's format."""
        with self.lock:
            twister = self.twister.state["state"]
            state = np.zeros((), STATE)
            state["seed"], state["seeded"], state["words"] = self._seed, 1, twister["key"]
            state["left"], state["next"] = 625 - twister["pos"], twister["pos"]
            if self.spare is not None:
                state["spare"], state["has_spare"] = self.spare, 1
        return make.wrap(np.frombuffer(state.tobytes(), np.uint8).copy())

    def set_state(self, new_state: object) -> "Generator":
        """Set the state to one from get_state, of minigrad or of PyTorch."""
        data = np.asarray(getattr(new_state, "array", new_state))
        if data.dtype != np.uint8:
            raise TypeError(
                "RNG state must be a torch.ByteTensor: the uint8 tensor that get_state() returned."
            )
        if data.size != STATE.itemsize:
            raise RuntimeError(
                f"Expected a CPUGeneratorImplState of size {STATE.itemsize} but found the input "
                f"RNG state size to be {data.size}. Pass the tensor that get_state() returned."
            )
        state = np.frombuffer(data.tobytes(), STATE)[0]
        with self.lock:
            self._seed = int(state["seed"])
            # Position 624 means that all words are used, which is also the state after seeding.
            place = {"key": state["words"].astype(np.uint32), "pos": 625 - int(state["left"])}
            self.twister.state = {"bit_generator": "MT19937", "state": place}
            self.spare = float(state["spare"]) if state["has_spare"] else None
        return self

    def clone_state(self) -> "Generator":
        """A new generator that continues with the same numbers as this one."""
        return _from_state(self.get_state())

    def __reduce__(self) -> tuple[Any, ...]:
        return _from_state, (self.get_state().array,)

    @property
    def device(self) -> Device:
        """The device of the generator: always the CPU."""
        return CPU

    def __repr__(self) -> str:
        return f"<minigrad.Generator, seed {self._seed}>"


def _from_state(state: Any) -> Generator:
    """A generator with this state, for copying and unpickling."""
    generator = Generator()
    generator.set_state(state)
    return generator


default_generator = Generator()
default_generator.seed()


def source(generator: Generator | None) -> Generator:
    """The generator to draw from: by default, the default generator. Call it before each draw."""
    if generator is None:
        generator = default_generator
    elif not isinstance(generator, Generator):
        raise TypeError(f"generator must be a minigrad.Generator, not {type(generator).__name__}.")
    if modes.state.draws is not None:
        modes.state.draws.about_to_draw(generator)
    return generator


class Draws:
    """Controls the random numbers of a function that `vmap` or `jacfwd` calls once per example.

    with draws:    around each call of the function

    "error"        drawing a random number raises RuntimeError
    "same"         each call gets the same numbers: its generators restart from the same state
    "different"    each call gets its own numbers
    """

    def __init__(self, randomness: str) -> None:
        if randomness not in ("error", "same", "different"):
            raise RuntimeError(
                f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}"
            )
        self.randomness = randomness
        self._starts: dict[Generator, Tensor] = {}
        self._drawn: set[Generator] = set()  # in this call
        self._outer: Any = None

    def __enter__(self) -> None:
        self._drawn.clear()
        self._outer, modes.state.draws = modes.state.draws, self

    def __exit__(self, *raised: object) -> None:
        modes.state.draws = self._outer

    def about_to_draw(self, generator: Generator) -> None:
        """Raise RuntimeError for "error"; for "same", reset the generator to its state in the first call."""
        if self._outer is not None:
            self._outer.about_to_draw(generator)
        if self.randomness == "error":
            raise RuntimeError(
                "vmap: called random operation while in randomness error mode. Please either use the 'same' or "
                "'different' randomness flags on vmap, or perform the randomness operation out of vmap"
            )
        if self.randomness == "same" and generator not in self._drawn:
            self._drawn.add(generator)
            if generator in self._starts:
                generator.set_state(self._starts[generator])
            else:
                self._starts[generator] = generator.get_state()
