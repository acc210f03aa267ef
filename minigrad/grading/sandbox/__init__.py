"""The sandbox for students' code, and the protocol for talking to a kernel in it.

    choose     chooses the strongest tier that passes the self-test on this machine
    image      copies the packages that a kernel may import to a separate folder, in the user's cache
    launch     starts Python in one of the tiers of isolation
    container, supervise    the tiers that another program starts: gVisor, podman or docker
    wire       talks to a kernel over channel, which limits what it may send
    probe      the attacks that the self-test tries        (runs inside)
    lockdown   Landlock and seccomp, by system calls       (runs inside)
    boot       the first code of the sandboxed Python      (runs inside)
    stand_in   replaces minigrad for a kernel              (runs inside)

That a tool is installed does not mean that it works: containers and some distributions forbid user
namespaces, and old kernels lack Landlock. So a tier is tested before it is used.
"""
