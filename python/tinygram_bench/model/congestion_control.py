"""Which congestion control both sides of a run have."""

DEFAULT_CONGESTION_CONTROL = "cubic"
UNPACED_CONGESTION_CONTROLS = (DEFAULT_CONGESTION_CONTROL, "reno")
"""Tried in turn where none is asked for. BBR would pace, at a rate that it has not measured yet."""
ALLOWED_SYSCTL = "net.ipv4.tcp_allowed_congestion_control"
"""What users may choose that lack CAP_NET_ADMIN in their network."""
