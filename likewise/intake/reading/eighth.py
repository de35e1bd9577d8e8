"""A JPEG at an eighth of its size, from the mean of each of its blocks.

A block of 8 x 8 pixels begins with its mean.  The rest is stepped over, several codes per look
into a table, in about half the time that a decoder for all scales takes to read them.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import Any

import cv2
import numba
import numpy as np
from numpy.typing import NDArray

LOOK = 11
"""Bits of a look into the table of several codes: it stays in the nearest cache."""
BEYOND = 512
"""More bytes than one block can take: no need to ask for the end at each code."""
OTHER = (0xC2, 0xC3, *range(0xC5, 0xDA))
"""Markers of other kinds of JPEG, and those that have no place before the codes."""
Word = np.uint64


def eighth(data: bytes) -> NDArray[np.uint8] | None:
    """RGB of a baseline JPEG; None where it is of another kind, or damaged."""
    try:
        return _pixels(data)
    except Exception:  # whatever it is, a decoder of all kinds meets it too, and tells
        return None


def _pixels(data: bytes) -> NDArray[np.uint8] | None:
    frame, scan, units, (first, single, many), restart, at = _segments(data)
    height, width, count = struct.unpack(">HHB", frame[1:6])
    parts = [frame[place : place + 3] for place in range(6, 6 + 3 * count, 3)]
    ids = bytes(part[0] for part in parts)
    sides = [(part[1] >> 4, part[1] & 15) for part in parts]
    which = np.array([(byte >> 4, byte & 15) for byte in scan[2 : 2 + 2 * count : 2]])
    across, down = (max(side) for side in zip(*sides))
    usual = frame[0] == 8 and scan[0] == count and ids == scan[1 : 1 + 2 * count : 2]
    if count == 1:
        sides, across, down = [(1, 1)], 1, 1
    if not usual or count not in (1, 3) or ids == b"RGB" or sides[0] != (across, down):
        return None
    if not (width and height and min(map(min, sides)) and which.max() < 2):
        return None
    wide, high = -(-width // (8 * across)), -(-height // (8 * down))
    means = np.zeros((count, high * down, wide * across), np.int16)
    size, read = np.array([(wide, high), *sides]), np.frombuffer(data, np.uint8)
    if not _read(read, at, restart, size, which, first, single, many, means):
        return None
    planes = []
    for mean, part, (x, y) in zip(means, parts, sides):
        plane = mean[: high * y, : wide * x].astype(np.int32) * units[part[2]] + 1028 >> 3
        whole = (wide * across, high * down)
        planes.append(cv2.resize(plane.clip(0, 255).astype(np.uint8), whole))
    how = cv2.COLOR_YCrCb2RGB if count == 3 else cv2.COLOR_GRAY2RGB
    rgb = cv2.cvtColor(cv2.merge([planes[at] for at in (0, 2, 1)[:count]]), how)
    return np.ascontiguousarray(rgb[: -(-height // 8), : -(-width // 8)], np.uint8)


def _segments(data: bytes) -> tuple[bytes, bytes, dict[int, int], Any, int, int]:
    """Frame, scan, the mean's unit in each table, codes, restart interval, where codes begin."""
    at, frame, restart = 2, b"", 0
    units, codes = dict[int, int](), dict[int, bytes]()
    while True:
        mark, kind, size = struct.unpack(">BBH", data[at : at + 4])
        body, at = data[at + 4 : at + 2 + size], at + 2 + size
        if kind == 0xDB:
            while body:
                long = body[0] >> 4
                units[body[0] & 15] = int.from_bytes(body[1 : 2 + long])
                body = body[65 + 64 * long :]
        elif kind == 0xC4:
            while body:
                end = 17 + sum(body[1:17])
                codes[body[0]], body = body[1:end], body[end:]
        elif kind in (0xC0, 0xC1):
            frame = body
        elif kind == 0xDD:
            restart = int.from_bytes(body)
        elif kind == 0xDA and at < len(data):
            first = np.stack([_codes(codes.get(n, bytes(16))) for n in (0, 1)])
            steps = [_steps(codes.get(16 + n, bytes(16))) for n in (0, 1)]
            single, many = (np.stack([step[n] for step in steps]) for n in (0, 1))
            return frame, body, units, (first, single, many), restart, at
        if mark != 255 or kind in OTHER or at > len(data):
            raise ValueError


