use thiserror::Error;

/// A breach of the protocol by the peer.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum WireError {
    /// The setup's length is not accepted here.
    #[error("messages of {length} bytes are refused: 1 to {max} are taken (--max-message)")]
    Length {
        /// What the setup says, in bytes.
        length: u32,
        /// The longest that is taken, in bytes.
        max: u32,
    },
    /// The setup's count is above the limit here.
    #[error("{count} messages on a connection are refused: up to {max} are taken")]
    Count {
        /// What the setup says.
        count: u32,
        /// The most that are taken.
        max: u32,
    },
    /// The connection ended too early.
    #[error("the connection ended {missing} bytes too early")]
    Truncated {
        /// What is missing of the setup, message or acknowledgement that had begun, in bytes.
        missing: usize,
    },
    /// More bytes came than were awaited.
    #[error("{excess} bytes came after the end of what was awaited")]
    Excess {
        /// How many bytes more.
        excess: usize,
    },
    /// An acknowledgement does not carry the length.
    #[error("acknowledgement {index} says {said} bytes, and the message had {length}")]
    Acknowledgement {
        /// Which one, from 0.
        index: u32,
        /// What it says, in bytes.
        said: u32,
        /// What was sent, in bytes.
        length: u32,
    },
}

/// The result of a connection's end, with `missing` bytes still to come.
pub(super) fn ended(missing: usize) -> Result<(), WireError> {
    match missing {
        0 => Ok(()),
        missing => Err(WireError::Truncated { missing }),
    }
}
