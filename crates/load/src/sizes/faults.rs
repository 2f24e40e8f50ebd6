//! What the client of `sizes` says of a sample that failed.

use crate::messages::WireError;
use std::{io, time::Duration};
use thiserror::Error;

/// Which sample failed, where, and why.
#[derive(Debug, Error)]
#[error("sample {sample}, {stage}: {fault}")]
pub struct SampleError {
    /// From 0, the first ones included.
    pub sample: u64,
    /// What it was about.
    pub stage: Stage,
    /// What went wrong.
    pub fault: Fault,
}

/// The part of a sample that failed.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum Stage {
    /// Making the connection.
    #[error("connect")]
    Connect,
    /// Sending the setup.
    #[error("setup")]
    Setup,
    /// One round trip.
    #[error("message {0}")]
    Message(u32),
    /// After the last acknowledgement.
    #[error("end")]
    End,
}

/// What went wrong.
#[derive(Debug, Error)]
pub enum Fault {
    /// The connection failed.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// What came is not what the protocol has.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// The server ended the connection, as ours does with a setup that it does not take.
    #[error("the server ended the connection: it may not take messages of {length} bytes")]
    Refused {
        /// The messages, in bytes.
        length: u32,
    },
    /// An acknowledgement, or a part of it, that can be none.
    #[error("bytes of its acknowledgement came before all of the message was sent")]
    Early,
    /// Too long a wait.
    #[error("nothing came within {0:?}")]
    TimedOut(Duration),
}
