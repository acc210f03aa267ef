"""The table of operations, one chapter per module.

Every op is a forward function with one derivative rule per input. The chapters
are plain NumPy and do not use Tensor.
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
