"""The compact encoding of long segments: frame of reference per 64 ticks, bit-packed, decodable in plain SQL.

    0  flags: 1 values are differences, 2 a presence bitmap follows, 4 constant (nothing follows the bitmap),
       8 exceptions follow the bases; 128 alone: little-endian float64 values follow, and nothing of the below
    1  scale: a value is integer / 10**scale
    2  shift: integers are multiples of 2**shift
    3  base_width: bits of a block base
    4  base: signed 64-bit big-endian, the smallest block base (the value itself where constant)
    12 first: signed 64-bit big-endian, the first value; only with flag 1
       presence bitmap, one bit a tick, highest bit first; only with flag 2
       width of each block of 64 ticks, one byte
       base of each block minus `base`, base_width bits each, padded to a byte
       exceptions, only with flag 8: how many each block has, one byte a block; the bits of an exception, one byte;
       the position of each in its block, one byte; what each adds to the value there, packed and padded to a byte
       blocks: 64 values minus their base, `width` bits each; the last block is padded to 64

Missing ticks repeat their predecessor, so that they cost nothing but their bit. Exceptions (patched frame of
reference: Zukowski et al., ICDE 2006) keep a rare spike from widening the 63 values around it.
"""

from __future__ import annotations

import struct

import numpy as np

BLOCK = 64
DIFFERENCES, PRESENCE, CONSTANT, EXCEPTIONS = 1, 2, 4, 8
RAW = 128
HEADER = struct.Struct(">BBBBq")
FIRST = struct.Struct(">q")
POWERS = np.array([10.0**k for k in range(10)])
