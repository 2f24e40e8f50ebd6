"""The options of a link: a preset, or `rtt=20ms,bandwidth=50mbit,jitter=1ms,loss=0.1%`.

Laws: a link is the same in both directions; presets have their names, and custom texts with the
same meaning have one text (`LinkSpec.text`), by which the link is known in cases, files and tables,
and which is read as the same link again; what is impossible is refused before anything is made.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from string import ascii_letters

from msgspec import Struct
from msgspec.structs import replace

from tinygram_bench import _native
from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.units import (
    format_bit_rate,
    format_bytes,
    format_duration_ns,
    format_percent,
    parse_bit_rate,
    parse_bytes,
    parse_duration_ns,
    parse_percent,
)

LOOPBACK = "loopback"
VETH = "veth"
REMOTE = "remote"
"""The link between this host and that of `--server`."""
_UNDELAYED = (LOOPBACK, VETH, REMOTE)

_MAX_DELAY_NS = 10_000_000_000
_BITS_PER_S = (8_000, 100_000_000_000)
_MAX_LOSS = Fraction(1, 2)
_MTU_BYTES = (576, 9_216)
_MAX_QUEUE_BYTES = 1 << 30
_DEFAULT_MTU_BYTES = 1_500
_LEAST_QUEUE_BYTES = 256_000
_QUEUED_NS = 10_000_000


class LinkSpec(Struct, frozen=True):
    """A link. `loopback`, `veth` and `remote` are not emulated: they have only a name and an MTU.

    `rtt_ns`: there and back, for a packet that waits for no other, without the time that its bits
    are on the line. `jitter_ns`: in each direction a packet takes up to this much longer,
    uniformly, and order is kept. `loss`: the share of packets lost in each direction.
    `queue_bytes`: what may wait for the line, in packets and ETHERNET_BYTES each; what finds no
    room is dropped.
    """

    text: str
    rtt_ns: int = 0
    bandwidth_bits_per_s: int | None = None
    jitter_ns: int = 0
    loss: Fraction = Fraction(0)
    queue_bytes: int = _LEAST_QUEUE_BYTES
    mtu_bytes: int = _DEFAULT_MTU_BYTES

    @property
    def is_emulated(self) -> bool:
        """Whether the link has delay, bandwidth and loss."""
        return self.text not in _UNDELAYED

    @property
    def is_loopback(self) -> bool:
        """Whether both ends are on one host."""
        return self.text == LOOPBACK

    @property
    def is_remote(self) -> bool:
        """Whether its far host is another machine, so that the link is not made here."""
        return self.text == REMOTE

    @property
    def direction(self) -> tuple[int, int, int | None, float, int, int]:
        """The link as the native module's `LinkDirection`."""
        return (
            self.rtt_ns // 2,
            self.jitter_ns,
            self.bandwidth_bits_per_s,
            float(self.loss),
            self.queue_bytes,
            self.mtu_bytes,
        )

    @property
    def meaning(self) -> str:
        """The whole specification as text, also where the link's name is a preset's."""
        return _spelled(self)


PRESETS = {
    "lan-1g": "rtt=200us,bandwidth=1gbit",
    "lan-100m": "rtt=300us,bandwidth=100mbit",
    "wifi": "rtt=2ms,bandwidth=90mbit,jitter=500us",
    "wan": "rtt=40ms,bandwidth=100mbit,jitter=500us,loss=0.01%",
}
CUSTOM_EXAMPLE = "rtt=1ms,bandwidth=100mbit,jitter=50us,loss=0.1%,queue=256kb,mtu=1500"


def parse_link(text: str) -> LinkSpec:
    """Read a preset's name or a custom link. Raises UsageError."""
    text = text.strip()
    if text in _UNDELAYED:
        return LinkSpec(text)
    if text in PRESETS:
        return _custom(PRESETS[text], text)
    if "=" not in text:
        raise UsageError(
            f"unknown link {text!r}: the known ones are {', '.join((*PRESETS, LOOPBACK, VETH))}, "
            f"or write your own, for example {CUSTOM_EXAMPLE}"
        )
    return _custom(text, None)


def parse_links(texts: Sequence[str] | None) -> list[LinkSpec]:
    """Read links, each once, in the order given; without any, loopback. Raises UsageError."""
    return list({link.text: link for link in map(parse_link, texts or [LOOPBACK])}.values())


def _custom(text: str, name: str | None) -> LinkSpec:
    """Read a custom link. `name` None: its name is made of its values, in the order of `_KEYS`."""
    values = _values(text)
    if "rtt" not in values:
        raise UsageError(f"the link {text!r} has no rtt: for example rtt=1ms,{text}")
    bits_per_s, rtt_ns = values.get("bandwidth"), int(values["rtt"])
    if bits_per_s is None and "queue" in values:
        raise UsageError(
            f"in the link {text!r}: without a bandwidth nothing queues: name one, for example "
            "bandwidth=100mbit, or leave out queue"
        )
    jitter_ns, mtu_bytes = int(values.get("jitter", 0)), int(values.get("mtu", _DEFAULT_MTU_BYTES))
    spec = LinkSpec(
        text=name or "",
        rtt_ns=rtt_ns,
        bandwidth_bits_per_s=None if bits_per_s is None else int(bits_per_s),
        jitter_ns=jitter_ns,
        loss=Fraction(values.get("loss", 0)),
        queue_bytes=int(values.get("queue", _default_queue_bytes(bits_per_s, rtt_ns + jitter_ns))),
        mtu_bytes=mtu_bytes,
    )
    least = mtu_bytes + _native.ETHERNET_BYTES
    if spec.queue_bytes < least:
        raise UsageError(
            f"in the link {text!r}: the queue holds no packet of {mtu_bytes} bytes: it needs "
            f"{least} bytes or more"
        )
    return replace(spec, text=_spelled(spec)) if name is None else spec


