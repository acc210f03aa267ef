"""What help() says of methods that are named after no row of the table, by the chapters of this folder.

A method that is named after an op says what the op's row says; see rows.py, which also makes the texts of
synonyms (`swapaxes`) and of variants in place (`renorm_`). The examples are run by the tests.
"""

DOCS: dict[str, str] = {
    # ------------------------------------------------------------------ base
    "ndim": """The number of axes, as x.dim() says it: 0 for a single number, 2 for a matrix.

    >>> minigrad.zeros(2, 3).ndim
    2
    """,
    "dim": """The number of axes: 0 for a single number, 1 for a vector, 2 for a matrix.

    >>> minigrad.zeros(2, 3).dim()
    2
    """,
    "numel": """The number of entries: the product of the sizes.

    >>> minigrad.zeros(2, 3).numel()
    6
    """,
    "size": """The shape; with dim, the size of that axis, as a Python number.

    >>> x = minigrad.zeros(2, 3)
    >>> x.size()
    minigrad.Size([2, 3])
    >>> x.size(-1)
    3
    """,
    "fill_": """Write this value over every entry. Returns the tensor itself.

    value   a number, or a tensor without axes
    A leaf that requires a gradient refuses to be written to, unless nothing is recorded (`no_grad`).

    >>> minigrad.zeros(2, 2).fill_(7)
    tensor([[7., 7.],
            [7., 7.]])
    """,
    "zero_": """Write 0 over every entry. Returns the tensor itself.

    Often used of gradients, before the next backward pass: x.grad.zero_()
    A leaf that requires a gradient refuses to be written to, unless nothing is recorded (`no_grad`).

    >>> minigrad.tensor([1.0, 2.0]).zero_()
    tensor([0., 0.])
    """,
    "astype": """The tensor in another type of number: x.to(dtype), under NumPy's name.

    >>> minigrad.tensor([1.7, -1.7]).astype(minigrad.int64)
    tensor([ 1, -1])
    """,
    "double": """x.to(minigrad.float64): the tensor itself if it has that type already. A gradient passes through.

    >>> minigrad.tensor([1, 2]).double()
    tensor([1., 2.], dtype=minigrad.float64)
    """,
    "float": """x.to(minigrad.float32): the tensor itself if it has that type already. A gradient passes through.

    >>> minigrad.tensor([1, 2]).float()
    tensor([1., 2.])
    """,
    "half": """x.to(minigrad.float16): the tensor itself if it has that type already. A gradient passes through.

    >>> minigrad.tensor([1, 2]).half()
    tensor([1., 2.], dtype=minigrad.float16)
    """,
    "long": """x.to(minigrad.int64), the type of indices and class labels. Fractions are cut off; no gradient passes.

    >>> minigrad.tensor([1.7, -1.7]).long()
    tensor([ 1, -1])
    """,
    "int": """x.to(minigrad.int32). Fractions are cut off; no gradient passes.

    >>> minigrad.tensor([1.7, -1.7]).int()
    tensor([ 1, -1], dtype=minigrad.int32)
    """,
    "bool": """x.to(minigrad.bool): True where an entry is not 0. NaN is True.

    >>> minigrad.tensor([0.0, 0.5, -1.0]).bool()
    tensor([False,  True,  True])
    """,
    "short": """x.to(minigrad.int16). Fractions are cut off; no gradient passes.

    >>> minigrad.tensor([1.7, -1.7]).short()
    tensor([ 1, -1], dtype=minigrad.int16)
    """,
    "char": """x.to(minigrad.int8): whole numbers from -128 to 127. Larger ones wrap around.

    >>> minigrad.tensor([1, 130]).char()
    tensor([   1, -126], dtype=minigrad.int8)
    """,
    "byte": """x.to(minigrad.uint8): whole numbers from 0 to 255. Others wrap around.

    >>> minigrad.tensor([1, 257]).byte()
    tensor([1, 1], dtype=minigrad.uint8)
    """,
    "type_as": """The tensor in the type of number of `other`: x.to(other.dtype).

    >>> minigrad.tensor([1, 2]).type_as(minigrad.tensor(0.5))
    tensor([1., 2.])
    """,
    "type": """The name of the type, in the old manner; with dtype, the tensor converted to it.

    dtype   a dtype, or an old name: "torch.LongTensor"

    >>> x = minigrad.tensor([1.5])
    >>> x.type()
    'minigrad.FloatTensor'
    >>> x.type(minigrad.int64)
    tensor([1])
    """,
    "is_floating_point": """Is the type of number float16, float32 or float64? Only such tensors can require gradients.

    >>> minigrad.tensor([1, 2]).is_floating_point()
    False
    """,
    "is_complex": """Are the entries complex numbers?

    >>> minigrad.tensor([1.0]).is_complex()
    False
    """,
    "is_signed": """Can the type of number hold values below 0? False for uint8 and bool.

    >>> minigrad.tensor([1], dtype=minigrad.uint8).is_signed()
    False
    """,
    "conj": """The tensor itself: of real numbers, the conjugates are the numbers.

    >>> minigrad.tensor([1.0, 2.0]).conj()
    tensor([1., 2.])
    """,
    "real": """The tensor itself: real numbers are their own real part.

    >>> minigrad.tensor([1.0, 2.0]).real
    tensor([1., 2.])
    """,
    "element_size": """How many bytes one entry takes.

    >>> minigrad.tensor([1.0]).element_size()
    4
    """,
    "itemsize": """How many bytes one entry takes, as x.element_size() says it.

    >>> minigrad.tensor([1.0]).itemsize
    4
    """,
    "nbytes": """How many bytes all entries take: numel() * itemsize. A view counts its own entries.

    >>> minigrad.zeros(2, 3).nbytes
    24
    """,
    "stride": """How many entries to go in memory to come to the next one along each axis; with dim, along that one.

    A view has its own strides: a transpose exchanges two of them, and an expanded axis has 0.

    >>> x = minigrad.zeros(2, 3)
    >>> x.stride()
    (3, 1)
    >>> x.T.stride()
    (1, 3)
    """,
    "data_ptr": """The address of the first entry in memory. Two views that begin at the same entry have the same one.

    >>> x = minigrad.zeros(2, 3)
    >>> x.data_ptr() == x[0].data_ptr()
    True
    """,
    "storage_offset": """How many entries after the beginning of the memory it shows a view begins; 0 if it is no view.

    >>> minigrad.zeros(2, 3)[1].storage_offset()
    3
    """,
    "device": """Where the tensor is: device(type='cpu'), the only one there is.

    >>> minigrad.tensor([1.0]).device
    device(type='cpu')
    """,
    "is_cuda": "False: minigrad computes on the CPU only.",
    "is_cpu": "True: minigrad computes on the CPU only.",
    "get_device": "-1, as PyTorch says of a tensor on the CPU.",
    "cpu": "The tensor itself: it is on the CPU already.",
    "cuda": """An error: minigrad computes on the CPU only.

    Programs choose with  device = "cuda" if minigrad.cuda.is_available() else "cpu"  and x.to(device).
    """,
    "new_tensor": """A new tensor of this data, a copy, in this tensor's type of number.

    data    nested lists, an array or a number; of a tensor, the values without their history
    dtype   another type; requires_grad=True makes it a leaf whose gradient is wanted

    >>> minigrad.tensor([0.5]).new_tensor([1, 2])
    tensor([1., 2.])
    """,
    "new_zeros": """A new tensor of this shape, full of zeros, in this tensor's type of number.

    new_zeros(2, 3) and new_zeros((2, 3)) mean the same.

    >>> minigrad.tensor([5, 6]).new_zeros(3)
    tensor([0, 0, 0])
    """,
    "new_ones": """A new tensor of this shape, full of ones, in this tensor's type of number.

    new_ones(2, 3) and new_ones((2, 3)) mean the same.

    >>> minigrad.tensor([5, 6]).new_ones(3)
    tensor([1, 1, 1])
    """,
    "new_empty": """A new tensor of this shape, in this tensor's type of number, to be written to.

    It holds zeros here; in PyTorch whatever was in memory.

    >>> minigrad.tensor([5, 6]).new_empty(2, 3).shape
    minigrad.Size([2, 3])
    """,
    "new_full": """A new tensor of this size (a tuple), full of fill_value, in this tensor's type of number.

    >>> minigrad.tensor([5, 6]).new_full((3,), 7)
    tensor([7, 7, 7])
    """,
    # ------------------------------------------------------------------ operators
    "rsub": """other - alpha * x: the difference the other way round.

    >>> minigrad.tensor([1.0, 2.0]).rsub(10)
    tensor([9., 8.])
    """,
    "float_power": """x ** exponent, computed in float64, so whole numbers may have negative exponents.

    The result is float64 in every case. The exponent is a number or a tensor, broadcast with x.

    >>> minigrad.tensor([1, 2, 4]).float_power(-1)
    tensor([1.0000, 0.5000, 0.2500], dtype=minigrad.float64)
    """,
    "isposinf": """True where an entry is inf.

    >>> minigrad.tensor([1.0, float("inf"), float("-inf")]).isposinf()
    tensor([False,  True, False])
    """,
    "isneginf": """True where an entry is -inf.

    >>> minigrad.tensor([1.0, float("inf"), float("-inf")]).isneginf()
    tensor([False, False,  True])
    """,
    "isreal": """True where an entry has no imaginary part: everywhere, for real numbers.

    >>> minigrad.tensor([1.0, 2.0]).isreal()
    tensor([True, True])
    """,
    "is_nonzero": """Is the one entry of this tensor not 0? What bool(x) says, and `if x:` asks.

    Raises RuntimeError for a tensor with no entries or with several: say x.any() or x.all().

    >>> minigrad.tensor([0.5]).is_nonzero()
    True
    """,
    "is_same_size": """Has `other` the same shape?

    >>> minigrad.zeros(2, 3).is_same_size(minigrad.zeros(3, 2))
    False
    """,
    "heaviside": """The step function: 0 where x < 0, 1 where x > 0, and the entry of `values` where x is 0.

    values   a tensor of x's type, broadcast with x
    No gradient passes through.

    >>> minigrad.tensor([-2.0, 0.0, 3.0]).heaviside(minigrad.tensor(0.5))
    tensor([0.0000, 0.5000, 1.0000])
    """,
    "isclose": """True where x and other differ by at most atol + rtol * abs(other).

    Both have the same type of number, else RuntimeError. NaN is close to NaN with equal_nan=True only.

    >>> minigrad.tensor([1.0, 2.0]).isclose(minigrad.tensor([1.0, 2.1]))
    tensor([ True, False])
    """,
    "allclose": """Does no entry of x differ from that of other by more than atol + rtol * abs(other)? A Python bool.

    Both have the same type of number, else RuntimeError. NaN is close to NaN with equal_nan=True only.

    >>> x = minigrad.tensor([0.1, 0.2])
    >>> (x * 3).allclose(minigrad.tensor([0.3, 0.6]))
    True
    """,
    "equal": """Have both the same shape and the same entries? A Python bool; x == other compares entry by entry.

    >>> x = minigrad.tensor([1.0, 2.0])
    >>> x.equal(minigrad.tensor([1.0, 2.0]))
    True
    >>> x == minigrad.tensor([1.0, 5.0])
    tensor([ True, False])
    """,
    # ------------------------------------------------------------------ entries
    "frac": """The part after the point: x - x.trunc(). It has the sign of x.

    >>> minigrad.tensor([1.5, -2.25]).frac()
    tensor([ 0.5000, -0.2500])
    """,
    "logit": """log(x / (1 - x)), the inverse of sigmoid, for x between 0 and 1.

    eps   clamp x to [eps, 1 - eps] first, so that the result is finite

    >>> minigrad.tensor([0.0, 0.5, 1.0]).logit()
    tensor([-inf, 0., inf])
    """,
    "nan_to_num": """x with `nan` in place of NaN, `posinf` in place of inf, `neginf` in place of -inf.

    Without posinf and neginf, the largest and the least number of the type stand there.
    The gradient of a replaced entry is 0.

    >>> x = minigrad.tensor([1.0, float("nan"), float("inf")])
    >>> x.nan_to_num(posinf=9)
    tensor([1., 0., 9.])
    """,
    "deg2rad": """Degrees as radians: x * pi / 180.

    >>> minigrad.tensor([0.0, 90.0, 180.0]).deg2rad()
    tensor([0.0000, 1.5708, 3.1416])
    """,
    "rad2deg": """Radians as degrees: x * 180 / pi.

    >>> minigrad.tensor([0.0, minigrad.pi]).rad2deg().round()
    tensor([  0., 180.])
    """,
    "sinc": """sin(pi * x) / (pi * x), and 1 at 0.

    >>> minigrad.tensor([0.0, 0.5]).sinc()
    tensor([1.0000, 0.6366])
    """,
    "copysign": """abs(x) with the sign of other, which is a number or a tensor, broadcast with x. -0.0 has a sign, too.

    >>> minigrad.tensor([1.0, -2.0]).copysign(-1)
    tensor([-1., -2.])
    """,
    "mvlgamma": """The logarithm of the gamma function of p variables, for entries greater than (p - 1) / 2.

    With p=1 it is lgamma. It stands in the densities of distributions of matrices.

    >>> minigrad.tensor([1.0, 2.0]).mvlgamma(1)
    tensor([0., 0.])
    """,
    "ldexp": """x * 2 ** other.

    >>> minigrad.tensor([1.0, 3.0]).ldexp(minigrad.tensor([2, -1]))
    tensor([4.0000, 1.5000])
    """,
    "frexp": """(mantissa, exponent) with x = mantissa * 2 ** exponent and abs(mantissa) from 1/2 to 1.

    The exponents are int32. Raises RuntimeError for whole numbers.

    >>> mantissa, exponent = minigrad.tensor([3.0, 8.0]).frexp()
    >>> mantissa
    tensor([0.7500, 0.5000])
    >>> exponent
    tensor([2, 4], dtype=minigrad.int32)
    """,
    "gcd": """The greatest common divisor of the entries of x and other, tensors of whole numbers, broadcast.

    >>> minigrad.tensor([12, 7]).gcd(minigrad.tensor([18, 21]))
    tensor([6, 7])
    """,
    "lcm": """The least common multiple of the entries of x and other, tensors of whole numbers, broadcast.

    >>> minigrad.tensor([4, 6]).lcm(minigrad.tensor([6, 6]))
    tensor([12,  6])
    """,
    "hardshrink": """x with 0 in place of entries from -lambd to lambd.

    >>> minigrad.tensor([-1.0, 0.25, 2.0]).hardshrink()
    tensor([-1.,  0.,  2.])
    """,
    "prelu": """x where x > 0, else weight * x: a relu whose slope below 0 is learned.

    weight   one number, or one for each channel (axis 1)

    >>> minigrad.tensor([-2.0, 3.0]).prelu(minigrad.tensor([0.25]))
    tensor([-0.5000,  3.0000])
    """,
    # ------------------------------------------------------------------ arrangement
    "T": """The tensor with its axes in reverse order, as a view: of a matrix, the transpose.

    >>> minigrad.tensor([[1, 2, 3], [4, 5, 6]]).T
    tensor([[1, 4],
            [2, 5],
            [3, 6]])
    """,
    "mT": """The transposes of the matrices that stand in the last two axes, as a view.

    Raises RuntimeError for a vector, which has no second axis.

    >>> minigrad.zeros(5, 2, 3).mT.shape
    minigrad.Size([5, 3, 2])
    """,
    "H": """The transpose of a matrix, as a view: of real numbers, x.H is x.T.

    Raises RuntimeError for a vector, and for more than two axes: there say x.mH.

    >>> minigrad.tensor([[1, 2], [3, 4]]).H
    tensor([[1, 3],
            [2, 4]])
    """,
    "mH": """The transposes of the matrices that stand in the last two axes, as a view: of real numbers, x.mH is x.mT.

    >>> minigrad.zeros(5, 2, 3).mH.shape
    minigrad.Size([5, 3, 2])
    """,
    "flatten": """The axes from start_dim to end_dim as a single one; without them, all entries as a vector.

    It shares memory with x where that is possible, as reshape does.
    x.flatten(1) turns a batch of images (n, c, h, w) into a batch of vectors (n, c * h * w).

    >>> minigrad.zeros(4, 3, 2, 2).flatten(1).shape
    minigrad.Size([4, 12])
    """,
    "ravel": """All entries as a vector: x.reshape(-1). It shares memory with x where that is possible.

    >>> minigrad.tensor([[1, 2], [3, 4]]).ravel()
    tensor([1, 2, 3, 4])
    """,
    "expand_as": """The tensor broadcast to the shape of `other`, as a view: x.expand(other.shape).

    >>> minigrad.tensor([1, 2]).expand_as(minigrad.zeros(2, 2))
    tensor([[1, 2],
            [1, 2]])
    """,
    "broadcast_to": """The tensor broadcast to this size, as a view that repeats entries without copying them.

    size   a tuple; an axis of size 1 may become larger, and new axes come first
    The gradient is summed over what was repeated. Raises RuntimeError for other sizes.

    >>> minigrad.tensor([1, 2]).broadcast_to((2, 2))
    tensor([[1, 2],
            [1, 2]])
    """,
    "contiguous": """The tensor with its entries in order in memory: itself if they are, else a copy.

    After a transpose, view() asks for this. memory_format is accepted and changes nothing.

    >>> x = minigrad.tensor([[1, 2], [3, 4]])
    >>> x.T.contiguous().view(4)
    tensor([1, 3, 2, 4])
    """,
    "is_contiguous": """Do the entries stand in memory in the order of the axes, row by row (C order)?

    >>> x = minigrad.zeros(2, 3)
    >>> x.is_contiguous(), x.T.is_contiguous()
    (True, False)
    """,
    "view_as": """The tensor in the shape of `other`, as a view: x.view(other.shape).

    >>> minigrad.arange(6).view_as(minigrad.zeros(2, 3))
    tensor([[0, 1, 2],
            [3, 4, 5]])
    """,
    "reshape_as": """The tensor in the shape of `other`: x.reshape(other.shape).

    >>> minigrad.arange(6).reshape_as(minigrad.zeros(2, 3))
    tensor([[0, 1, 2],
            [3, 4, 5]])
    """,
    "unflatten": """One axis as several: the opposite of flatten. A view.

    sizes   a tuple whose product is the size of dim; one of them may be -1
    Raises RuntimeError if the sizes do not multiply up to that of dim.

    >>> minigrad.zeros(4, 6).unflatten(1, (2, -1)).shape
    minigrad.Size([4, 2, 3])
    """,
    "movedim": """The axes at `source` brought to the places `destination`; the others keep their order. A view.

    source, destination   axes: two numbers, or two tuples of the same length

    >>> minigrad.zeros(2, 3, 4).movedim(0, -1).shape
    minigrad.Size([3, 4, 2])
    """,
    "fliplr": """The columns in reverse order: x.flip(1). A copy, of a tensor with at least two axes.

    >>> minigrad.tensor([[1, 2], [3, 4]]).fliplr()
    tensor([[2, 1],
            [4, 3]])
    """,
    "flipud": """The rows in reverse order: x.flip(0). A copy, of a tensor with at least one axis.

    >>> minigrad.tensor([[1, 2], [3, 4]]).flipud()
    tensor([[3, 4],
            [1, 2]])
    """,
    "rot90": """The tensor after k quarter turns in the plane of two axes, from the first of dims to the second.

    A negative k turns the other way.

    >>> minigrad.tensor([[1, 2], [3, 4]]).rot90()
    tensor([[2, 4],
            [1, 3]])
    """,
    "repeat": """The whole tensor so many times along each axis, copied. (Single entries: repeat_interleave.)

    times   one number for each axis, at least as many as there are; new axes come first
    x.expand(...) repeats along axes of size 1 without copying.

    >>> minigrad.tensor([1, 2]).repeat(2, 2)
    tensor([[1, 2, 1, 2],
            [1, 2, 1, 2]])
    """,
    "repeat_interleave": """Each entry along dim repeated, next to itself; without dim, of all entries as a vector.

    repeats   a number, or a tensor of whole numbers: one for each entry along dim

    >>> x = minigrad.tensor([[1, 2], [3, 4]])
    >>> x.repeat_interleave(2)
    tensor([1, 1, 2, 2, 3, 3, 4, 4])
    >>> x.repeat_interleave(minigrad.tensor([1, 2]), dim=0)
    tensor([[1, 2],
            [3, 4],
            [3, 4]])
    """,
    "diag": """Of a vector, the matrix with it on a diagonal; of a matrix, that diagonal, copied.

    diagonal   0 is the main one, 1 the one above it, -1 the one below

    >>> minigrad.tensor([1, 2]).diag()
    tensor([[1, 0],
            [0, 2]])
    >>> minigrad.tensor([[1, 2], [3, 4]]).diag()
    tensor([1, 4])
    """,
    "diag_embed": """Matrices with the last axis of x on a diagonal and 0 elsewhere: (..., n) becomes (..., n, n).

    offset       0 is the main diagonal, 1 the one above it: the matrices are larger by abs(offset)
    dim1, dim2   where the axes of the matrices stand in the result

    >>> minigrad.tensor([[1, 2], [3, 4]]).diag_embed()
    tensor([[[1, 0],
             [0, 2]],
    <BLANKLINE>
            [[3, 0],
             [0, 4]]])
    """,
    "diagflat": """The matrix with all entries of x, whatever its shape, on a diagonal; see diag_embed for offset.

    >>> minigrad.tensor([[1], [2]]).diagflat()
    tensor([[1, 0],
            [0, 2]])
    """,
    "fill_diagonal_": """Write fill_value over the main diagonal of a matrix. Returns the tensor itself.

    With more than two axes, all of them have the same size, and x[i, i, ..., i] is written to.
    wrap=True lets the diagonal of a tall matrix begin again below, after one row that is left out.

    >>> minigrad.zeros(2, 3).fill_diagonal_(5)
    tensor([[5., 0., 0.],
            [0., 5., 0.]])
    """,
    "sum_to_size": """x summed to this size, from which it could be broadcast: the opposite of expand.

    It is what the gradient of a broadcast tensor goes through. Raises RuntimeError for other sizes.

    >>> minigrad.ones(4, 3).sum_to_size(1, 3)
    tensor([[4., 4., 4.]])
    """,
    "hsplit": """Pieces along the columns (axis 1; of a vector, axis 0), as views.

    indices_or_sections   how many equal pieces; or a tuple of the places where a new piece begins

    >>> minigrad.tensor([[1, 2], [3, 4]]).hsplit(2)
    (tensor([[1],
            [3]]), tensor([[2],
            [4]]))
    """,
    "vsplit": """Pieces along the rows (axis 0), as views, of a tensor with at least two axes.

    indices_or_sections   how many equal pieces; or a tuple of the places where a new piece begins

    >>> minigrad.tensor([[1, 2], [3, 4]]).vsplit(2)
    (tensor([[1, 2]]), tensor([[3, 4]]))
    """,
    "dsplit": """Pieces along axis 2, as views, of a tensor with at least three axes.

    indices_or_sections   how many equal pieces; or a tuple of the places where a new piece begins

    >>> [piece.shape for piece in minigrad.zeros(2, 2, 4).dsplit((1,))]
    [minigrad.Size([2, 2, 1]), minigrad.Size([2, 2, 3])]
    """,
    # ------------------------------------------------------------------ indexing
    "narrow": """The `length` entries along dim from `start` on, as a view: x[start : start + length] for dim 0.

    A negative start counts from the end. Raises RuntimeError if there are not so many entries.

    >>> minigrad.tensor([[1, 2, 3], [4, 5, 6]]).narrow(1, 0, 2)
    tensor([[1, 2],
            [4, 5]])
    """,
    "select": """The part at this index of axis dim, which goes, as a view: x[index] for dim 0, x[:, index] for dim 1.

    >>> minigrad.tensor([[1, 2, 3], [4, 5, 6]]).select(1, -1)
    tensor([3, 6])
    """,
    "unbind": """A tuple of the parts along dim, an axis that goes: x.unbind() is x[0], x[1], ...

    They are views. Where a gradient is recorded, none of them may be written to, as in PyTorch.

    >>> minigrad.tensor([[1, 2], [3, 4]]).unbind()
    (tensor([1, 2]), tensor([3, 4]))
    """,
    "split": """A tuple of pieces of size split_size along dim, as views; the last may be shorter.

    split_size   a number, or a list of sizes that sum to the size of dim

    >>> minigrad.arange(5).split(2)
    (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    >>> minigrad.arange(5).split([1, 4])
    (tensor([0]), tensor([1, 2, 3, 4]))
    """,
    "split_with_sizes": """A tuple of pieces of these sizes along dim, as views.

    split_sizes   a list of sizes that sum to the size of dim, else RuntimeError

    >>> minigrad.arange(5).split_with_sizes([1, 4])
    (tensor([0]), tensor([1, 2, 3, 4]))
    """,
    "chunk": """A tuple of at most `chunks` pieces along dim, as views: all of one size but for the last.

    There may be fewer pieces than were asked for; tensor_split gives as many.

    >>> minigrad.arange(5).chunk(3)
    (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    >>> len(minigrad.arange(5).chunk(4))
    3
    """,
    "tensor_split": """A tuple of pieces along dim, as views: so many, of nearly equal size; or cut at given places.

    indices_or_sections   a number of pieces; or a tuple of the places where a new piece begins

    >>> minigrad.arange(5).tensor_split(3)
    (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    >>> minigrad.arange(5).tensor_split((1, 4))
    (tensor([0]), tensor([1, 2, 3]), tensor([4]))
    """,
    "masked_select": """A vector of the entries where the mask is True, copied: x[mask], and mask and x are broadcast.

    The mask has dtype bool, else RuntimeError. The gradient is 0 where it is False.

    >>> x = minigrad.tensor([[1, 2], [3, 4]])
    >>> x.masked_select(x > 1)
    tensor([2, 3, 4])
    """,
    "take": """The entries at these places of x, seen as a vector. The result has the shape of index.

    index   whole numbers (int64); negative ones count from the end

    >>> minigrad.tensor([[10, 20], [30, 40]]).take(minigrad.tensor([0, -1]))
    tensor([10, 40])
    """,
    "take_along_dim": """The entries at these places along dim, as gather, but x and indices are broadcast.

    indices   whole numbers, with as many axes as x; what argsort and argmax(keepdim=True) give
    Without dim, both are seen as vectors.

    >>> x = minigrad.tensor([[3, 1, 2], [4, 6, 5]])
    >>> x.take_along_dim(x.argmax(1, keepdim=True), dim=1)
    tensor([[3],
            [6]])
    """,
    "scatter_reduce": """x with the entries of src combined at the places that index names along dim.

    index, src     as in scatter; several entries may go to one place
    reduce         "sum", "prod", "mean", "amax" or "amin"
    include_self   does the entry of x that stands there count as well?

    >>> x, index = minigrad.zeros(2), minigrad.tensor([0, 1, 0])
    >>> x.scatter_reduce(0, index, minigrad.tensor([1.0, 2.0, 5.0]), "mean", include_self=False)
    tensor([3., 2.])
    """,
    "index_add": """x with alpha * source added to the parts of x that index names along dim.

    index    a vector of whole numbers; a place that it names twice is added to twice
    source   of x's type and shape, but its size along dim is the length of index

    >>> x = minigrad.zeros(3, 2)
    >>> x.index_add(0, minigrad.tensor([0, 2, 0]), minigrad.ones(3, 2))
    tensor([[2., 2.],
            [0., 0.],
            [1., 1.]])
    """,
    "index_copy": """x with source in place of the parts of x that index names along dim.

    index    a vector of whole numbers
    source   of x's type and shape, but its size along dim is the length of index

    >>> minigrad.zeros(3, 2).index_copy(0, minigrad.tensor([2]), minigrad.ones(1, 2))
    tensor([[0., 0.],
            [0., 0.],
            [1., 1.]])
    """,
    "index_fill": """x with this value in the parts of x that index names along dim.

    index   a vector of whole numbers
    value   a number, or a tensor with no axes

    >>> minigrad.zeros(2, 3).index_fill(1, minigrad.tensor([0, 2]), 7)
    tensor([[7., 0., 7.],
            [7., 0., 7.]])
    """,
    "masked_scatter": """x where the entries at True of the mask are those of source, in order.

    mask     of dtype bool, broadcast with x
    source   of x's type, with at least as many entries as the mask has True, else RuntimeError

    >>> mask = minigrad.tensor([True, False, True])
    >>> minigrad.zeros(3).masked_scatter(mask, minigrad.tensor([1.0, 2.0, 3.0]))
    tensor([1., 0., 2.])
    """,
    "select_scatter": """x with src in place of x.select(dim, index).

    >>> minigrad.zeros(2, 2).select_scatter(minigrad.tensor([1.0, 2.0]), 0, 1)
    tensor([[0., 0.],
            [1., 2.]])
    """,
    "slice_scatter": """x with src in place of the part start:end:step along dim.

    >>> minigrad.zeros(4).slice_scatter(minigrad.ones(2), start=1, end=3)
    tensor([0., 1., 1., 0.])
    """,
    "diagonal_scatter": """x with src in place of x.diagonal(offset, dim1, dim2).

    >>> minigrad.zeros(2, 2).diagonal_scatter(minigrad.tensor([1.0, 2.0]))
    tensor([[1., 0.],
            [0., 2.]])
    """,
    "put": """x with source at these places of x, seen as a vector.

    index        whole numbers (int64); negative ones count from the end
    source       of x's type, with as many entries as index
    accumulate   add to what stands there, instead of replacing it

    >>> minigrad.zeros(2, 2).put(minigrad.tensor([0, -1]), minigrad.tensor([5.0, 6.0]))
    tensor([[5., 0.],
            [0., 6.]])
    """,
    # ------------------------------------------------------------------ reductions
    "var_mean": """(variance, mean) of all entries, or along dim, an axis or a tuple of axes.

    correction   the divisor is the number of entries minus this: 1 unless given; unbiased=False means 0
    keepdim      keep the axes, with size 1

    >>> minigrad.tensor([1.0, 2.0, 3.0]).var_mean()
    (tensor(1.), tensor(2.))
    """,
    "std_mean": """(standard deviation, mean) of all entries, or along dim, an axis or a tuple of axes.

    correction   the divisor is the number of entries minus this: 1 unless given; unbiased=False means 0
    keepdim      keep the axes, with size 1

    >>> minigrad.tensor([1.0, 2.0, 3.0]).std_mean()
    (tensor(1.), tensor(2.))
    """,
    "renorm": """The parts of x along dim, scaled down to the p-norm maxnorm where theirs is greater.

    x has at least two axes. With dim=0 the rows of a matrix are kept from getting too long.

    >>> minigrad.tensor([[3.0, 4.0], [0.5, 0.0]]).renorm(2, 0, 1)
    tensor([[0.6000, 0.8000],
            [0.5000, 0.0000]])
    """,
    "cummax": """(values, indices): the greatest entry so far along dim, and the last place where it stood.

    The gradient goes to the entries at indices. From a NaN on, all values are NaN.

    >>> values, indices = minigrad.tensor([1, 3, 2, 5]).cummax(0)
    >>> values
    tensor([1, 3, 3, 5])
    >>> indices
    tensor([0, 1, 1, 3])
    """,
    "cummin": """(values, indices): the least entry so far along dim, and the last place where it stood.

    The gradient goes to the entries at indices. From a NaN on, all values are NaN.

    >>> values, indices = minigrad.tensor([4, 2, 3, 1]).cummin(0)
    >>> values
    tensor([4, 2, 2, 1])
    """,
    "sort": """(values, indices): the entries along dim in order, and the places where they stood.

    descending   the greatest first; NaN counts as the greatest
    The sort is stable, with or without stable=True: equal entries keep their order.

    >>> values, indices = minigrad.tensor([3, 1, 2]).sort()
    >>> values
    tensor([1, 2, 3])
    >>> indices
    tensor([1, 2, 0])
    """,
    "argsort": """The places of the entries along dim, in the order of their values: x.sort(dim).indices.

    >>> minigrad.tensor([3, 1, 2]).argsort()
    tensor([1, 2, 0])
    """,
    "msort": """The entries in order along the first axis: x.sort(0).values.

    >>> minigrad.tensor([[3, 1], [2, 4]]).msort()
    tensor([[2, 1],
            [3, 4]])
    """,
    "topk": """(values, indices) of the k greatest entries along dim, the greatest first.

    largest   False: the k least, the least first
    sorted    accepted; the values are in order in any case
    Raises RuntimeError if k is greater than the size of dim.

    >>> values, indices = minigrad.tensor([3.0, 1.0, 4.0, 2.0]).topk(2)
    >>> values
    tensor([4., 3.])
    >>> indices
    tensor([2, 0])
    """,
    "kthvalue": """(values, indices) of the k-th least entry along dim, counted from 1.

    >>> values, indices = minigrad.tensor([3.0, 1.0, 2.0]).kthvalue(2)
    >>> values
    tensor(2.)
    >>> indices
    tensor(2)
    """,
    "nanmedian": """The median of the entries that are not NaN; with dim, (values, indices) along it.

    Of an even number of entries it is the lower one of the two in the middle.

    >>> minigrad.tensor([3.0, float("nan"), 1.0, 2.0]).nanmedian()
    tensor(2.)
    """,
    "mode": """(values, indices): the most frequent entry along dim, the least of several, and its last place.

    >>> values, indices = minigrad.tensor([2, 1, 2, 3]).mode()
    >>> values
    tensor(2)
    >>> indices
    tensor(2)
    """,
    "quantile": """The value below which the part q of the entries lies: of all entries, or along dim.

    q               a number from 0 to 1, or a vector of them, which becomes the first axis of the result
    interpolation   between two entries: "linear", "lower", "higher", "midpoint" or "nearest"
    The quantile of entries with a NaN among them is NaN; nanquantile leaves NaNs out.

    >>> x = minigrad.tensor([0.0, 1.0, 2.0, 3.0])
    >>> x.quantile(0.5)
    tensor(1.5000)
    >>> x.quantile(minigrad.tensor([0.0, 1.0]))
    tensor([0., 3.])
    """,
    "nanquantile": """quantile of the entries that are not NaN: of all, or along dim.

    >>> minigrad.tensor([0.0, float("nan"), 2.0]).nanquantile(0.5)
    tensor(1.)
    """,
    "aminmax": """(min, max) of all entries, or along dim; keepdim keeps that axis, with size 1.

    >>> low, high = minigrad.tensor([3.0, 1.0, 2.0]).aminmax()
    >>> low, high
    (tensor(1.), tensor(3.))
    """,
    "count_nonzero": """How many entries are not 0: of all, or along dim, an axis or a tuple of axes. NaN counts.

    >>> minigrad.tensor([[0, 1], [2, 3]]).count_nonzero(0)
    tensor([1, 2])
    """,
    "nansum": """The sum of the entries that are not NaN: of all, or along dim, an axis or a tuple of axes.

    The gradient of a NaN is 0.

    >>> minigrad.tensor([1.0, float("nan"), 2.0]).nansum()
    tensor(3.)
    """,
    "nanmean": """The mean of the entries that are not NaN: of all, or along dim, an axis or a tuple of axes.

    It is NaN where there are none. The gradient of a NaN is 0.

    >>> minigrad.tensor([1.0, float("nan"), 2.0]).nanmean()
    tensor(1.5000)
    """,
    "dist": """The p-norm of x - other, which are broadcast: a single number.

    >>> minigrad.tensor([0.0, 0.0]).dist(minigrad.tensor([3.0, 4.0]))
    tensor(5.)
    """,
    "cov": """The covariance matrix of the rows of x: (variables, observations) gives (variables, variables).

    correction   the divisor is the number of observations minus this
    fweights     how often each observation was made: whole numbers
    aweights     how much each observation counts: real numbers

    >>> minigrad.tensor([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]).cov()
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """,
    "corrcoef": """The matrix of the correlations between the rows of x, (variables, observations): from -1 to 1.

    >>> minigrad.tensor([[0.0, 2.0], [2.0, 0.0]]).corrcoef().round()
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """,
    "diff": """The differences of neighbors along dim: x[1:] - x[:-1] for dim 0. It is shorter by 1.

    n                 take differences of differences, n times
    prepend, append   tensors that are put before and after x along dim

    >>> minigrad.tensor([1, 4, 9, 16]).diff()
    tensor([3, 5, 7])
    """,
    "nonzero": """The indices of the entries that are not 0: one row for each, with one column for each axis.

    as_tuple   one vector of indices for each axis instead, so that x[x.nonzero(as_tuple=True)] are the entries

    >>> x = minigrad.tensor([[0, 5], [6, 0]])
    >>> x.nonzero()
    tensor([[0, 1],
            [1, 0]])
    >>> x[x.nonzero(as_tuple=True)]
    tensor([5, 6])
    """,
    "argwhere": """The indices of the entries that are not 0: one row for each, as x.nonzero() gives them.

    >>> minigrad.tensor([[0, 5], [6, 0]]).argwhere()
    tensor([[0, 1],
            [1, 0]])
    """,
    "unique": """Each value once, in order; with dim, each part along it once.

    return_inverse   also, where each entry of x stands among them
    return_counts    also, how often each occurs
    sorted           accepted; the values are in order in any case

    >>> values, counts = minigrad.tensor([3, 1, 3]).unique(return_counts=True)
    >>> values
    tensor([1, 3])
    >>> counts
    tensor([1, 2])
    """,
    "unique_consecutive": """Each run of equal entries as one; with dim, each run of equal parts along it.

    return_inverse   also, to which run each entry of x belongs
    return_counts    also, how long each run is

    >>> minigrad.tensor([1, 1, 2, 1]).unique_consecutive()
    tensor([1, 2, 1])
    """,
    "bincount": """How often 0, 1, 2, ... occur in x, a vector of whole numbers that are not negative.

    weights     the sum of the weights of the entries instead of their number
    minlength   the least length of the result

    >>> minigrad.tensor([0, 2, 2]).bincount()
    tensor([1, 0, 2])
    """,
    "histc": """How many entries fall into each of `bins` equal parts of the range from min to max.

    With min = max = 0, the range is that of x. What lies outside is not counted. The counts are of x's type.

    >>> minigrad.tensor([1.0, 2.0, 2.5, 4.0]).histc(bins=2, min=0, max=4)
    tensor([1., 3.])
    """,
    "histogram": """(hist, bin_edges): how many entries fall into each bin, and where the bins begin and end.

    bins      a number of equal bins, or a tensor of edges
    range     (least, greatest) edge, if bins is a number; that of x unless given
    weight    the sum of these instead of the number of entries
    density   divide, so that the area is 1

    >>> hist, edges = minigrad.tensor([1.0, 2.0, 2.5, 4.0]).histogram(2, range=(0, 4))
    >>> hist, edges
    (tensor([1., 3.]), tensor([0., 2., 4.]))
    """,
    "bucketize": """For each entry, how many boundaries lie below it: the number of its bucket.

    boundaries   a vector, in order
    right        an entry that equals a boundary belongs to the bucket above it
    out_int32    the numbers as int32

    >>> minigrad.tensor([0.5, 2.0, 9.0]).bucketize(minigrad.tensor([1.0, 2.0, 3.0]))
    tensor([0, 1, 3])
    """,
    "isin": """True where an entry of x is one of test_elements.

    invert          True where it is none of them
    assume_unique   neither has an entry twice, which is quicker

    >>> minigrad.tensor([1, 2, 3]).isin(minigrad.tensor([2, 5]))
    tensor([False,  True, False])
    """,
    # ------------------------------------------------------------------ products
    "outer": """The matrix of all products of an entry of x and one of vec2: (n,) and (m,) give (n, m).

    >>> minigrad.tensor([1, 2]).outer(minigrad.tensor([10, 20, 30]))
    tensor([[10, 20, 30],
            [20, 40, 60]])
    """,
    "inner": """The sum of products over the last axis of both: (..., n) and (---, n) give (..., ---).

    Of vectors, the dot product. A single number is multiplied with each entry.

    >>> minigrad.tensor([[1, 2], [3, 4]]).inner(minigrad.tensor([10, 1]))
    tensor([12, 34])
    """,
    "tensordot": """The sum of products over pairs of axes, the rest of x's axes first, then the rest of other's.

    dims   how many: the last axes of x with the first ones of other; or two lists of axes, paired in order
    dims=1 is the product of matrices, dims=0 that of all entries with all.

    >>> x, y = minigrad.ones(2, 3, 4), minigrad.ones(4, 3, 5)
    >>> x.tensordot(y, dims=([1, 2], [1, 0])).shape
    minigrad.Size([2, 5])
    """,
    "vdot": """The dot product of two vectors of the same length; of real numbers, x.dot(other).

    >>> minigrad.tensor([1, 2]).vdot(minigrad.tensor([3, 4]))
    tensor(11)
    """,
    "cross": """The cross product of the vectors along dim, which has size 3: at right angles to both.

    Without dim, it is the first axis of size 3. The other axes are broadcast.

    >>> minigrad.tensor([1, 0, 0]).cross(minigrad.tensor([0, 1, 0]))
    tensor([0, 0, 1])
    """,
    "kron": """Kronecker's product: each entry of x times the whole of other, side by side.

    The sizes multiply: (n, m) and (k, l) give (n * k, m * l).

    >>> minigrad.tensor([[1, 2]]).kron(minigrad.tensor([[1, 1], [0, 1]]))
    tensor([[1, 1, 2, 2],
            [0, 1, 0, 2]])
    """,
    "slogdet": """(sign, logabsdet): the sign of the determinant, and the logarithm of its absolute value.

    x is a square matrix, or a batch of them: (..., n, n). It is finite where det() would overflow.

    >>> sign, logabsdet = minigrad.tensor([[0.0, 1.0], [1.0, 0.0]]).slogdet()
    >>> sign, logabsdet
    (tensor(-1.), tensor(0.))
    """,
    "logdet": """The logarithm of the determinant of a square matrix, or of a batch of them; NaN if that is negative.

    >>> minigrad.tensor([[1.0, 5.0], [0.0, 1.0]]).logdet()
    tensor(0.)
    """,
    "matrix_power": """x @ x @ ... @ x, n times, of a square matrix or a batch of them: (..., n, n).

    n = 0 gives the identity; a negative n the power of the inverse.

    >>> minigrad.tensor([[1.0, 1.0], [0.0, 1.0]]).matrix_power(5)
    tensor([[1., 5.],
            [0., 1.]])
    """,
    "addbmm": """beta * x + alpha * (the sum over the batch of batch1 @ batch2).

    batch1   (b, n, k)      batch2   (b, k, m)      x   broadcast to (n, m)
    With beta=0, x does not count, even if it is NaN.

    >>> minigrad.zeros(2, 2).addbmm(minigrad.ones(3, 2, 4), minigrad.ones(3, 4, 2))
    tensor([[12., 12.],
            [12., 12.]])
    """,
    "addr": """beta * x + alpha * vec1.outer(vec2), for x broadcast to (n, m).

    >>> minigrad.ones(2, 2).addr(minigrad.tensor([1.0, 2.0]), minigrad.tensor([1.0, 3.0]))
    tensor([[2., 4.],
            [3., 7.]])
    """,
    "svd": """(U, S, V), the singular value decomposition: x = U @ S.diag() @ V.T, with S in descending order.

    some         False: U and V are square
    compute_uv   False: S alone, and zeros for U and V
    linalg.svd gives V transposed.

    >>> U, S, V = minigrad.tensor([[0.0, 2.0], [3.0, 0.0]]).svd()
    >>> S.round()
    tensor([3., 2.])
    """,
    "pinverse": """The pseudoinverse (Moore and Penrose) of a matrix or a batch of them: (..., n, m) gives (..., m, n).

    Of an invertible matrix it is the inverse. Singular values below rcond times the greatest count as 0.

    >>> minigrad.tensor([[3.0], [4.0]]).pinverse()
    tensor([[0.1200, 0.1600]])
    """,
    "matrix_exp": """The exponential of a square matrix, or of a batch of them: 1 + x + x @ x / 2! + ...

    It is not x.exp(), which takes each entry by itself.

    >>> minigrad.tensor([[0.0, 1.0], [0.0, 0.0]]).matrix_exp()
    tensor([[1., 1.],
            [0., 1.]])
    """,
}

DOCS = {name: text.replace("\n    ", "\n").strip() for name, text in DOCS.items()}  # without the margin
