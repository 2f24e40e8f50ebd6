//! A connection of an event loop: the buffer of its messages, the Python objects that it uses, and
//! the ticks that end its holds.

mod lent;
pub mod outbox;
mod surroundings;
pub mod ticker;
