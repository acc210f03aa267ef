"""The table of operations, in chapters, in reading order.

Every name in here is an `Op`: a forward function with one rule per input. The chapters
are plain NumPy; none of them knows what a Tensor is.
"""

from minigrad.ops.convolution import *
from minigrad.ops.elementwise import *
from minigrad.ops.gamma import *
from minigrad.ops.indexing import *
from minigrad.ops.layout import *
from minigrad.ops.losses import *
from minigrad.ops.matrices import *
from minigrad.ops.neural import *
from minigrad.ops.products import *
from minigrad.ops.recurrent import *
from minigrad.ops.reductions import *
from minigrad.ops.special import *
from minigrad.ops.steps import *
