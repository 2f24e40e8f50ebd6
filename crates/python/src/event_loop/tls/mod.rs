//! Established TLS of asyncio, with OpenSSL called directly.

mod attributes;
mod openssl;
mod room;

use super::lent::LentSocket;
use crate::errors::os_error;
use attributes::Attributes;
use openssl::{Filled, OpenSsl, Undone};
use pyo3::{
    PyTraverseError, PyVisit,
    exceptions::{PyAttributeError, PyException, PyKeyboardInterrupt, PySystemExit, PyTypeError},
    intern,
    prelude::*,
    types::{PyMemoryView, PySlice, PyString},
};
use room::{Room, with_bytes};
use std::{cell::RefCell, io, os::fd::RawFd};
use tinygram_net::socket::{receive_now, send_now};

/// The most that is received at once; asyncio's own buffer has as much.
const RECEIVED_BYTES: usize = 256 << 10;

/// What is longer is encrypted by `ssl`, which lets other threads run meanwhile.
const MAX_BYTES: usize = 1 << 20;
/// What asyncio reports of such an error.
const TLS_FAILED: &str = "Fatal error on SSL protocol";

thread_local! {
    /// What was received last; it is used up before anything else happens on the thread's loop.
    static RECEIVED: RefCell<Vec<u8>> = RefCell::new(vec![0; RECEIVED_BYTES]);
}

/// What a message and a record take while nothing else is to be done; all else is `tls`'s own.
///
/// `tls` is an `EstablishedTls`, whose attributes are read at each call, since it goes on being used.
#[pyclass(frozen, module = "tinygram._native")]
pub struct StraightTls {
    tls: Attributes,
    /// The transport below, a `_SelectorSocketTransport`.
    below: Attributes,
    openssl: OpenSsl,
    fd: RawFd,
    /// The state in which the handshake is over.
    established: Py<PyAny>,
    /// The socket that the program gave, and may close under us.
    lent: Option<LentSocket>,
}

#[pymethods]
impl StraightTls {
    /// None where anything is not as known. `encryption`: the `_ssl._SSLSocket` of `tls`.
    #[staticmethod]
    #[pyo3(signature = (tls, below, encryption, established, lent_socket=None))]
    fn of(
        tls: &Bound<'_, PyAny>,
        below: &Bound<'_, PyAny>,
        encryption: &Bound<'_, PyAny>,
        established: Py<PyAny>,
        lent_socket: Option<Py<PyAny>>,
    ) -> PyResult<Option<Self>> {
        let py = tls.py();
        let made = || -> PyResult<Option<Self>> {
            let Some(openssl) = OpenSsl::of(encryption)? else {
                return Ok(None);
            };
            Ok(Some(Self {
                tls: Attributes::of(tls)?,
                below: Attributes::of(below)?,
                openssl,
                fd: below.getattr(intern!(py, "_sock_fd"))?.extract()?,
                established,
                lent: lent_socket.map(LentSocket::new),
            }))
        };
        match made() {
            Err(error) if is_unknown(py, &error) => Ok(None),
            made => made,
        }
    }

    /// Encrypt the message and send it.
    #[pyo3(signature = (data, /))]
    pub fn write(&self, data: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = data.py();
        let encrypted = if self.may_write(py)? {
            self.encrypt(data)
        } else {
            Encrypted::Part(0)
        };
        let taken = match encrypted {
            Encrypted::All => return self.sent(py),
            Encrypted::Part(taken) => taken,
        };
        let tls = self.tls.object(py);
        if taken == 0 {
            return tls.call_method1(intern!(py, "write"), (data,)).map(drop);
        }
        self.sent(py)?;
        let rest = PySlice::new(py, taken as isize, data.len()? as isize, 1);
        tls.call_method1(intern!(py, "write"), (data.get_item(rest)?,))
            .map(drop)
    }

    /// Receive what has come, decrypt it, and give it to the protocol.
    fn read_ready(&self, py: Python<'_>) -> PyResult<()> {
        let below = self.below.object(py);
        if !self.may_read(py)? || self.below.is_true(intern!(py, "_conn_lost"))? {
            let own = intern!(py, "_read_ready__get_buffer");
            return below.call_method0(own).map(drop);
        }
        match self.receive() {
            Ok(None) => Ok(()),
            Ok(Some(0)) => {
                let ended = intern!(py, "_read_ready__on_eof");
                below.call_method0(ended).map(drop)
            }
            Ok(Some(_)) => match self.arrived(py) {
                Err(error) if !ends_the_program(py, &error) => {
                    let text = "Fatal error: protocol.buffer_updated() call failed.";
                    fatal(below, error, text)
                }
                done => done,
            },
            Err(error) => {
                let text = "Fatal read error on socket transport";
                fatal(below, os_error(error), text)
            }
        }
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.tls.traverse(&visit)?;
        self.below.traverse(&visit)?;
        self.openssl.traverse(&visit)?;
        self.lent.iter().try_for_each(|lent| lent.traverse(&visit))
    }
}

