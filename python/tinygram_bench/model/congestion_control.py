"""The congestion control of both sides of a run."""

DEFAULT_CONGESTION_CONTROL = "cubic"
UNPACED_CONGESTION_CONTROLS = (DEFAULT_CONGESTION_CONTROL, "reno")
"""Tried in this order where the user names none. BBR is not among them: it would pace, at a rate
that it has not measured yet."""
ALLOWED_SYSCTL = "net.ipv4.tcp_allowed_congestion_control"
"""The sysctl that lists the congestion controls which users without CAP_NET_ADMIN may choose."""
