"""Ways that send a stream on many connections, `way.sockets`: message i on connection i modulo
their number."""
