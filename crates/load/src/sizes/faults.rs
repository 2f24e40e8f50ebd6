//! The errors of samples that failed, at the client of `sizes`.

use crate::messages::WireError;
use std::{io, time::Duration};
use thiserror::Error;

/// Which sample failed, where, and why.
#[derive(Debug, Error)]
#[error("sample {sample}, {stage}: {fault}")]
pub struct SampleError {
    /// The number of the sample, from 0, counting the first ones, too.
    pub sample: u64,
    /// The part of the sample that failed.
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
    /// The server broke the protocol.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// The server ended the connection, as ours does when it does not accept a setup.
    #[error("the server ended the connection: it may not take messages of {length} bytes")]
    Refused {
        /// The length of the messages, in bytes.
        length: u32,
    },
    /// An acknowledgement, or a part of one, came before the whole message was sent.
    #[error("bytes of its acknowledgement came before all of the message was sent")]
    Early,
    /// Nothing came within the timeout.
    #[error("nothing came within {0:?}")]
    TimedOut(Duration),
}
