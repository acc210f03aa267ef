"""Restrict this process permanently, with Landlock and seccomp.

    own_users           enter a new user namespace, in which only this process's threads are counted
    drop_capabilities   turn root into an ordinary user
    restrict_files      Landlock: allow opening only these paths
    restrict_calls      seccomp: forbid new processes, sockets, and signals to others

Any process may restrict itself in these ways, and none can undo it. System calls are made through
ctypes, because this file runs inside the sandbox with only the standard library.

A seccomp filter is a BPF program: it loads a word of the system call (its number, or the low half
of an argument), compares it, and returns a verdict. Ours returns an error number instead of killing
the process, so that a student's mistake becomes an exception that can be reported.

Sources: Linux man-pages landlock(7), seccomp(2), bpf(2); system call tables of x86_64 and aarch64.
"""

import ctypes
import errno
import os
import platform
import struct

LIBC = ctypes.CDLL(None, use_errno=True)
PR_SET_NO_NEW_PRIVS = 38


class NotPossible(OSError):
    """This machine's kernel does not support it, or does not allow it."""


def _call(number: int, *arguments: object) -> int:
    result = int(LIBC.syscall(ctypes.c_long(number), *arguments))
    if result < 0:
        code = ctypes.get_errno()
        raise NotPossible(code, os.strerror(code))
    return result


def no_new_privileges() -> None:
    """Prevent setuid programs from regaining privileges. Landlock and seccomp require this."""
    if LIBC.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        raise NotPossible(ctypes.get_errno(), "no_new_privs was refused")


CAPSET = {"x86_64": 126, "aarch64": 91}
PR_SET_KEEPCAPS, PR_SET_DUMPABLE, PR_CAPBSET_DROP = 8, 4, 24
CLONE_NEWUSER = 0x10000000
READ_AND_SEARCH = 1 << 2  # CAP_DAC_READ_SEARCH


def own_users() -> bool:
    """Enter a new user namespace, where only our threads are counted. Returns whether that worked."""
    if LIBC.unshare(CLONE_NEWUSER):
        return False
    LIBC.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)  # let the grader, which is the same user, inspect us
    return True


def drop_capabilities(user: int | None = None, to_read: bool = False) -> None:
    """Drop root's capabilities, and switch to this user if one is given.

    to_read   keep the capability to read any file; Landlock will restrict it

    Raises NotPossible on a machine whose system call numbers are not known here.
    """
    machine = platform.machine()
    if machine not in CAPSET:
        raise NotPossible(errno.ENOSYS, f"no table of system calls for {machine}")
    kept = READ_AND_SEARCH if to_read and user is not None else 0
    for capability in range(64):
        if not kept >> capability & 1:  # fails harmlessly for unknown capabilities
            LIBC.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
    if user is not None:
        LIBC.prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0)
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    version_3 = 0x20080522
    low_and_high = struct.pack("6I", kept, kept, 0, 0, 0, 0)
    _call(CAPSET[machine], struct.pack("=Ii", version_3, 0), low_and_high)


# ---------------------------------------------------------------- Landlock: which files

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446  # the same on every machine
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
TRUNCATE = 1 << 14
READING = EXECUTE | READ_FILE | READ_DIR
ON_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | 1 << 15
ALL_OF_FILES = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}


def landlock_version() -> int:
    """The kernel's Landlock version; 0 if it has none."""
    try:
        return _call(CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(1))
    except NotPossible:
        return 0


def restrict_files(readable: list[str], writable: list[str], listable: list[str]) -> None:
    """Allow opening only these paths. If the kernel supports it, forbid TCP and signals to others, too.

    Paths that do not exist are ignored. Raises NotPossible without Landlock.
    """
    version = landlock_version()
    if not version:
        raise NotPossible(errno.ENOSYS, "this kernel has no Landlock")
    files = ALL_OF_FILES[max(v for v in ALL_OF_FILES if v <= version)]
    tcp = 0b11 if version >= 4 else 0
    scoped = 0b11 if version >= 6 else 0  # abstract sockets, signals
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    rules = struct.pack("QQQ", files, tcp, scoped)[:size]
    ruleset = _call(CREATE_RULESET, rules, ctypes.c_size_t(len(rules)), ctypes.c_uint32(0))
    try:
        rules_of = ((readable, READING), (writable, files & ~EXECUTE), (listable, READ_DIR))
        for paths, rights in rules_of:
            for path in paths:
                _allow(ruleset, path, rights & files)
        no_new_privileges()
        _call(RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint32(0))
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        beneath = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not os.path.isdir(path):
            rights &= ON_FILES
        attribute = struct.pack("=Qi", rights, beneath)
        _call(ADD_RULE, ctypes.c_int(ruleset), ctypes.c_int(1), attribute, ctypes.c_uint32(0))
    finally:
        os.close(beneath)


