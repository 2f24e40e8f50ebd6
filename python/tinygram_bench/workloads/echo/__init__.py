"""`echo`: W workers with a connection each and D messages in flight, against a server under test.

The client is native; after taking the time, it compares every byte that comes back with what was
sent. A server sends back what it reads, at once (`per-read`), or each message with a send call of
its own (`per-message`), and then the strategy decides the writes.
"""
