"""`fanout`: one publisher, many subscribers, every message to all of them.

The publisher is under test; it connects to the subscribers, which are native and on one thread,
compare every byte and time every receipt. A message has its number and the time at which it was due
in front (crates/load, `messages/publications.rs`).
"""