# ---------------------------------------------------------------- seccomp: which calls

# system call numbers on x86_64 and aarch64 (None: it does not exist there)
REFUSED: dict[str, tuple[int, int | None]] = {
    "socket": (41, 198), "connect": (42, 203), "bind": (49, 200),
    "fork": (57, None), "vfork": (58, None), "execve": (59, 221), "execveat": (322, 281),
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "tkill": (200, 130), "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240),
    "pidfd_open": (434, 434), "pidfd_send_signal": (424, 424), "pidfd_getfd": (438, 438),
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51),
    "unshare": (272, 97), "setns": (308, 268), "open_by_handle_at": (304, 265),
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219),
    "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "modify_ldt": (154, None), "kexec_load": (246, 104), "init_module": (175, 105), "finit_module": (313, 273),
    "delete_module": (176, 106), "personality": (135, 92), "mq_open": (240, 180),
    "shmget": (29, 194), "shmat": (30, 196), "msgget": (68, 186), "semget": (64, 190),
    # existing objects of the same user could be used and deleted by number
    "shmctl": (31, 195), "msgctl": (71, 187), "msgsnd": (69, 189), "msgrcv": (70, 188), "semctl": (66, 191),
    "semop": (65, 193), "semtimedop": (220, 192), "mq_unlink": (241, 181),
    # these act on other processes, including all processes of the same user
    "setpriority": (141, 140), "ioprio_set": (251, 30), "sched_setaffinity": (203, 122), "sched_setattr": (314, 274),
    "sched_setparam": (142, 118), "migrate_pages": (256, 238),
    "move_pages": (279, 239), "process_madvise": (440, 440), "kcmp": (312, 272),
    # covert channels between processes that read the same files; and machine-wide resources
    "flock": (73, 32), "set_tid_address": (218, 96), "set_robust_list": (273, 99),
    "inotify_init": (253, None), "inotify_init1": (294, 26), "fanotify_init": (300, 262),
    "io_setup": (206, 0), "sync": (162, 81), "syncfs": (306, 267),
    "memfd_create": (319, 279), "memfd_secret": (447, 447),  # memory outside all limits
    # files that are open only in a message, or in a table of descriptors of its own, which launch.py would not see
    "sendmsg": (46, 211), "sendmmsg": (307, 269), "close_range": (436, 436),
    "reboot": (169, 142), "settimeofday": (164, 170), "clock_settime": (227, 112), "clock_adjtime": (305, 266),
    "adjtimex": (159, 171), "swapon": (167, 224), "swapoff": (168, 225), "acct": (163, 89),
    "sethostname": (170, 161), "setdomainname": (171, 162), "syslog": (103, 116), "quotactl": (179, 60),
    "mknod": (133, None), "mknodat": (259, 33),
    # not covered by Landlock, or only by newer versions: the owner could change files without opening them
    "truncate": (76, 45), "chmod": (90, None), "fchmod": (91, 52), "fchmodat": (268, 53),
    "chown": (92, None), "fchown": (93, 55), "lchown": (94, None), "fchownat": (260, 54),
    "setxattr": (188, 5), "lsetxattr": (189, 6), "fsetxattr": (190, 7),
    "removexattr": (197, 14), "lremovexattr": (198, 15), "fremovexattr": (199, 16),
    "utime": (132, None), "utimes": (235, None), "futimesat": (261, None), "utimensat": (280, 88),
}  # fmt: skip
# Calls that are newer than this table, as setxattrat and file_setattr are, do not exist for a kernel in a sandbox; nor
# do x32 calls, whose numbers are far higher, and would bypass the filter on x86_64.
NEWER = 451
# For the first message of 64 KB, ZeroMQ starts a thread and requests the default scheduling policy (0).
# It aborts the process if that fails, so the call is reported as successful without being made.
SET_SCHEDULER = (144, 119)
CLONE, CLONE3 = (56, 220), (435, 435)
# (numbers, index of the argument, refused values)
BY_ARGUMENT: tuple[tuple[tuple[int, int], int, tuple[int, ...]], ...] = (
    # fcntl: locks, leases, notifications, and signals to the owner of a descriptor, who may be another process
    ((72, 25), 1, (5, 6, 7, 36, 37, 38, 1024, 1026, 8, 10, 15)),
    # ioctl: the owner of a descriptor; flags, attributes and version of a file that is open for reading; fs-verity
    ((16, 29), 1, (0x8901, 0x8902, 0x40086602, 0x401C5820, 0x40087602, 0x40806685)),
    ((157, 167), 0, (1, PR_SET_DUMPABLE)),  # prctl: outlive the parent, or hide from inspection
    # futex: wake others that wait at the same place of a file
    ((202, 98), 1, (1, 3, 4, 5, 10, 12)),
)
TO_ONESELF = {"kill": (62, 129), "tgkill": (234, 131), "prlimit64": (302, 261)}
SECCOMP = {"x86_64": 317, "aarch64": 277}
ARCHITECTURE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
ALLOW, KILL, REFUSE = 0x7FFF0000, 0x80000000, 0x00050000
CLONE_THREAD, CLONE_FILES = 0x00010000, 0x00000400


