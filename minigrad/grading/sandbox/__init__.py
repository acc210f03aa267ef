"""Where a student's code runs, and what it can reach there.

    image      the packages that a kernel may import, copied to a folder of their own
    launch     start a Python in one of the tiers: bwrap, landlock, none
    selftest   try what must not be possible; a tier counts only if it holds
    lockdown   Landlock and seccomp, by system calls       (runs inside)
    boot       what the sandboxed Python does first         (runs inside)
    stand_in   what a kernel finds instead of minigrad      (runs inside)

Having a tool is not being allowed to use it: containers and some distributions forbid user
namespaces, old kernels lack Landlock. So a tier is never believed, it is tried.
"""
