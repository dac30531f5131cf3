"""A Sandbox API server on one machine: real isolation by bubblewrap, reached only over HTTP.

Imports nothing else of `bot`. From the kernel up:

Inside and below
    agent        PID 1 of a sandbox
    zygote       the process that starts sandboxes as the unprivileged user
    seccomp      the system call filter
    netlink      all traffic of a network namespace led to two listeners
    bubblewrap   the command line
    overlay      a disk over layers
    rootfs       what a command finds around its own disk
    probe        what a sandbox looks like from inside, for the start-up check

One sandbox
    channel, descriptors      messages with descriptors beside them
    launcher     the engine's end of the zygote
    guest        the engine's hold on PID 1
    users        who commands run as
    terminal     a command that a person talks to
    pipes, errands, processes, output, history, files, sources
    policy, rules, addresses, dns       what may leave
    egress, destinations, outside       the way out
    greeting, interception, http_stream, exchange, authority, trust     what connections say on it
    acceptor, pump, relay, routes       the way in
    box          a running one: launched, answering, with its way out
    limits, cgroups, verdicts   what it may use of the machine, and why it was killed

All sandboxes
    records, storage    what survives a restart
    layers, snapshots, retention, family    disks that are kept, and shared
    drives              disks of their own
    workshop            what they are all made with
    sandbox, sandboxes, first_record        lifecycle
    listing             pages
    watchdog, memory    those that use more than they may
    isolation           whether this machine isolates at all
    body, wire, policy_body, api/       the protocol
    server, settings    the process
"""