def seccomp_filter(machine: str, pid: int) -> bytes:
    """The filter as BPF code, eight bytes per instruction."""
    column = list(ARCHITECTURE).index(machine)
    program = [(LOAD, 0, 0, 4), (EQUAL, 1, 0, ARCHITECTURE[machine]), (RETURN, 0, 0, KILL)]
    program.append((LOAD, 0, 0, 0))
    program += [(AT_LEAST, 0, 1, NEWER), (RETURN, 0, 0, REFUSE | errno.ENOSYS)]
    for numbers in REFUSED.values():
        number = numbers[column]
        if number is not None:
            program += [(EQUAL, 0, 1, number), (RETURN, 0, 0, REFUSE | errno.EPERM)]
    program += [(EQUAL, 0, 4, SET_SCHEDULER[column]), (LOAD, 0, 0, 16 + 8), (EQUAL, 0, 1, 0)]
    program += [(RETURN, 0, 0, REFUSE | 0), (RETURN, 0, 0, REFUSE | errno.EPERM)]
    for both, argument, values in BY_ARGUMENT:
        program += [(EQUAL, 0, 2 * len(values) + 2, both[column]), (LOAD, 0, 0, 16 + 8 * argument)]
        for value in values:
            program += [(EQUAL, 0, 1, value), (RETURN, 0, 0, REFUSE | errno.EPERM)]
        program.append((LOAD, 0, 0, 0))
    # a filter cannot see clone3's flags; with ENOSYS, glibc falls back to clone
    program += [(EQUAL, 0, 1, CLONE3[column]), (RETURN, 0, 0, REFUSE | errno.ENOSYS)]
    program += [(EQUAL, 0, 5, CLONE[column]), (LOAD, 0, 0, 16), (ANY_BIT, 0, 2, CLONE_THREAD)]
    program += [(ANY_BIT, 0, 1, CLONE_FILES), (RETURN, 0, 0, ALLOW)]
    program.append((RETURN, 0, 0, REFUSE | errno.EPERM))
    for numbers in TO_ONESELF.values():
        program += [(EQUAL, 0, 6, numbers[column]), (LOAD, 0, 0, 16)]
        program += [(EQUAL, 2, 0, pid), (EQUAL, 1, 0, -pid & 0xFFFFFFFF), (EQUAL, 0, 1, 0)]
        program += [(RETURN, 0, 0, ALLOW), (RETURN, 0, 0, REFUSE | errno.EPERM)]
    program.append((RETURN, 0, 0, ALLOW))
    return b"".join(struct.pack("HBBI", *instruction) for instruction in program)


def restrict_calls() -> None:
    """Forbid new processes, sockets, and signals to others, in all threads.

    Raises NotPossible on a machine whose system call numbers are not in the table above.
    """
    machine = platform.machine()
    if machine not in SECCOMP:
        raise NotPossible(errno.ENOSYS, f"no table of system calls for {machine}")
    program = seccomp_filter(machine, os.getpid())
    buffer = ctypes.create_string_buffer(program, len(program))
    head = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(buffer))
    no_new_privileges()
    every_thread = 1
    left_out = _call(SECCOMP[machine], ctypes.c_uint(1), ctypes.c_uint(every_thread), head)
    if left_out:
        raise NotPossible(errno.ESRCH, f"thread {left_out} could not be restricted")
