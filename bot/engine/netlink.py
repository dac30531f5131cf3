"""Route and redirect all traffic of a network namespace to listeners inside it, by raw netlink.

Written by hand because neither `ip` nor `nft` need be installed, and the whole conversation is one route and two rules
(`linux/rtnetlink.h`, `linux/netfilter/nf_tables.h`; https://wiki.nftables.org). The caller owns the namespace.
"""

import fcntl
import os
import socket
import struct

_REQUEST, _ACK, _EXCL, _CREATE, _APPEND = 0x1, 0x4, 0x200, 0x400, 0x800
_ERROR = 0x2  # NLMSG_ERROR; an error of 0 is the acknowledgement
_NEW_ROUTE = 24
_NETFILTER = 12
_NFT = 0x0A00
_NEW_TABLE, _NEW_CHAIN, _NEW_RULE = _NFT | 0, _NFT | 3, _NFT | 6
_BATCH_BEGIN, _BATCH_END = 0x10, 0x11
_IPV4 = 2
_HOOK_OUTPUT, _PRIORITY_DNAT = 3, -100
_EQUAL, _NOT_EQUAL = 0, 1
_NETWORK_HEADER, _TRANSPORT_HEADER = 1, 2
_META_L4PROTO = 16
_SET_INTERFACE_FLAGS = 0x8914


def raise_loopback() -> None:
    """Bring `lo` up and let unprivileged processes listen on every port of this namespace."""
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, _SET_INTERFACE_FLAGS, struct.pack("16sH14s", b"lo", 0x1 | 0x40, b""))
    with open("/proc/sys/net/ipv4/ip_unprivileged_port_start", "w") as setting:  # noqa: PTH123 - no pathlib before exec
        setting.write("0")


def route_everything_home() -> None:
    """Make every IPv4 address local (AnyIP), so that a connection anywhere is delivered inside the namespace."""
    loopback = socket.if_nametoindex("lo")
    # rtmsg: family, dst_len, src_len, tos, table MAIN, protocol BOOT, scope HOST, type LOCAL, flags
    message = struct.pack("=BBBBBBBBI", _IPV4, 0, 0, 0, 254, 3, 254, 2, 0) + struct.pack("=HHI", 8, 4, loopback)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as channel:
        channel.send(_message(_NEW_ROUTE, _REQUEST | _ACK | _CREATE | _EXCL, 1, message))
        _expect_acknowledgements(channel, {1})


def redirect(*, tcp_port: int, dns_port: int) -> None:
    """Send every outgoing TCP connection to `tcp_port` and every DNS question to `dns_port`, except within 127/8.

    Raises `OSError` where the kernel has no nf_tables.
    """
    rules = [_rule(3, _is_protocol(6), _redirect_to(tcp_port)), _rule(4, _is_dns(), _redirect_to(dns_port))]
    batch = [
        _netfilter(_BATCH_BEGIN, _REQUEST, 0, b"", family=0, subsystem=10),
        _netfilter(_NEW_TABLE, _REQUEST | _ACK | _CREATE, 1, _text(1, "preview")),
        _netfilter(_NEW_CHAIN, _REQUEST | _ACK | _CREATE, 2, _nat_output_chain()),
        *rules,
        _netfilter(_BATCH_END, _REQUEST, 5, b"", family=0, subsystem=10),
    ]
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETFILTER) as channel:
        channel.settimeout(3)
        channel.send(b"".join(batch))
        _expect_acknowledgements(channel, {1, 2, 3, 4})


def _expect_acknowledgements(channel: socket.socket, wanted: set[int]) -> None:
    while wanted:
        answer, offset = channel.recv(65536), 0
        while offset < len(answer):
            length, kind, _, sequence, _ = struct.unpack_from("=IHHII", answer, offset)
            if kind == _ERROR:
                error = -struct.unpack_from("=i", answer, offset + 16)[0]
                if error:
                    raise OSError(error, f"netlink message {sequence}: {os.strerror(error)}")
                wanted.discard(sequence)
            offset += (length + 3) & ~3


def _nat_output_chain() -> bytes:
    hook = _attribute(1, struct.pack(">I", _HOOK_OUTPUT)) + _attribute(2, struct.pack(">i", _PRIORITY_DNAT))
    return _text(1, "preview") + _text(3, "output") + _nested(4, hook) + _text(7, "nat")


def _rule(sequence: int, *expressions: bytes) -> bytes:
    body = _text(1, "preview") + _text(2, "output") + _nested(4, b"".join(expressions))
    return _netfilter(_NEW_RULE, _REQUEST | _ACK | _CREATE | _APPEND, sequence, body)


def _is_protocol(number: int) -> bytes:
    not_loopback = _payload(_NETWORK_HEADER, 16, 1) + _compare(_NOT_EQUAL, b"\x7f")
    protocol = _expression("meta", _number(1, 1) + _number(2, _META_L4PROTO))
    return protocol + _compare(_EQUAL, bytes([number])) + not_loopback


def _is_dns() -> bytes:
    return _is_protocol(17) + _payload(_TRANSPORT_HEADER, 2, 2) + _compare(_EQUAL, struct.pack(">H", 53))


def _redirect_to(port: int) -> bytes:
    value = _nested(2, _attribute(1, struct.pack(">H", port)))
    return _expression("immediate", _number(1, 1) + value) + _expression("redir", _number(1, 1))


def _payload(header: int, offset: int, length: int) -> bytes:
    return _expression("payload", _number(1, 1) + _number(2, header) + _number(3, offset) + _number(4, length))


def _compare(operator: int, value: bytes) -> bytes:
    return _expression("cmp", _number(1, 1) + _number(2, operator) + _nested(3, _attribute(1, value)))


def _expression(name: str, data: bytes) -> bytes:
    return _nested(1, _text(1, name) + _nested(2, data))


def _number(kind: int, value: int) -> bytes:
    return _attribute(kind, struct.pack(">I", value))


def _text(kind: int, value: str) -> bytes:
    return _attribute(kind, value.encode() + b"\0")


def _nested(kind: int, body: bytes) -> bytes:
    return _attribute(kind | 0x8000, body)


def _attribute(kind: int, body: bytes) -> bytes:
    length = 4 + len(body)
    return struct.pack("=HH", length, kind) + body + b"\0" * (-length % 4)


def _netfilter(kind: int, flags: int, sequence: int, body: bytes, *, family: int = _IPV4, subsystem: int = 0) -> bytes:
    return _message(kind, flags, sequence, struct.pack(">BBH", family, 0, subsystem) + body)


def _message(kind: int, flags: int, sequence: int, body: bytes) -> bytes:
    return struct.pack("=IHHII", 16 + len(body), kind, flags, sequence, 0) + body