@lru_cache(8)
def _codes(table: bytes) -> NDArray[np.uint32]:
    """For every 16 bits: how many the code takes that they begin with | 256 x what it says."""
    out, code, at = np.zeros(1 << 16, np.uint32), 0, 16
    for length in range(1, 17):
        for value in table[at : at + table[length - 1]]:
            out[code : code + (1 << 16 - length)] = length | value << 8
            code += 1 << 16 - length
        at += table[length - 1]
    if code > 1 << 16:
        raise ValueError
    return out


@lru_cache(8)
def _steps(table: bytes) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """What to step over: bits | 256 x coefficients | 65536 at the end of a block; 0: no such code.

    For the one code that 16 bits begin with, and for as many as :data:`LOOK` bits hold.
    """
    codes = _codes(table)
    length, value = codes & 255, codes >> 8
    size, step = value & 15, ((value >> 4) + 1) << 8
    known = (length > 0) & (size <= 10) & ((size > 0) | (value == 0) | (value == 0xF0))
    single = np.where(known, np.where(value == 0, length | 1 << 16, (length + size) | step), 0)
    many, bits = np.zeros(1 << LOOK, np.uint32), np.arange(1 << LOOK)
    on = np.ones(1 << LOOK, bool)
    while on.any():
        taken = many & 255
        place = (bits << np.minimum(taken, LOOK) & (1 << LOOK) - 1) << 16 - LOOK
        on &= known[place] & (taken + length[place] <= LOOK) & (many < 48 << 8)
        many = np.where(on, many + single[place], many)
    return single.astype(np.uint32), many.astype(np.uint32)


@numba.njit(
    "boolean(Array(u1, 1, 'C', readonly=True), i8, i8, i8[:,::1], i8[:,::1],"
    " u4[:,::1], u4[:,::1], u4[:,::1], i2[:,:,::1])",
    cache=True,
)
def _read(
    data: Any, at: int, restart: int, size: Any, which: Any, first: Any, single: Any, many: Any,
    means: Any,
) -> Any:  # fmt: skip
    """Fill in the mean of every block; false where the codes are damaged or cut."""
    codes, end = np.empty(len(data) - at + BEYOND, np.uint8), 0
    while at < len(data):  # an 0 behind 255 says that it is no marker
        codes[end] = data[at]
        end += 1
        at += 2 if data[at] == 255 and at + 1 < len(data) and data[at + 1] == 0 else 1
    codes[end : end + BEYOND] = 0
    (wide, high), left, before = size[0], restart, np.zeros(len(which), np.int32)
    # The next bits, how many of them are in the word, and the byte behind them.
    word, held, place = Word(0), Word(0), Word(0)
    for row in range(high):
        for column in range(wide):
            if restart and left == 0:
                place -= held >> Word(3)
                if codes[place] != 255 or codes[place + Word(1)] >> 3 != 0xD0 >> 3:
                    return False
                word, held, place, left = Word(0), Word(0), place + Word(2), restart
                before[:] = 0
            left -= 1
            for part in range(len(which)):
                coded, table = which[part]
                across, down = size[part + 1]
                for block in range(across * down):
                    if place > end + 8:
                        return False
                    start, done = True, Word(0)
                    while done < Word(63):
                        new = Word(0)
                        for byte in range(8):
                            new = new << Word(8) | Word(codes[place + Word(byte)])
                        word |= new >> held
                        place += (Word(63) - held) >> Word(3)
                        held |= Word(56)
                        if start:
                            start = False
                            code = first[coded, word >> Word(48)]
                            length, more = Word(code & 255), Word(code >> 8)
                            if code == 0 or more > 11:
                                return False
                            word <<= length
                            if more:
                                change = np.int32(word >> (Word(64) - more))
                                half = np.int32(1) << np.int32(more - Word(1))
                                before[part] += change if change >= half else change - 2 * half + 1
                                word <<= more
                            held -= length + more
                            y, x = row * down + block // across, column * across + block % across
                            means[part, y, x] = before[part]
                        # Of the 56 bits a step takes 26 at most, and a mean 27.
                        step = many[table, word >> Word(64 - LOOK)]
                        if step == 0 or done + Word(step >> 8 & 255) >= Word(63):
                            step = single[table, word >> Word(48)]
                            if step == 0:
                                return False
                        word <<= Word(step & 255)
                        held -= Word(step & 255)
                        done += Word(step >> 8)  # far beyond 63 at the end of a block
    return True
