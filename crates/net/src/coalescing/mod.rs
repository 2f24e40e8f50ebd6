//! One connection, many threads: senders write a few messages themselves while the connection is
//! idle; held messages are written by one thread of the process, or by the next sender if that is late.
//!
//! Laws: `send` never waits for the peer, [`CoalescingSocket::wait_room`] does; bytes leave in the
//! order in which `send` took them, each once; what was taken is delivered, or a [`Failure`] says
//! what was not. The writing thread calls no foreign code and takes no lock but a connection's own.

mod connection;
mod failure;
#[cfg_attr(all(test, loom), path = "models/ground.rs")]
mod ground;
mod handoff;
mod leftover;
mod served;
#[cfg_attr(all(test, loom), path = "models/writer.rs")]
mod writer;

#[cfg(all(test, loom))]
mod models;
#[cfg(all(test, not(loom)))]
mod tests;

pub use failure::{Failure, FlushError, SendError};
pub use leftover::Leftover;

use crate::clock::after_ns;
use connection::Connection;
use ground::AtomicPtr;
use std::{
    io::{self, ErrorKind},
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd},
    sync::{Arc, atomic::Ordering},
    time::Duration,
};
use tinygram_core::{Coalescer, KnobError, Knobs, Stats, Strategy};
use writer::Writer;

const NO_TICK: &str = "the strategy tick is for event loops: threads have combine";

/// Sends messages of many threads on one connected stream socket.
///
/// All methods take `&self`: share it by reference or in an `Arc`. A timeout of [`Duration::MAX`]
/// never ends. A child process (fork) does not have the messages that its parent held: the parent
/// sends them.
///
/// ```
/// # use std::{io::Read, net::{TcpListener, TcpStream}, time::Duration};
/// # use tinygram_net::{CoalescingSocket, Knobs, Strategy};
/// # let listener = TcpListener::bind("127.0.0.1:0")?;
/// # let address = listener.local_addr()?;
/// let stream = TcpStream::connect(address)?;
/// stream.set_nodelay(true)?;
/// let socket = CoalescingSocket::new(&stream, Knobs::of_threads(Strategy::Adaptive))?;
/// std::thread::scope(|scope| {
///     for name in ["one ", "two ", "six "] {
///         let socket = &socket;
///         scope.spawn(move || socket.send_timeout(name.as_bytes(), Duration::from_secs(5)));
///     }
/// });
/// socket.close(Duration::from_secs(5))?;
/// # let mut all = String::new();
/// # listener.accept()?.0.read_to_string(&mut all)?;
/// # assert_eq!(all.len(), 12);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct CoalescingSocket {
    fd: Arc<OwnedFd>,
    knobs: Knobs,
    /// The pointer of an `Arc`. A child process puts its own in place of its parent's, whose locks
    /// may be locked for ever.
    connection: AtomicPtr<Connection>,
}

impl CoalescingSocket {
    /// The most bytes that are held if [`Knobs::max_buffered_bytes`] is `None`.
    pub const MAX_BUFFERED_BYTES: usize = 1 << 20;

    /// Send on `socket`, a connected stream socket (TCP or Unix), through a descriptor of our own,
    /// which stays open when `socket` is closed. Nobody else may write to it from now on; reading
    /// is the caller's business. It may be blocking or not, and stays as it is; the caller sets
    /// TCP_NODELAY as [`Strategy::wants_nodelay`] says.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] when a knob is outside its range (a [`KnobError`]) or the strategy
    /// is [`Strategy::Tick`]; what the kernel says when it has no descriptor to give.
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

    /// Take a message if all that is to be done is to hold it after others; returns whether it was taken.
    #[doc(hidden)] // A short way of `send` for the Python module.
    #[inline]
    #[must_use]
    pub fn hold_with_others(&self, message: &[u8]) -> bool {
        self.connection().hold_with_others(message)
    }

    /// Take a whole message, to be written now or later. Never waits. A message larger than all that
    /// may be held is taken only while nothing is held.
    ///
    /// # Errors
    /// [`SendError`], which says whether the message was taken. After [`SendError::NoRoom`] call
    /// [`CoalescingSocket::wait_room`] and try again, or [`CoalescingSocket::send_timeout`], which
    /// does so.
    pub fn send(&self, message: &[u8]) -> Result<(), SendError> {
        self.shared().send(message)
    }

