"""A process gives up what decoding never needs: the network, writing, other processes.

Linux refuses the system calls listed here, in every thread, from then on; reading files, memory,
threads and what was opened before stay.  Elsewhere nothing is done.
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys

# Name, number on x86-64, number on AArch64 ("-" where there is none).
REFUSED = """
socket 41 198, socketpair 53 199, connect 42 203, bind 49 200, listen 50 201, accept 43 202,
accept4 288 242, sendto 44 206, sendmsg 46 211, sendmmsg 307 269,
creat 85 -, truncate 76 45, rename 82 -, renameat 264 38, renameat2 316 276, unlink 87 -,
unlinkat 263 35, mkdir 83 -, mkdirat 258 34, rmdir 84 -, link 86 -, linkat 265 37, symlink 88 -,
symlinkat 266 36, mknod 133 -, mknodat 259 33, chmod 90 -, fchmod 91 52, fchmodat 268 53,
fchmodat2 452 452, chown 92 -, fchown 93 55, lchown 94 -, fchownat 260 54, utime 132 -,
utimes 235 -, futimesat 261 -, utimensat 280 88, setxattr 188 5, lsetxattr 189 6, fsetxattr 190 7,
removexattr 197 14, lremovexattr 198 15, fremovexattr 199 16, setxattrat 463 463,
removexattrat 466 466, open_by_handle_at 304 265,
fork 57 -, vfork 58 -, execve 59 221, execveat 322 281, ptrace 101 117, tkill 200 130,
rt_sigqueueinfo 129 138, rt_tgsigqueueinfo 297 240, pidfd_open 434 434, pidfd_getfd 438 438,
pidfd_send_signal 424 424, process_vm_readv 310 270, process_vm_writev 311 271,
io_uring_setup 425 425, io_uring_enter 426 426, io_uring_register 427 427,
mount 165 40, umount2 166 39, move_mount 429 429, fsopen 430 430, fsconfig 431 431, fsmount 432 432,
fspick 433 433, open_tree 428 428, mount_setattr 442 442, pivot_root 155 41, chroot 161 51,
unshare 272 97, setns 308 268, swapon 167 224, swapoff 168 225, reboot 169 142,
init_module 175 105, finit_module 313 273, delete_module 176 106, kexec_load 246 104,
kexec_file_load 320 294, bpf 321 280, perf_event_open 298 241, userfaultfd 323 282,
add_key 248 217, request_key 249 218, keyctl 250 219
"""
# These would hide their flags from us; "there is none" makes the C library take the older call.
UNKNOWN = "openat2 437 437, clone3 435 435"
# What the argument of this position may not have (0 for a new process: it lacks the flag of a
# thread), and calls that may concern this process only.
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
OPENING = (("open 2 -", 1), ("openat 257 56", 2))
CLONING = "clone 56 220"
CLONE_THREAD = 0x10000
OWN = "kill 62 129, tgkill 234 131"
LIMITS = "prlimit64 302 261"
SECCOMP = "seccomp 317 277"

MACHINES = {"x86_64": (1, 0xC000003E), "aarch64": (2, 0xC00000B7)}
"""Column of the numbers above, and how the kernel names the machine."""

_ALLOW, _REFUSE, _NONE = 0x7FFF0000, 0x00050001, 0x00050026  # the latter two give EPERM, ENOSYS
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _MACHINE, _ARGUMENTS = 0, 4, 16  # where these stand in what the kernel hands in
_NO_NEW_PRIVILEGES, _SET_FILTER, _ALL_THREADS = 38, 1, 1


class _Step(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_uint16),
        ("yes", ctypes.c_uint8),
        ("no", ctypes.c_uint8),
        ("value", ctypes.c_uint32),
    )


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.POINTER(_Step)))


def is_possible() -> bool:
    """Whether this system can confine a process in the way that is done here."""
    return (
        sys.platform == "linux"
        and platform.machine() in MACHINES
        and sys.maxsize > 1 << 32
        and os.path.exists("/proc/sys/kernel/seccomp")
    )


def confine() -> bool:
    """Give up the network, writing and other processes for good; false where that cannot be."""
    if not is_possible():
        return False
    steps = _steps(platform.machine())
    program = _Program(len(steps), (_Step * len(steps))(*(_Step(*step) for step in steps)))
    libc = ctypes.CDLL(None, use_errno=True)
    (call,) = _numbers(SECCOMP, platform.machine())
    libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    return bool(libc.syscall(call, _SET_FILTER, _ALL_THREADS, ctypes.byref(program)) == 0)


def _numbers(calls: str, machine: str) -> list[int]:
    found = (call.split()[MACHINES[machine][0]] for call in calls.split(","))
    return [int(number) for number in found if number != "-"]


def _steps(machine: str) -> list[tuple[int, int, int, int]]:
    """The filter: one small block a call; a test that does not concern the call jumps past it."""
    refuse, allow = (_RETURN, 0, 0, _REFUSE), (_RETURN, 0, 0, _ALLOW)
    steps = [
        (_LOAD, 0, 0, _MACHINE),
        (_EQUAL, 1, 0, MACHINES[machine][1]),
        refuse,
        (_LOAD, 0, 0, _NUMBER),
        (_AT_LEAST, 0, 1, 1 << 30),  # the numbers of another way to call the same kernel
        refuse,
    ]
    for number in _numbers(REFUSED, machine):
        steps += [(_EQUAL, 0, 1, number), refuse]
    for number in _numbers(UNKNOWN, machine):
        steps += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _NONE)]
    checked = [(calls, place, (_ANY_BIT, 0, 1, WRITING)) for calls, place in OPENING]
    checked += [(CLONING, 0, (_ANY_BIT, 1, 0, CLONE_THREAD))]
    checked += [(OWN, 0, (_EQUAL, 1, 0, os.getpid())), (LIMITS, 0, (_EQUAL, 1, 0, 0))]
    for calls, place, test in checked:
        for number in _numbers(calls, machine):
            argument = (_LOAD, 0, 0, _ARGUMENTS + 8 * place)
            steps += [(_EQUAL, 0, 4, number), argument, test, refuse, allow]
    return [*steps, allow]
