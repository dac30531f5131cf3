"""DNS inside a sandbox: questions parsed, answers built, and a made-up address for every name.

Written by hand because the whole need is one question and one answer (RFC 1035, section 4.1). A synthetic address from
198.18.0.0/15 (RFC 2544) later tells which name a connection was meant for, whatever it speaks.
"""

import socket
import struct
from collections import OrderedDict
from dataclasses import dataclass
from ipaddress import IPv4Address

A = 1
_IN = 1
_NO_ERROR, _NAME_ERROR, _REFUSED = 0, 3, 5
_RESPONSE, _RECURSION_AVAILABLE, _RECURSION_DESIRED = 0x8000, 0x0080, 0x0100
_TIME_TO_LIVE = 60
_FIRST = int(IPv4Address("198.18.0.1"))
_MOST_NAMES = 16_384
_POINTER_TO_QUESTION = b"\xc0\x0c"


@dataclass(frozen=True, slots=True)
class Question:
    """`raw` is the question section as it came, repeated in the answer; `header` the first four bytes."""

    name: str
    kind: int
    header: bytes
    raw: bytes


def parse(packet: bytes) -> Question | None:
    """The one question in a query, or nothing if it is not one that we understand."""
    if len(packet) < 17 or packet[2] & 0x80 or packet[4:6] != b"\0\1":
        return None
    labels, position = [], 12
    while position < len(packet) and (length := packet[position]):
        if length > 63 or position + 1 + length > len(packet):
            return None
        labels.append(packet[position + 1 : position + 1 + length])
        position += 1 + length
    end = position + 5
    if not labels or end > len(packet):
        return None
    kind, group = struct.unpack_from(">HH", packet, position + 1)
    try:
        name = b".".join(labels).decode("ascii").lower()
    except UnicodeDecodeError:
        return None
    return Question(name, kind, packet[:4], packet[12:end]) if group == _IN and len(name) < 254 else None


def address_answer(question: Question, address: str) -> bytes:
    record = struct.pack(">HHIH", A, _IN, _TIME_TO_LIVE, 4) + socket.inet_aton(address)
    return _answer(question, _NO_ERROR, records=1) + _POINTER_TO_QUESTION + record


def empty_answer(question: Question) -> bytes:
    """The name exists but has no record of that kind, such as IPv6."""
    return _answer(question, _NO_ERROR)


def name_error(question: Question) -> bytes:
    return _answer(question, _NAME_ERROR)


def refusal(question: Question) -> bytes:
    return _answer(question, _REFUSED)


def _answer(question: Question, code: int, *, records: int = 0) -> bytes:
    asked = struct.unpack(">H", question.header[2:4])[0]
    flags = _RESPONSE | _RECURSION_AVAILABLE | (asked & _RECURSION_DESIRED) | code
    return question.header[:2] + struct.pack(">HHHHH", flags, 1, records, 0, 0) + question.raw


class SyntheticNames:
    """A bounded book of names and their made-up addresses; the name not used for longest makes room."""

    def __init__(self) -> None:
        self._addresses: OrderedDict[str, str] = OrderedDict()
        self._names: dict[str, str] = {}

    def address_of(self, name: str) -> str:
        if name not in self._addresses:
            self._addresses[name] = self._free_address()
            self._names[self._addresses[name]] = name
        self._addresses.move_to_end(name)
        return self._addresses[name]

    def name_of(self, address: str) -> str | None:
        return self._names.get(address)

    def _free_address(self) -> str:
        if len(self._addresses) < _MOST_NAMES:
            return str(IPv4Address(_FIRST + len(self._addresses)))
        _, address = self._addresses.popitem(last=False)
        return address
