use super::{ACKNOWLEDGEMENT_BYTES, Limits, SETUP_BYTES, Setup, WireError, error::ended};

/// The task of a server after a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Read on.
    Nothing,
    /// The setup is whole, and accepted.
    Accepted(Setup),
    /// A message is whole: send this acknowledgement.
    Acknowledge([u8; ACKNOWLEDGEMENT_BYTES]),
}

/// A server's side of one connection.
#[derive(Clone, Debug)]
pub struct Exchange {
    limits: Limits,
    /// The setup as far as it came; its length stands for it once it is whole.
    head: [u8; SETUP_BYTES],
    head_bytes: usize,
    length: u32,
    messages_left: u32,
    message_bytes_left: usize,
}

impl Exchange {
    /// A connection on which nothing came yet.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            head: [0; SETUP_BYTES],
            head_bytes: 0,
            length: 0,
            messages_left: 0,
            message_bytes_left: 0,
        }
    }

    /// How many bytes are missing of the setup or message that comes now; 0: nothing more comes.
    pub fn wanted(&self) -> usize {
        if self.head_bytes < SETUP_BYTES {
            SETUP_BYTES - self.head_bytes
        } else {
            self.message_bytes_left
        }
    }

    /// Whether everything came that the setup announced.
    pub fn is_over(&self) -> bool {
        self.wanted() == 0
    }

    /// Take the next bytes, no more than are wanted; those of messages are only counted.
    ///
    /// # Errors
    /// [`WireError::Length`] and [`WireError::Count`] of a setup, [`WireError::Excess`]. The
    /// connection is then beyond repair.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Event, WireError> {
        let wanted = self.wanted();
        if bytes.len() > wanted {
            let excess = bytes.len() - wanted;
            return Err(WireError::Excess { excess });
        }
        if bytes.is_empty() {
            return Ok(Event::Nothing);
        }
        if self.head_bytes < SETUP_BYTES {
            self.push_setup(bytes)
        } else {
            Ok(self.push_message(bytes.len()))
        }
    }

    fn push_setup(&mut self, bytes: &[u8]) -> Result<Event, WireError> {
        self.head[self.head_bytes..][..bytes.len()].copy_from_slice(bytes);
        self.head_bytes += bytes.len();
        if self.head_bytes < SETUP_BYTES {
            return Ok(Event::Nothing);
        }
        let setup = self.limits.checked(Setup::from_bytes(self.head))?;
        self.length = setup.length;
        self.messages_left = setup.count;
        self.begin_message();
        Ok(Event::Accepted(setup))
    }

    fn push_message(&mut self, count: usize) -> Event {
        self.message_bytes_left -= count;
        if self.message_bytes_left > 0 {
            return Event::Nothing;
        }
        self.messages_left -= 1;
        self.begin_message();
        Event::Acknowledge(self.length.to_be_bytes())
    }

    fn begin_message(&mut self) {
        if self.messages_left > 0 {
            self.message_bytes_left = self.length as usize;
        }
    }

    /// The peer sends no more.
    ///
    /// # Errors
    /// [`WireError::Truncated`], when something was still to come.
    pub fn finish(&self) -> Result<(), WireError> {
        ended(self.wanted())
    }
}
