//! A connection of an event loop: what holds its messages, what it borrows from Python, and when its
//! turn comes.

mod lent;
pub mod outbox;
mod surroundings;
pub mod ticker;
