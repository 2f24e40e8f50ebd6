"""What the programs print, in the formats that they document: written by hand, not measured."""

from __future__ import annotations

SOCKPERF_THROUGHPUT = """\
sockperf: == version #3.7-no.git ==
sockperf[CLIENT] send on:sockperf: using recvfrom() to block on socket(s)

[ 0] IP = 127.0.0.1       PORT = 40001 # TCP
sockperf: Warmup stage (sending a few dummy messages)...
sockperf: Starting test...
sockperf: Test end (interrupted by timer)
sockperf: Test ended
sockperf: Total of 400000 messages sent in 1.000 sec

sockperf: NOTE: test was performed, using msg-size=100. For getting maximum throughput consider \
using --msg-size=1472
sockperf: Summary: Message Rate is 399950 [msg/sec]
sockperf: Summary: BandWidth is 38.142 MBps (305.138 Mbps)
"""
SOCKPERF_PING_PONG = """\
sockperf: == version #3.7-no.git ==
sockperf: Test ended
sockperf: [Total Run] RunTime=1.000 sec; Warm up time=400 msec; SentMessages=20001; \
ReceivedMessages=20000
sockperf: ========= Printing statistics for Server No: 0
sockperf: [Valid Duration] RunTime=0.550 sec; SentMessages=11000; ReceivedMessages=11000
\x1b[2;35msockperf: ====> avg-rtt=50.265 (std-dev=20.569)\x1b[0m
sockperf: # dropped messages = 0; # duplicated messages = 0; # out-of-order messages = 0
sockperf: Summary: Round trip is 50.265 usec
\x1b[2;35msockperf: Total 11000 observations\x1b[0m; each percentile contains 110.00 observations
sockperf: ---> <MAX> observation =  956.552
sockperf: ---> percentile 99.999 =  956.552
sockperf: ---> percentile 99.000 =  136.914
sockperf: ---> percentile 75.000 =   57.452
sockperf: ---> percentile 50.000 =   49.557
sockperf: ---> percentile 25.000 =   47.810
sockperf: ---> <MIN> observation =   34.955
"""
IPERF3 = """\
{
    "start": {"version": "iperf 3.12", "test_start": {"protocol": "TCP", "blksize": 100}},
    "intervals": [],
    "end": {
        "streams": [],
        "sum_sent": {"start": 0, "end": 1.0001, "seconds": 1.0001, "bytes": 40010000,
                     "bits_per_second": 320048000.0, "retransmits": 0, "sender": true},
        "sum_received": {"start": 0, "end": 1.0, "seconds": 1.0, "bytes": 40000000,
                         "bits_per_second": 320000000.0, "sender": true},
        "cpu_utilization_percent": {"host_total": 99.1, "remote_total": 60.2}
    }
}
"""
IPERF3_REFUSED = """\
{
    "start": {"connected": [], "version": "iperf 3.12"},
    "intervals": [],
    "end": {},
    "error": "unable to connect to server: Connection refused"
}
"""
NUTTCP = "megabytes=38.1470 real_seconds=1.00 rate_Mbps=320.0000 tx_cpu=99 rx_cpu=61 retrans=0\n"
QPERF_BANDWIDTH = "tcp_bw:\n    bw  =  40,000,000 bytes/sec\n"
QPERF_BANDWIDTH_SCALED = "tcp_bw:\n    bw  =  40 MB/sec\n"
QPERF_LATENCY = "tcp_lat:\n    latency  =  25,132.5 ns\n"
QPERF_LATENCY_SCALED = "tcp_lat:\n    latency  =  25.1325 us\n"