/// How much of a message was encrypted. None of it: OpenSSL would not, and `ssl` has to say why.
enum Encrypted {
    All,
    Part(usize),
}

impl StraightTls {
    fn may_write(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.is_established(py)?
            && !self.tls.is_true(intern!(py, "_ssl_writing_paused"))?
            && !self.tls.is_true(intern!(py, "_write_backlog"))?)
    }

    fn may_read(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.is_established(py)?
            && !self.tls.is_true(intern!(py, "_app_reading_paused"))?
            && self.tls.is_true(intern!(py, "_app_protocol_is_buffer"))?)
    }

    /// Whether the handshake is over, and the descriptor still the connection's: asyncio says that TLS
    /// has ended before it closes the socket.
    fn is_established(&self, py: Python<'_>) -> PyResult<bool> {
        if !self.tls.get(intern!(py, "_state"))?.is(&self.established) {
            return Ok(false);
        }
        match &self.lent {
            Some(lent) => Ok(!lent.is_closed(py)?),
            None => Ok(true),
        }
    }

    /// A message without bytes is left to `ssl`, and a large one.
    fn encrypt(&self, data: &Bound<'_, PyAny>) -> Encrypted {
        let encrypted = |message: &[u8]| {
            if message.len() > MAX_BYTES {
                return Encrypted::Part(0);
            }
            match self.openssl.write(message) {
                Ok(taken) if taken == message.len() => Encrypted::All,
                Ok(taken) => Encrypted::Part(taken),
                Err(_) => Encrypted::Part(0),
            }
        };
        with_bytes(data, encrypted).unwrap_or(Encrypted::Part(0))
    }

    /// Send what is encrypted; an error ends the connection, as asyncio has it.
    fn sent(&self, py: Python<'_>) -> PyResult<()> {
        match self.send(py) {
            Err(error) if error.is_instance_of::<PyException>(py) => {
                fatal(self.tls.object(py), error, TLS_FAILED)
            }
            sent => sent,
        }
    }

    /// Send what is encrypted, through the transport below where the kernel does not take it.
    fn send(&self, py: Python<'_>) -> PyResult<()> {
        let below = &self.below;
        if !below.is_true(intern!(py, "_buffer"))? && !below.is_true(intern!(py, "_conn_lost"))? {
            let send = |ciphertext: &[u8]| send_now(self.fd, ciphertext, &[]);
            match self.openssl.take(send) {
                Ok(true) => return Ok(()),
                Ok(false) => {}
                Err(error) => {
                    let text = "Fatal write error on socket transport";
                    return fatal(below.object(py), os_error(error), text);
                }
            }
        }
        self.call(intern!(py, "_process_outgoing"))
    }

    /// Receive ciphertext into the connection's memory; returns how many bytes, None where none came.
    fn receive(&self) -> io::Result<Option<usize>> {
        RECEIVED.with_borrow_mut(|received| match receive_now(self.fd, received)? {
            Some(count) if !self.openssl.put(&received[..count]) => {
                Err(io::ErrorKind::OutOfMemory.into())
            }
            count => Ok(count),
        })
    }

    /// Decrypt what was received, and go on as asyncio's own protocol does.
    fn arrived(&self, py: Python<'_>) -> PyResult<()> {
        match self.read(py).and_then(|left| self.go_on(py, left)) {
            Err(error) if error.is_instance_of::<PyException>(py) => {
                fatal(self.tls.object(py), error, TLS_FAILED)
            }
            done => done,
        }
    }

    /// `left_bytes`: how much ciphertext is not decrypted.
    fn go_on(&self, py: Python<'_>, left_bytes: usize) -> PyResult<()> {
        if self.tls.is_true(intern!(py, "_write_backlog"))? {
            self.call(intern!(py, "_do_write"))?;
        } else if self.openssl.outgoing_bytes() > 0 {
            self.call(intern!(py, "_process_outgoing"))?;
        }
        let is_paused = self.tls.is_true(intern!(py, "_ssl_reading_paused"))?;
        if is_paused || left_bytes > 0 {
            self.call(intern!(py, "_control_ssl_reading"))?;
        }
        Ok(())
    }

    /// Fill the protocol's buffer with what can be decrypted; returns how much ciphertext is left.
    fn read(&self, py: Python<'_>) -> PyResult<usize> {
        let pending = self.openssl.incoming_bytes();
        let get_buffer = self.tls.get(intern!(py, "_app_protocol_get_buffer"))?;
        let into = get_buffer.call1((pending,))?;
        let (size, mut filled) = match Room::in_buffer(&into) {
            Some(mut room) => (room.bytes().len(), self.openssl.fill(room.bytes())),
            None => (0, Filled::nothing(pending)),
        };
        let is_ended = match filled.undone {
            None | Some(Undone::Incomplete) => false,
            Some(undone) => self.ask(&into, &mut filled.bytes, undone)?,
        };
        if filled.bytes > 0 {
            if filled.bytes == size {
                let more = self.tls.get(intern!(py, "_do_read"))?;
                self.tls
                    .get(intern!(py, "_loop"))?
                    .call_method1(intern!(py, "call_soon"), (more,))?;
            }
            self.tls
                .get(intern!(py, "_app_protocol_buffer_updated"))?
                .call1((filled.bytes,))?;
        }
        if is_ended {
            self.call(intern!(py, "_call_eof_received"))?;
            self.call(intern!(py, "_start_shutdown"))?;
        }
        Ok(filled.left_bytes)
    }

    /// Ask `ssl` to read on after `filled` bytes, where OpenSSL has not. Returns whether the stream is
    /// over; raises the connection's error, or that of a buffer that cannot be written.
    fn ask(&self, into: &Bound<'_, PyAny>, filled: &mut usize, undone: Undone) -> PyResult<bool> {
        let py = into.py();
        let left = match *filled {
            0 => into.clone(),
            _ => {
                let bytes = PyMemoryView::from(into)?.call_method1(intern!(py, "cast"), ("B",))?;
                bytes.get_item(PySlice::new(py, *filled as isize, isize::MAX, 1))?
            }
        };
        let encryption = self.tls.get(intern!(py, "_sslobj"))?;
        let read = encryption.call_method1(intern!(py, "read"), (left.len()?, left));
        let failed = undone == Undone::Failed;
        match read {
            Ok(count) if !failed => {
                let count: usize = count.extract()?;
                *filled += count;
                Ok(count == 0)
            }
            Err(error) if !failed && is_again(py, &error)? => Ok(false),
            Err(error) if !is_again(py, &error)? => Err(error),
            _ => Err(tls_error(py)?),
        }
    }

    fn call(&self, name: &Bound<'_, PyString>) -> PyResult<()> {
        self.tls.object(name.py()).call_method0(name).map(drop)
    }
}

