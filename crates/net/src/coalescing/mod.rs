//! One connection, many threads: messages are written at once while the connection is idle, and
//! otherwise gathered and written by one thread of the process.
//!
//! Laws: `send` never waits for the peer, [`CoalescingSocket::wait_room`] does; bytes leave in the
//! order in which `send` took them, each once; what was taken is delivered, or a [`Failure`] says
//! what was not. The writing thread calls nobody's code and takes no lock but a connection's own.

mod connection;
mod failure;
#[cfg_attr(all(test, loom), path = "modelled_ground.rs")]
mod ground;
mod handoff;
mod state;
#[cfg(not(all(test, loom)))]
mod writer;

#[cfg(all(test, loom))]
mod models;
#[cfg(all(test, not(loom)))]
mod tests;

pub use failure::{Failure, FlushError, SendError};

use connection::Connection;
use ground::{AtomicPtr, Writer};
use std::{
    io::{self, ErrorKind},
    os::fd::{AsFd, AsRawFd, OwnedFd, RawFd},
    ptr,
    sync::{Arc, atomic::Ordering},
};
use tinygram_core::{Coalescer, KnobError, Knobs, Stats, Strategy};

const NO_TICK: &str = "the strategy tick is for event loops: threads have combine";

/// Sends messages of many threads on one connected stream socket.
#[derive(Debug)]
pub struct CoalescingSocket {
    fd: Arc<OwnedFd>,
    knobs: Knobs,
    /// An `Arc` made raw. A child process puts its own in place of its parent's, whose locks may
    /// be locked for ever.
    connection: AtomicPtr<Connection>,
}

impl CoalescingSocket {
    /// What is held at most by default, in bytes.
    pub const MAX_BUFFERED_BYTES: usize = 1 << 20;

    /// Send on `socket`, a connected stream socket, through a descriptor of our own: who closes
    /// `socket` does not take it from us. The socket's modes are not changed.
    ///
    /// # Errors
    /// When the knobs are outside their range, or there is no descriptor to be had.
    pub fn new(socket: impl AsFd, knobs: Knobs) -> io::Result<Self> {
        if knobs.strategy == Strategy::Tick {
            return Err(io::Error::new(ErrorKind::InvalidInput, NO_TICK));
        }
        let fd = Arc::new(socket.as_fd().try_clone_to_owned()?);
        let connection = connection_of(&fd, false, knobs)
            .map_err(|error| io::Error::new(ErrorKind::InvalidInput, error))?;
        Ok(Self {
            fd,
            knobs,
            connection: AtomicPtr::new(connection),
        })
    }

    /// Take a message, if it is held like those before it and nothing else is to do.
    #[inline]
    pub fn hold_with_others(&self, message: &[u8]) -> bool {
        self.connection().hold_with_others(message)
    }

    /// Take a message: written now or later, whole. Never waits.
    ///
    /// # Errors
    /// `NoRoom`: nothing of it was taken; call [`CoalescingSocket::wait_room`] and try again.
    pub fn send(&self, message: &[u8]) -> Result<(), SendError> {
        self.shared().send(message)
    }

    /// Wait until there is room for a message of `bytes`, or until `until_ns`; false then.
    pub fn wait_room(&self, bytes: usize, until_ns: u64) -> bool {
        self.connection().wait_room(bytes, until_ns)
    }

    /// Wait until the kernel has taken all that was handed over before this call.
    ///
    /// # Errors
    /// When the connection failed, or `until_ns` came first: what is held stays so.
    pub fn flush(&self, until_ns: u64) -> Result<(), FlushError> {
        self.flush_first(self.handed_over_bytes(), until_ns)
    }

    /// How many bytes were handed over so far, in all.
    pub fn handed_over_bytes(&self) -> u64 {
        self.connection().handed_over_bytes()
    }

    /// As [`CoalescingSocket::flush`], for the first `bytes` of all that was handed over: whoever
    /// waits in slices, while others go on sending, waits for the same bytes in each.
    ///
    /// # Errors
    /// As [`CoalescingSocket::flush`].
    pub fn flush_first(&self, bytes: u64, until_ns: u64) -> Result<(), FlushError> {
        self.shared().flush(bytes, until_ns)
    }

    /// Take no more messages, and wait until the peer's kernel has all that was handed over; then
    /// the connection ends both ways.
    ///
    /// # Errors
    /// When the connection failed, or `until_ns` came first: what was not sent by then never is.
    pub fn close(&self, until_ns: u64) -> Result<(), FlushError> {
        self.refuse_more();
        let delivered = self.deliver(until_ns);
        self.end();
        delivered
    }

    /// Take no more messages.
    pub fn refuse_more(&self) {
        self.connection().close();
    }