    /// [`CoalescingSocket::send`] each message, in order, until one is not taken; the writing thread is
    /// told once for many. Returns how many were taken, and why no more were: [`SendError::Failed`] may
    /// count the last of those taken as unsent.
    #[doc(hidden)] // For the Python module, which knows how many it has.
    pub fn send_many<'a>(
        &self,
        messages: impl IntoIterator<Item = &'a [u8]>,
    ) -> (usize, Result<(), SendError>) {
        self.shared().send_many(messages)
    }

    /// Like [`CoalescingSocket::send`], but waits for room while the peer takes nothing.
    ///
    /// # Errors
    /// Those of `send`; [`SendError::NoRoom`] when there was no room in time.
    pub fn send_timeout(&self, message: &[u8], timeout: Duration) -> Result<(), SendError> {
        let connection = self.shared();
        let mut sent = connection.send(message);
        if matches!(sent, Err(SendError::NoRoom { .. })) {
            let until_ns = after_ns(timeout);
            while matches!(sent, Err(SendError::NoRoom { .. }))
                && connection.wait_room(message.len(), until_ns)
            {
                sent = connection.send(message);
            }
        }
        sent
    }

    /// Wait until there is room for a message of `bytes`, or until the next `send` fails anyway;
    /// false: the timeout ended first. Another thread may take the room.
    #[must_use]
    pub fn wait_room(&self, bytes: usize, timeout: Duration) -> bool {
        self.shared().wait_room(bytes, after_ns(timeout))
    }

    /// Wait until the kernel has taken all that was handed over before this call.
    ///
    /// # Errors
    /// [`FlushError`]; after [`FlushError::TimedOut`] what is held stays held, and is written when
    /// the peer takes it.
    pub fn flush(&self, timeout: Duration) -> Result<(), FlushError> {
        self.flush_first(self.handed_over_bytes(), timeout)
    }

    /// How many bytes were handed over so far, in all.
    pub fn handed_over_bytes(&self) -> u64 {
        self.connection().handed_over_bytes()
    }

    /// Like [`CoalescingSocket::flush`], for the first `bytes` of all that was handed over: a caller
    /// that waits in slices, while others go on sending, waits for the same bytes in each.
    ///
    /// # Errors
    /// Those of [`CoalescingSocket::flush`].
    pub fn flush_first(&self, bytes: u64, timeout: Duration) -> Result<(), FlushError> {
        self.shared().flush(bytes, after_ns(timeout))
    }

    /// Take no more messages, and wait until the peer's kernel has acknowledged all that was handed
    /// over; then the connection ends both ways. Where nobody acknowledges (Unix sockets), it is enough
    /// that the kernel has taken the bytes. Only the peer can say whether its program has read them.
    ///
    /// # Errors
    /// [`FlushError`]: bytes that were not sent by then never are.
    pub fn close(&self, timeout: Duration) -> Result<(), FlushError> {
        self.refuse_more();
        let delivered = self.deliver(timeout);
        self.end();
        delivered
    }

    /// Take no more messages: from now on `send` fails. What is held is still written.
    pub fn refuse_more(&self) {
        self.connection().close();
    }

    /// Wait until the peer's kernel has all that was handed over, and end our side of the
    /// connection; call [`Self::refuse_more`] first. It may be called again after a timeout.
    ///
    /// # Errors
    /// Those of [`CoalescingSocket::close`], but what is held stays held.
    pub fn deliver(&self, timeout: Duration) -> Result<(), FlushError> {
        let until_ns = after_ns(timeout);
        let connection = self.shared();
        connection.flush(u64::MAX, until_ns)?;
        connection.descriptor.end_stream();
        connection.wait_acknowledged(until_ns)
    }

    /// Take no more messages, and forget those that are held; returns how many bytes that was.
    pub fn abort(&self) -> usize {
        self.refuse_more();
        self.shared().discard()
    }

    /// [`CoalescingSocket::abort`], and end the connection both ways, even if others have it open; bytes
    /// that the kernel took are still sent. A child process does not end its parent's connection.
    pub fn end(&self) {
        self.abort();
        self.connection().descriptor.end_both_ways();
    }

    /// How many bytes were handed over that the kernel has not taken.
    pub fn held_bytes(&self) -> usize {
        self.connection().held_bytes()
    }

    /// A handle to the held bytes, which outlives this socket.
    #[doc(hidden)]
    pub fn leftover(&self) -> Leftover {
        Leftover::of(&self.shared())
    }

    /// Why the connection failed, if it did.
    pub fn failure(&self) -> Option<Failure> {
        self.connection().failure()
    }

    /// The counts so far.
    pub fn stats(&self) -> Stats {
        self.connection().stats()
    }

    fn connection(&self) -> &Connection {
        // SAFETY: the connection of `raw` lives as long as `self`.
        unsafe { &*self.raw() }
    }

    fn shared(&self) -> Arc<Connection> {
        let connection = self.raw();
        // SAFETY: `connection` was made by `Arc::into_raw`; the count goes up, so that ours stays.
        unsafe {
            Arc::increment_strong_count(connection);
            Arc::from_raw(connection)
        }
    }

    /// The pointer of `Arc::into_raw`, released when `self` is dropped, or never if replaced.
    fn raw(&self) -> *mut Connection {
        let current = self.connection.load(Ordering::Acquire);
        // SAFETY: `current` is not released before `self` is dropped.
        if unsafe { (*current).descriptor.is_of_parent() } {
            return self.replace(current);
        }
        current
    }

    /// This process is a child: replace the parent's connection, for what the parent held is not ours.
    #[cold]
    fn replace(&self, old: *mut Connection) -> *mut Connection {
        let new = connection_of(&self.fd, true, self.knobs).expect("its knobs were checked");
        match self
            .connection
            .compare_exchange(old, new, Ordering::AcqRel, Ordering::Acquire)
        {
            Ok(_) => {
                // SAFETY: `old` lives for ever, and was just replaced, once, by us.
                unsafe { leave_to_parent(old) };
                new
            }
            // Another thread was first.
            Err(theirs) => {
                // SAFETY: `new` was made by `Arc::into_raw`, and nobody else has it.
                drop(unsafe { Arc::from_raw(new) });
                theirs
            }
        }
    }
}

