//! `stream`: the messages, their due times, sender and receiver, and the matching of notes to messages.

pub mod matching;
pub mod pacer;
pub mod pool;
pub mod receiver;
pub mod sender;
