"""The process of a server under test, `tg-server`.

It takes one `ServerOrder` (order.py), answers with its port, and serves until its channel ends; to
each `Mark` that comes meanwhile it answers what it has used (marks.py).
"""

from __future__ import annotations

import gc
import threading

from tinygram_bench.host.descriptors import raise_descriptor_limit
from tinygram_bench.processes.orders import Orders, carry_out
from tinygram_bench.workloads.echo.marks import answer_marks
from tinygram_bench.workloads.echo.order import ServerOrder
from tinygram_bench.workloads.echo.servers import server
from tinygram_bench.workloads.echo.servers.service import Service


def main() -> int:
    return carry_out("tg-server", ServerOrder, _serve)


def _serve(order: ServerOrder, orders: Orders) -> None:
    raise_descriptor_limit()
    certificate = None if order.tls is None else order.tls.certificate
    service = Service(order, lambda port: orders.announce(port, certificate))
    serve = server(order.runtime, order.implementation, order.server).load()
    gc.collect()
    gc.freeze()
    marks = threading.Thread(target=answer_marks, args=(orders, service), name="marks", daemon=True)
    marks.start()
    serve(service)
    raise OSError("it stopped serving")
