"""Addresses that no sandbox reaches, whatever its policy: this host, private networks, the cloud's metadata."""

import socket
from contextlib import closing
from ipaddress import IPv6Address, ip_address, ip_network

from bot.engine.policy import Address

# By hand and not `ipaddress.is_global`: that also refuses documentation ranges, which closed networks route.
_REFUSED = [
    ip_network(text)
    for text in (
        *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
        *("192.168.0.0/16", "198.18.0.0/15", "224.0.0.0/4", "240.0.0.0/4"),
        # IPv6: unspecified, loopback, NAT64 and 6to4 (an IPv4 address in disguise), unique local, link-local, multicast
        *("::/127", "64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "fc00::/7", "fe80::/10", "ff00::/8"),
    )
]


def parse(text: str) -> Address:
    """An address as the kernel will use it: `::ffff:10.0.0.1` is 10.0.0.1."""
    address = ip_address(text.partition("%")[0])
    return address.ipv4_mapped or address if isinstance(address, IPv6Address) else address


def is_refused(address: Address) -> bool:
    return any(address in network for network in _REFUSED) or is_own(address)


def is_own(address: Address) -> bool:
    """Whether it is one of this host's. The kernel knows: it talks to an own address from that same address."""
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    with closing(socket.socket(family, socket.SOCK_DGRAM)) as probe:
        try:
            probe.connect((str(address), 9))  # connecting a datagram socket sends nothing
        except OSError:
            return False
        return parse(probe.getsockname()[0]) == address
