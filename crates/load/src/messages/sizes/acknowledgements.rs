use super::{ACKNOWLEDGEMENT_BYTES, Setup, WireError, error::ended};

/// A client's side of one connection: the acknowledgements that come back.
#[derive(Clone, Debug)]
pub struct Acknowledgements {
    setup: Setup,
    received: u32,
    partial: [u8; ACKNOWLEDGEMENT_BYTES],
    partial_bytes: usize,
}

impl Acknowledgements {
    /// The acknowledgements of `setup`'s messages, of which none has come yet.
    pub fn new(setup: Setup) -> Self {
        Self {
            setup,
            received: 0,
            partial: [0; ACKNOWLEDGEMENT_BYTES],
            partial_bytes: 0,
        }
    }

    /// How many bytes of the next acknowledgement are missing; 0: none is left.
    pub fn wanted(&self) -> usize {
        if self.received == self.setup.count {
            0
        } else {
            ACKNOWLEDGEMENT_BYTES - self.partial_bytes
        }
    }

    /// Take the next bytes, no more than are wanted. Returns whether a message is acknowledged now.
    ///
    /// # Errors
    /// [`WireError::Acknowledgement`], [`WireError::Excess`].
    pub fn push(&mut self, bytes: &[u8]) -> Result<bool, WireError> {
        let wanted = self.wanted();
        if bytes.len() > wanted {
            let excess = bytes.len() - wanted;
            return Err(WireError::Excess { excess });
        }
        self.partial[self.partial_bytes..][..bytes.len()].copy_from_slice(bytes);
        self.partial_bytes += bytes.len();
        if self.partial_bytes < ACKNOWLEDGEMENT_BYTES {
            return Ok(false);
        }
        let said = u32::from_be_bytes(self.partial);
        if said != self.setup.length {
            return Err(WireError::Acknowledgement {
                index: self.received,
                said,
                length: self.setup.length,
            });
        }
        self.partial_bytes = 0;
        self.received += 1;
        Ok(true)
    }

    /// The peer sends no more.
    ///
    /// # Errors
    /// [`WireError::Truncated`], when an acknowledgement was still to come.
    pub fn finish(&self) -> Result<(), WireError> {
        ended(self.wanted())
    }
}