    /// Wait until the peer's kernel has all that was handed over, and end our side of the
    /// connection; for one that takes no more messages. It may be called again after a timeout.
    ///
    /// # Errors
    /// As [`CoalescingSocket::close`], but what is held stays so.
    pub fn deliver(&self, until_ns: u64) -> Result<(), FlushError> {
        let connection = self.shared();
        connection.flush(u64::MAX, until_ns)?;
        connection.end_stream();
        connection.wait_acknowledged(until_ns)
    }

    /// Take no more messages, and forget those that are held; how many bytes that was.
    pub fn abort(&self) -> usize {
        self.refuse_more();
        self.shared().discard()
    }

    /// [`CoalescingSocket::abort`], and end the connection both ways, whoever else has it; what the
    /// kernel took is still sent. In a child process it goes on: it is the parent's.
    pub fn end(&self) {
        self.abort();
        self.connection().end_both_ways();
    }

    /// What is held, in bytes.
    pub fn held_bytes(&self) -> usize {
        self.connection().held_bytes()
    }

    /// Why the connection failed, if it did.
    pub fn failure(&self) -> Option<Failure> {
        self.connection().failure()
    }

    /// What happened so far.
    pub fn stats(&self) -> Stats {
        self.connection().stats()
    }

    fn connection(&self) -> &Connection {
        // SAFETY: it was made by `Arc::into_raw` and is released only when `self` is dropped; what
        // a child process replaces is never released.
        let connection = unsafe { &*self.connection.load(Ordering::Acquire) };
        if connection.is_of_parent() {
            return self.replace(connection);
        }
        connection
    }

    fn shared(&self) -> Arc<Connection> {
        let connection: *const Connection = self.connection();
        // SAFETY: as in `connection`; the count goes up, so that ours stays.
        unsafe {
            Arc::increment_strong_count(connection);
            Arc::from_raw(connection)
        }
    }

    /// This process is a child: nothing that the parent held is ours.
    #[cold]
    fn replace(&self, of_parent: &Connection) -> &Connection {
        let old = ptr::from_ref(of_parent).cast_mut();
        let new = connection_of(&self.fd, true, self.knobs).expect("its knobs were checked");
        match self
            .connection
            .compare_exchange(old, new, Ordering::AcqRel, Ordering::Acquire)
        {
            // SAFETY: as in `connection`.
            Ok(_) => unsafe { &*new },
            // Another thread was first.
            Err(theirs) => {
                // SAFETY: `new` was made by `Arc::into_raw`, and nobody else has it; `theirs` as
                // in `connection`.
                unsafe {
                    drop(Arc::from_raw(new));
                    &*theirs
                }
            }
        }
    }
}

/// Wait until every connection of this process has written what it held, dropped sockets'
/// included: what is to be done before the process ends.
///
/// # Errors
/// Of each connection that had not written all by `until_ns`, or failed and nobody was told, why.
pub fn flush_all(until_ns: u64) -> Result<(), Vec<FlushError>> {
    let Some(writer) = Writer::current() else {
        return Ok(());
    };
    let living = writer.connections();
    let mut errors: Vec<_> = living
        .iter()
        .filter(|connection| connection.has_loose_ends())
        .filter_map(|connection| connection.flush(u64::MAX, until_ns).err())
        .collect();
    drop(living);
    errors.extend(writer.take_untold().into_iter().map(FlushError::from));
    if errors.is_empty() {
        Ok(())
    } else {
        Err(errors)
    }
}

/// A connection that nobody has yet.
fn connection_of(
    fd: &Arc<OwnedFd>,
    is_inherited: bool,
    knobs: Knobs,
) -> Result<*mut Connection, KnobError> {
    let max_buffered_bytes = knobs
        .max_buffered_bytes
        .unwrap_or(CoalescingSocket::MAX_BUFFERED_BYTES);
    let coalescer = Coalescer::new(Knobs {
        max_buffered_bytes: None,
        ..knobs
    })?;
    let connection = Connection::new(Arc::clone(fd), is_inherited, coalescer, max_buffered_bytes);
    Ok(Arc::into_raw(Arc::new(connection)).cast_mut())
}

impl AsRawFd for CoalescingSocket {
    fn as_raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

impl Drop for CoalescingSocket {
    /// What is held is still written; the connection stays open until then.
    fn drop(&mut self) {
        let connection = self.connection.load(Ordering::Acquire);
        // SAFETY: it was made by `Arc::into_raw`, and this is the only release. A parent's is left
        // alone: its writing thread is not here to use it.
        unsafe {
            if !(*connection).is_of_parent() {
                drop(Arc::from_raw(connection));
            }
        }
    }
}
