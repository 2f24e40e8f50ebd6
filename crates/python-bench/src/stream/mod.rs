//! `stream`: the messages, when they are due, their sender and receiver, and which note told of which.

pub mod matching;
pub mod pacer;
pub mod pool;
pub mod receiver;
pub mod sender;