/// Whether the error says that more has to come first.
fn is_again(py: Python<'_>, error: &PyErr) -> PyResult<bool> {
    let module = py.import(intern!(py, "asyncio.sslproto"))?;
    Ok(error.matches(py, module.getattr(intern!(py, "SSLAgainErrors"))?)?)
}

/// The error of a connection of which `ssl` does not know that it has failed.
fn tls_error(py: Python<'_>) -> PyResult<PyErr> {
    let class = py
        .import(intern!(py, "ssl"))?
        .getattr(intern!(py, "SSLError"))?;
    Ok(PyErr::from_value(
        class.call1(("the TLS connection failed",))?,
    ))
}

/// Whether the error says that something has no such attribute, or is of another kind.
fn is_unknown(py: Python<'_>, error: &PyErr) -> bool {
    error.is_instance_of::<PyAttributeError>(py) || error.is_instance_of::<PyTypeError>(py)
}

/// Whether asyncio, too, lets the error through.
fn ends_the_program(py: Python<'_>, error: &PyErr) -> bool {
    error.is_instance_of::<PySystemExit>(py) || error.is_instance_of::<PyKeyboardInterrupt>(py)
}

/// End the connection with this error, as its owner does.
fn fatal(owner: &Bound<'_, PyAny>, error: PyErr, text: &str) -> PyResult<()> {
    let name = intern!(owner.py(), "_fatal_error");
    owner.call_method1(name, (error, text)).map(drop)
}
