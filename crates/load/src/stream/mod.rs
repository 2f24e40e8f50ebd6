//! The two ends of a stream: one that sends messages when they are due, and one that times and compares
//! what comes, on one connection or on many.

pub mod connections;
pub mod numbers;
pub mod pacer;
pub mod receiver;
pub mod sender;
