//! The kernel's answers (linux/netlink.h): messages and attributes, read or refused. No I/O.
//!
//! Every length is checked before it is used.

use thiserror::Error;

pub(crate) const HEADER_BYTES: usize = 16;
pub(crate) const ATTRIBUTE_HEADER_BYTES: usize = 4;
/// NLA_TYPE_MASK: the other two bits say how an attribute is stored.
const ATTRIBUTE_KIND: u16 = 0x3fff;

pub(crate) const NLMSG_ERROR: u16 = 2;
pub(crate) const NLMSG_DONE: u16 = 3;

/// Why an answer is malformed.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ReplyError {
    /// A part is shorter than it must be, or longer than what came.
    #[error("{part} of {length} bytes: at least {least}, at most the {room} that came")]
    Length {
        /// Which part.
        part: &'static str,
        /// The length that the part states, or how much of it came, in bytes.
        length: usize,
        /// The least length of such a part, in bytes.
        least: usize,
        /// How many bytes of the answer are left.
        room: usize,
    },
    /// A number that is not known here; a newer kernel may use it.
    #[error("{what} {number}, where {known} are known")]
    Unknown {
        /// What has that number.
        what: &'static str,
        /// The number that came.
        number: u8,
        /// The numbers that are known.
        known: &'static str,
    },
}

/// What comes after a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Another datagram.
    More,
    /// Nothing.
    Done,
    /// Nothing; the kernel refuses, with this errno.
    Failed(i32),
}

/// Read a datagram from any part of the kernel: `take` gets the kind and the body of each message in
/// it. Messages that answer another request are skipped.
///
/// # Errors
/// [`ReplyError`], also one of `take`; messages before it were taken.
pub fn messages(
    datagram: &[u8],
    sequence: u32,
    mut take: impl FnMut(u16, &[u8]) -> Result<(), ReplyError>,
) -> Result<Outcome, ReplyError> {
    let mut rest = datagram;
    while !rest.is_empty() {
        let length = length_within("a netlink message", rest, HEADER_BYTES, |header| {
            word(header, 0) as usize
        })?;
        let (kind, answers) = (half(rest, 4), word(rest, 8));
        let body = &rest[HEADER_BYTES..length];
        if answers == sequence {
            match kind {
                NLMSG_ERROR | NLMSG_DONE => return Ok(end(body)),
                _ => take(kind, body)?,
            }
        }
        rest = after(rest, length);
    }
    Ok(Outcome::More)
}

/// Read attributes: `take` gets the kind and the value of each.
///
/// # Errors
/// [`ReplyError::Length`]; attributes before it were taken.
pub fn attributes(bytes: &[u8], mut take: impl FnMut(u16, &[u8])) -> Result<(), ReplyError> {
    let mut rest = bytes;
    while !rest.is_empty() {
        let length = length_within("an attribute", rest, ATTRIBUTE_HEADER_BYTES, |header| {
            half(header, 0).into()
        })?;
        take(
            half(rest, 2) & ATTRIBUTE_KIND,
            &rest[ATTRIBUTE_HEADER_BYTES..length],
        );
        rest = after(rest, length);
    }
    Ok(())
}

/// The length that the part at the beginning of `rest` states, in bytes.
///
/// # Errors
/// When that is less than `least`, or more than came.
pub fn length_within(
    part: &'static str,
    rest: &[u8],
    least: usize,
    said: impl FnOnce(&[u8]) -> usize,
) -> Result<usize, ReplyError> {
    let room = rest.len();
    let length = if room < least { room } else { said(rest) };
    if (least..=room).contains(&length) {
        Ok(length)
    } else {
        Err(ReplyError::Length {
            part,
            length,
            least,
            room,
        })
    }
}

/// The bytes after a part of `length` bytes: the next part begins at a multiple of 4.
fn after(rest: &[u8], length: usize) -> &[u8] {
    &rest[length.next_multiple_of(4).min(rest.len())..]
}

/// The end of a dump, or an error message: both begin with a negative errno, or 0.
fn end(body: &[u8]) -> Outcome {
    match body.first_chunk().copied().map(i32::from_ne_bytes) {
        Some(error) if error < 0 => Outcome::Failed(error.wrapping_neg()),
        _ => Outcome::Done,
    }
}

pub(crate) fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("4 bytes"))
}

pub(crate) fn half(bytes: &[u8], at: usize) -> u16 {
    u16::from_ne_bytes(bytes[at..at + 2].try_into().expect("2 bytes"))
}