def _values(text: str) -> dict[str, int | Fraction]:
    values: dict[str, int | Fraction] = {}
    for part in (part.strip() for part in text.split(",")):
        key, equals, value = (each.strip() for each in part.partition("="))
        if key not in _KEYS or not equals:
            raise UsageError(
                f"in the link {text!r}: {part!r} is not KEY=VALUE with one of the keys "
                f"{', '.join(_KEYS)}: for example {CUSTOM_EXAMPLE}"
            )
        if key in values:
            raise UsageError(f"in the link {text!r}: {key} appears twice: name it once")
        try:
            values[key] = _KEYS[key](value)
        except UsageError as error:
            raise UsageError(f"in the link {text!r}: {key}: {error}") from error
    return values


def _default_queue_bytes(bits_per_s: int | Fraction | None, round_trip_ns: int) -> int:
    """What the line carries in a round trip, or in 10 ms if that is more, so that a burst fits."""
    if bits_per_s is None:
        return _LEAST_QUEUE_BYTES
    on_the_way = bits_per_s * max(round_trip_ns, _QUEUED_NS) // 8_000_000_000
    return min(max(on_the_way, _LEAST_QUEUE_BYTES), _MAX_QUEUE_BYTES)


def _spelled(spec: LinkSpec) -> str:
    """A custom link's text, without the values that are the defaults."""
    if not spec.is_emulated:
        return spec.text
    bits_per_s = spec.bandwidth_bits_per_s
    parts = [f"rtt={format_duration_ns(spec.rtt_ns)}"]
    if bits_per_s is not None:
        parts.append(f"bandwidth={format_bit_rate(bits_per_s)}")
    if spec.jitter_ns:
        parts.append(f"jitter={format_duration_ns(spec.jitter_ns)}")
    if spec.loss:
        parts.append(f"loss={format_percent(spec.loss)}")
    if spec.queue_bytes != _default_queue_bytes(bits_per_s, spec.rtt_ns + spec.jitter_ns):
        parts.append(f"queue={_kilobytes(spec.queue_bytes)}")
    if spec.mtu_bytes != _DEFAULT_MTU_BYTES:
        parts.append(f"mtu={spec.mtu_bytes}")
    return ",".join(parts)


def _kilobytes(size_bytes: int) -> str:
    return f"{size_bytes // 1_000}kB" if size_bytes % 1_000 == 0 else f"{size_bytes}B"


def _rtt_ns(text: str) -> int:
    rtt_ns = 0 if _is_nothing(text) else parse_duration_ns(text)
    floor_ns = _native.RTT_FLOOR_NS
    if rtt_ns < floor_ns:
        raise UsageError(
            f"{text} is below the floor of {format_duration_ns(floor_ns)}, the least that carrying "
            "a packet there and back takes: ask for more, or for the link loopback or veth"
        )
    return _within(text, rtt_ns, (floor_ns, _MAX_DELAY_NS), format_duration_ns)


def _jitter_ns(text: str) -> int:
    jitter_ns = 0 if _is_nothing(text) else parse_duration_ns(text)
    return _within(text, jitter_ns, (0, _MAX_DELAY_NS), format_duration_ns)


def _bits_per_s(text: str) -> int:
    bits_per_s = 0 if _is_nothing(text) else parse_bit_rate(text)
    remedy = ": leave bandwidth away for a line without a limit"
    return _within(text, bits_per_s, _BITS_PER_S, format_bit_rate, remedy)


def _loss(text: str) -> Fraction:
    loss = parse_percent(text)
    if loss > _MAX_LOSS:
        raise UsageError(
            f"{text} is outside 0% … {format_percent(_MAX_LOSS)}: over such a link nothing works"
        )
    return loss


def _queue_bytes(text: str) -> int:
    # Units of links may be written in small letters, as for tc(8): 256kb.
    number = text.rstrip(ascii_letters)
    unit = text[len(number) :]
    known = number + _QUEUE_UNITS.get(unit.lower(), unit)
    size_bytes = 0 if _is_nothing(text) else parse_bytes(known)
    return _within(text, size_bytes, (_MTU_BYTES[0], _MAX_QUEUE_BYTES), format_bytes)


def _mtu_bytes(text: str) -> int:
    low, high = _MTU_BYTES
    if not (text.isascii() and text.isdigit() and len(text) < 6 and low <= int(text) <= high):
        raise UsageError(f"{text!r} is not a number of bytes from {low} to {high}")
    return int(text)


def _is_nothing(text: str) -> bool:
    """Whether the text is 0 of any unit, which is only valid where a range includes 0."""
    return _NOTHING.fullmatch(text) is not None


def _within(
    text: str,
    value: int,
    limits: tuple[int, int],
    written: Callable[[int], str],
    remedy: str = "",
) -> int:
    low, high = limits
    if not low <= value <= high:
        raise UsageError(f"{text} is outside {written(low)} … {written(high)}{remedy}")
    return value


_QUEUE_UNITS = {unit.lower(): unit for unit in ("B", "kB", "MB", "GB", "KiB", "MiB", "GiB")}
_NOTHING = re.compile(r"0+(\.0+)?\s*[A-Za-z]*")
_KEYS: dict[str, Callable[[str], int | Fraction]] = {
    "rtt": _rtt_ns,
    "bandwidth": _bits_per_s,
    "jitter": _jitter_ns,
    "loss": _loss,
    "queue": _queue_bytes,
    "mtu": _mtu_bytes,
}
