"""The claims on requests and replies."""

from __future__ import annotations

from published_claims.evidence import Asked, ByRound, Claims, Ratio, Value

_PER_REQUEST = "rr --published --connections per-request --backlog 50 --backlog 1024"
COMMANDS = {
    "rr": _PER_REQUEST,
    "rr-native": f"{_PER_REQUEST} --runtime native",
    "rr-lone": f"{_PER_REQUEST} --runtime native --lone",
    "rr-stays": "rr --runtime native --connections per-caller --connections shared",
    "rr-server": "rr --runtime native --connections per-request --connections per-caller "
    "--server-strategy nagle --server-strategy nodelay --rounds 21 --duration 500ms",
}
_CALLS = "calls_per_s"
_MS = 1e-3


def _case(
    strategy: str,
    sends: int,
    *,
    connections: str = "per-request",
    server: str = "nodelay",
    backlog: int = 1024,
) -> str:
    calling = f"rr/*/{strategy}/loopback/*/{connections}/{sends}-sends/*"
    return f"{calling}/native/{server}/backlog-{backlog}"


def _nodelay(
    command: str,
    sends: int,
    *,
    figure: str = _CALLS,
    connections: str = "per-request",
    server: str = "nodelay",
    backlog: int = 1024,
) -> Asked:
    """The callers' NODELAY ÷ their Nagle."""
    case, baseline = (
        _case(each, sends, connections=connections, server=server, backlog=backlog)
        for each in ("nodelay", "nagle")
    )
    return Ratio(command, figure, case, baseline)


def _server_nodelay(sends: int, connections: str) -> Asked:
    """The server's NODELAY ÷ its Nagle; callers have NODELAY."""
    case, baseline = (
        _case("nodelay", sends, connections=connections, server=each)
        for each in ("nodelay", "nagle")
    )
    return Ratio("rr-server", _CALLS, case, baseline)


def _connect(command: str, strategy: str, sends: int, backlog: int) -> Asked:
    return Value(command, "connect_mean_us", _case(strategy, sends, backlog=backlog), _MS)


_STAYS_WITH_NAGLE = _case("nagle", 10, connections="per-caller")
_STAYS_WITH_NODELAY = _case("nodelay", 10, connections="per-caller")

CLAIMS: Claims = {
    "R1. TCP_NODELAY makes fewer calls than Nagle: 0.77 ×": (
        *(_nodelay("rr", 1, backlog=each) for each in (50, 1024)),
        *(_nodelay("rr", 10, backlog=each) for each in (50, 1024)),
        *(_nodelay("rr-native", 10, backlog=each) for each in (50, 1024)),
        *(_nodelay("rr-server", 10, server=each) for each in ("nagle", "nodelay")),
        _nodelay("rr-native", 10, figure="cpu_us_per_call"),
        _nodelay("rr-native", 1),
        *(_nodelay("rr-server", 1, server=each) for each in ("nodelay", "nagle")),
        _nodelay("rr-lone", 1, backlog=50),
    ),
    "R2. Connecting takes 13 to 20 ms, and TCP_NODELAY makes it longer": (
        *(_connect("rr-native", each, 1, 1024) for each in ("nagle", "nodelay")),
        *(_connect("rr-native", each, 1, 50) for each in ("nagle", "nodelay")),
        *(_connect("rr-lone", each, 1, 50) for each in ("nagle", "nodelay")),
        *(
            Value("rr-native", "syn_retransmits", _case(each, 1, backlog=50))
            for each in ("nagle", "nodelay")
        ),
        *(
            ByRound(
                "rr-native",
                "connect_mean_us",
                _case("nodelay", each),
                baseline=_case("nagle", each),
            )
            for each in (1, 10)
        ),
    ),
    "R3. Nagle does no harm to requests in several sends": (
        Value("rr-stays", "call_mean_us", _STAYS_WITH_NAGLE, _MS),
        Value("rr-stays", "call_p50_us", _STAYS_WITH_NAGLE, _MS),
        Value("rr-stays", "call_mean_us", _STAYS_WITH_NODELAY, _MS),
        Value("rr-stays", "call_p50_us", _STAYS_WITH_NODELAY, _MS),
        *(_nodelay("rr-stays", each, connections="per-caller") for each in (10, 1)),
        *(_nodelay("rr-stays", each, connections="shared") for each in (1, 10)),
    ),
    "R4. Only the client's TCP_NODELAY matters": (
        *(
            _nodelay("rr-server", 10, connections="per-caller", server=each)
            for each in ("nodelay", "nagle")
        ),
        *(_server_nodelay(each, "per-caller") for each in (1, 10)),
        *(_server_nodelay(each, "per-request") for each in (1, 10)),
    ),
}
