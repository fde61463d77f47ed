"""What a process that decodes a file may do: read what it was given, compute, and answer. Nothing can be taken back.

Landlock leaves it the files that it was given and those of Python, seccomp neither other programs nor sockets. Both are
Linux; a system without them leaves the limits alone.
"""

import ctypes
import os
import platform
import resource
import signal
import struct
import sys
from collections.abc import Iterable
from pathlib import Path

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446  # the same numbers on every architecture
ASK_VERSION = 1
PATH_BENEATH = 1
READ_FILE, READ_FOLDER, WRITE_FILE, EXECUTE = 1 << 2, 1 << 3, 1 << 1, 1 << 0
FILE_RIGHTS = (13, 13, 14, 15, 15, 16, 16)  # how many rights of files each version of Landlock knows
PR_SET_PDEATHSIG, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, SECCOMP_MODE_FILTER = 1, 22, 38, 2
CLONE_THREAD = 0x10000
EPERM, ENOSYS = 1, 38
MOST_DESCRIPTORS = 256

# Architecture as seccomp names it, and the numbers of clone and of what is refused: programs, sockets, other processes,
# keys, mounts, and doors into the kernel that no decoder needs.
CALLS = {
    "x86_64": (
        0xC000003E,
        56,
        (41, 42, 49, 50, 57, 58, 59, 62, 101, 165, 248, 249, 250, 272, 298, 304, 308, 310, 311, 321, 322, 323),
    ),
    "aarch64": (
        0xC00000B7,
        220,
        (40, 97, 117, 129, 198, 200, 201, 203, 217, 218, 219, 221, 241, 265, 268, 270, 271, 280, 281, 282),
    ),
}
REFUSED_EVERYWHERE = (425, 434, 438)  # io_uring_setup, pidfd_open, pidfd_getfd
CLONE3 = 435
X32 = 0x40000000  # a second set of calls on x86_64

_libc = ctypes.CDLL(None, use_errno=True)


def limit(memory_bytes: int, file_bytes: int) -> None:
    """Bound the memory that this process may still take, how long a file it may write, and how many it may open."""
    if sys.platform == "linux":
        most_data = _held_bytes() + memory_bytes
        resource.setrlimit(resource.RLIMIT_DATA, (most_data, most_data))
    for kind, most in (
        (resource.RLIMIT_FSIZE, file_bytes),
        (resource.RLIMIT_NOFILE, MOST_DESCRIPTORS),
        (resource.RLIMIT_CORE, 0),
    ):
        hard = resource.getrlimit(kind)[1]
        least = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (least, least))


def die_with_parent() -> None:
    if sys.platform == "linux":
        _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def landlock_version() -> int:
    """What the kernel has of Landlock, 0 if nothing."""
    return max(0, _libc.syscall(CREATE_RULESET, None, ctypes.c_size_t(0), ASK_VERSION)) if _is_linux() else 0


def shut_in(readable: Iterable[Path]) -> None:
    """Leave this process these files and folders to read, and no other program to run; as far as the system can."""
    if not _is_linux():
        return
    _libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    version = landlock_version()
    if version:
        _restrict_files(version, [path for path in readable if path.exists()])
    _restrict_calls()


def _is_linux() -> bool:
    return sys.platform == "linux"


def _held_bytes() -> int:
    """Private memory of this process so far, as the limit counts it."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmData:"):
            return int(line.split()[1]) * 2**10
    return 0


def _restrict_files(version: int, readable: list[Path]) -> None:
    rights = (1 << FILE_RIGHTS[min(version, len(FILE_RIGHTS)) - 1]) - 1
    tcp = 3 if version >= 4 else 0
    scoped = 3 if version >= 6 else 0  # no sockets and no signals to processes outside
    attributes = struct.pack("=QQQ", rights, tcp, scoped)[: 8 if version < 4 else 16 if version < 6 else 24]
    ruleset = _check(_libc.syscall(CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0))
    for path in readable:
        allowed = READ_FILE | READ_FOLDER if path.is_dir() else READ_FILE
        _allow(ruleset, path, allowed)
    _allow(ruleset, Path(os.devnull), READ_FILE | WRITE_FILE)
    _check(_libc.syscall(RESTRICT_SELF, ruleset, 0))
    os.close(ruleset)


def _allow(ruleset: int, path: Path, allowed: int) -> None:
    place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        _check(_libc.syscall(ADD_RULE, ruleset, PATH_BENEATH, struct.pack("=Qi", allowed, place), 0))
    finally:
        os.close(place)


def _restrict_calls() -> None:
    """Refuse calls by their numbers; an architecture that is not listed goes without."""
    if platform.machine() not in CALLS:
        return
    architecture, clone, refused = CALLS[platform.machine()]
    load, equal, any_bit, at_least, leave = 0x20, 0x15, 0x45, 0x35, 0x06
    allowed, killed, failing = 0x7FFF0000, 0x80000000, 0x00050000
    program = [
        (load, 0, 0, 4),
        (equal, 1, 0, architecture),
        (leave, 0, 0, killed),
        (load, 0, 0, 0),
        (at_least, 0, 1, X32),
        (leave, 0, 0, failing | ENOSYS),
        (equal, 0, 1, CLONE3),  # whose flags cannot be looked at; the C library then takes clone
        (leave, 0, 0, failing | ENOSYS),
        (equal, 0, 4, clone),
        (load, 0, 0, 16),
        (any_bit, 1, 0, CLONE_THREAD),
        (leave, 0, 0, failing | EPERM),
        (leave, 0, 0, allowed),
    ]
    for number in (*refused, *REFUSED_EVERYWHERE):
        program += [(equal, 0, 1, number), (leave, 0, 0, failing | EPERM)]
    program.append((leave, 0, 0, allowed))
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in program))
    description = struct.pack("@HP", len(program), ctypes.addressof(code))
    _check(_libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, description, 0, 0))


def _check(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
