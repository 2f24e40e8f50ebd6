//! A connection of an event loop: the buffer of its messages, the Python objects that it uses, and
//! the ticks that end its holds.

mod asked_loop;
mod lent;
pub mod outbox;
mod surroundings;
pub mod ticker;
pub mod tls;