/// Wait until every connection of this process has written what it held, including those of dropped
/// sockets. Call it before the process ends.
///
/// # Errors
/// One for each connection that has not written all in time, or whose failure no caller was told.
pub fn flush_all(timeout: Duration) -> Result<(), Vec<FlushError>> {
    let until_ns = after_ns(timeout);
    let errors = Writer::current().map_or_else(Vec::new, |writer| writer.flush_all(until_ns));
    if errors.is_empty() {
        Ok(())
    } else {
        Err(errors)
    }
}

/// Release only the descriptor of a parent's connection, so that the peer sees the end when all others
/// have closed theirs. The connection's locks may be locked for ever, and stay where they are.
///
/// # Safety
/// `connection` was made by `connection_of` in a parent process, and nobody calls this twice for it.
unsafe fn leave_to_parent(connection: *const Connection) {
    // SAFETY: a child still reads only the connection's generation: its reference to the descriptor is
    // ours to release.
    unsafe { Arc::decrement_strong_count((*connection).descriptor.shared_fd()) }
}

/// Make a connection. Returns the pointer of `Arc::into_raw`, which the caller must release.
fn connection_of(
    fd: &Arc<OwnedFd>,
    is_inherited: bool,
    knobs: Knobs,
) -> Result<*mut Connection, KnobError> {
    let max_buffered_bytes = knobs
        .max_buffered_bytes
        .unwrap_or(CoalescingSocket::MAX_BUFFERED_BYTES);
    let mut rule = knobs.checked()?;
    rule.max_buffered_bytes = None; // `Connection` checks it: what the thread took counts, too.
    let coalescer = Coalescer::of_threads(rule)?;
    let connection = Connection::new(Arc::clone(fd), is_inherited, coalescer, max_buffered_bytes);
    Ok(Arc::into_raw(Arc::new(connection)).cast_mut())
}

// An AtomicPtr is Sync whatever it points to, so check that its target is.
const _: () = {
    const fn is_shared<T: Send + Sync>() {}
    is_shared::<Connection>();
    is_shared::<CoalescingSocket>();
};

impl AsFd for CoalescingSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl AsRawFd for CoalescingSocket {
    fn as_raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

impl Drop for CoalescingSocket {
    /// What is held is still written, if the process lives: see [`flush_all`]. The connection stays
    /// open until then.
    fn drop(&mut self) {
        let connection = self.connection.load(Ordering::Acquire);
        // SAFETY: `connection` was made by `Arc::into_raw`, and this is the only release.
        unsafe {
            if (*connection).descriptor.is_of_parent() {
                leave_to_parent(connection);
            } else {
                drop(Arc::from_raw(connection));
            }
        }
    }
}
