//! One sample of `sizes`: a connection, its time split into connect, setup, transfer.
//!
//! Laws: sockets, options and the messages' bytes are made before the clock starts; a sample is over
//! when the server has ended the connection; what is not exactly as the protocol says fails it.
//!
//! A server that acknowledges a message before it has all of it would get figures that are too good.
//! Some of the measured samples look for acknowledgements that come before a message is sent, and leave
//! out the time of the look; one sample that is in no figure looks for those that come when only a part
//! of the message is sent.

use super::faults::{Fault, Stage};
use crate::{
    messages::{ACKNOWLEDGEMENT_BYTES, Acknowledgements, Setup, WireError},
    socket::{admission::Admission, connect, has_readable, receive_some, send_all, unconnected},
};
use std::{
    io::{self, ErrorKind, IoSlice, Write},
    net::{Shutdown, SocketAddr, TcpStream},
    os::fd::AsRawFd,
    thread::sleep,
    time::Duration,
};
use tinygram_net::{clock::monotonic_ns, socket::tcp_info};

/// How long, beyond two round trips, the last byte of a message is withheld once.
const PATIENCE: Duration = Duration::from_millis(10);

/// The options of all samples of a case.
#[derive(Clone, Debug)]
pub struct Options {
    /// The server's address.
    pub address: SocketAddr,
    /// The setup that is sent to the server.
    pub setup: Setup,
    /// Whether the setup leaves with the first message, in one write; otherwise alone, before it.
    pub is_setup_joined: bool,
    /// TCP_NODELAY.
    pub is_nodelay: bool,
    /// Congestion control of the connections.
    pub congestion_control: String,
    /// How the server recognizes the connections.
    pub admission: Admission,
    /// The timeout of each connect, each write and each acknowledgement.
    pub timeout: Duration,
}

/// The times of a sample's parts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    /// From the call to the established connection.
    pub connect_ns: u64,
    /// The write of the setup.
    pub setup_ns: u64,
    /// From the end of the setup to the last acknowledgement.
    pub transfer_ns: u64,
}

/// The segments of the samples since this was last reset, from TCP_INFO.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Segments {
    /// Sent again.
    pub again: u64,
    /// Sent, with data.
    pub with_data: u64,
    /// The largest that the last connection sent, in bytes.
    pub mss_bytes: u64,
}

/// How a sample looks for acknowledgements that came too early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    Never,
    /// Before each message.
    BeforeMessages,
    /// Before each message, and before the first one's last byte, which is withheld for a while.
    BeforeLastByte,
}

/// Takes the samples of a case.
#[derive(Debug)]
pub(super) struct Sampler {
    options: Options,
    /// When each message of the last sample was acknowledged.
    acknowledged_ns: Vec<u64>,
    pub segments: Segments,
}

impl Sampler {
    pub fn new(options: Options) -> Self {
        Self {
            acknowledged_ns: Vec::with_capacity(options.setup.count as usize),
            options,
            segments: Segments::default(),
        }
    }

    pub fn has_messages(&self) -> bool {
        self.options.setup.count > 0
    }

    /// Whether the setup leaves with the first message.
    pub fn is_joined(&self) -> bool {
        self.options.is_setup_joined && self.has_messages()
    }

    /// When each message of the last sample was acknowledged, without the time of looks.
    pub fn acknowledged_ns(&self) -> &[u64] {
        &self.acknowledged_ns
    }

    /// Take a sample, whose messages are the first bytes of `content`.
    pub fn sample(&mut self, content: &[u8], look: Look) -> Result<Times, (Stage, Fault)> {
        let stream = self
            .socket()
            .map_err(|error| (Stage::Connect, Fault::Io(error)))?;
        self.acknowledged_ns.clear();
        let start_ns = monotonic_ns();
        let connected = connect(&stream, self.options.address);
        connected.map_err(|error| (Stage::Connect, self.fault(error)))?;
        let connected_ns = monotonic_ns();
        let introduced = self
            .options
            .admission
            .introduce(&stream, self.options.timeout);
        introduced.map_err(|error| (Stage::Setup, self.fault(error)))?;
        let introduced_ns = monotonic_ns();
        let mut set_up_ns = introduced_ns;
        if !self.is_joined() {
            let sent = send_all(stream.as_raw_fd(), &self.options.setup.to_bytes());
            sent.map_err(|error| (Stage::Setup, self.fault(error)))?;
            set_up_ns = monotonic_ns();
        }
        let patience = PATIENCE + 2 * Duration::from_nanos(connected_ns - start_ns);
        self.transfer(&stream, content, look, patience)?;
        self.end(&stream).map_err(|fault| (Stage::End, fault))?;
        let over_ns = self.acknowledged_ns.last().copied().unwrap_or(set_up_ns);
        Ok(Times {
            connect_ns: connected_ns - start_ns,
            setup_ns: set_up_ns - introduced_ns,
            transfer_ns: over_ns - set_up_ns,
        })
    }

    fn socket(&self) -> io::Result<TcpStream> {
        let options = &self.options;
        let stream = unconnected(
            options.address,
            Some(&options.congestion_control),
            options.is_nodelay,
            options.admission.host,
        )?;
        stream.set_read_timeout(Some(options.timeout))?;
        stream.set_write_timeout(Some(options.timeout))?;
        Ok(stream)
    }

    /// Every round trip of a sample.
    fn transfer(
        &mut self,
        stream: &TcpStream,
        content: &[u8],
        look: Look,
        patience: Duration,
    ) -> Result<(), (Stage, Fault)> {
        let setup = self.options.setup;
        let length = setup.length as usize;
        let mut acknowledgements = Acknowledgements::new(setup);
        let mut looked_ns = 0;
        for index in 0..setup.count {
            let failed = |fault| (Stage::Message(index), fault);
            let message = &content[index as usize * length..][..length];
            if look != Look::Never {
                let began_ns = monotonic_ns();
                self.check_silent(stream).map_err(failed)?;
                looked_ns += monotonic_ns() - began_ns;
            }
            let is_withheld = index == 0 && look == Look::BeforeLastByte;
            let (now, later) = message.split_at(length - usize::from(is_withheld));
            let sent = if index == 0 && self.is_joined() {
                send_joined(stream, &setup.to_bytes(), now)
            } else {
                send_all(stream.as_raw_fd(), now)
            };
            sent.map_err(|error| failed(self.fault(error)))?;
            if is_withheld {
                sleep(patience);
                self.check_silent(stream).map_err(failed)?;
                send_all(stream.as_raw_fd(), later).map_err(|error| failed(self.fault(error)))?;
            }
            self.wait_acknowledged(stream, &mut acknowledgements)
                .map_err(failed)?;
            self.acknowledged_ns.push(monotonic_ns() - looked_ns);
        }
        Ok(())
    }

    fn check_silent(&self, stream: &TcpStream) -> Result<(), Fault> {
        match has_readable(stream.as_raw_fd()).map_err(|error| self.fault(error))? {
            true => Err(Fault::Early),
            false => Ok(()),
        }
    }

    fn wait_acknowledged(
        &self,
        stream: &TcpStream,
        acknowledgements: &mut Acknowledgements,
    ) -> Result<(), Fault> {
        let mut bytes = [0; ACKNOWLEDGEMENT_BYTES];
        let mut give_up_ns = None;
        loop {
            let wanted = acknowledgements.wanted();
            let count = receive_some(stream.as_raw_fd(), &mut bytes[..wanted])
                .map_err(|error| self.fault(error))?;
            if count == 0 && wanted == ACKNOWLEDGEMENT_BYTES {
                return Err(self.refused());
            }
            if count == 0 {
                return Ok(acknowledgements.finish()?);
            }
            if acknowledgements.push(&bytes[..count])? {
                return Ok(());
            }
            // A part of it came. Once the timeout has passed from now on, no further part is awaited.
            let timeout_ns = self.options.timeout.as_nanos() as u64;
            let give_up_ns = give_up_ns.get_or_insert_with(|| monotonic_ns() + timeout_ns);
            if monotonic_ns() > *give_up_ns {
                return Err(Fault::TimedOut(self.options.timeout));
            }
        }
    }

    /// End our side, and check that the server ends its own without sending anything more.
    fn end(&mut self, stream: &TcpStream) -> Result<(), Fault> {
        stream
            .shutdown(Shutdown::Write)
            .map_err(|error| self.fault(error))?;
        let excess =
            receive_some(stream.as_raw_fd(), &mut [0; 64]).map_err(|error| self.fault(error))?;
        if excess > 0 {
            return Err(WireError::Excess { excess }.into());
        }
        let info = tcp_info(stream.as_raw_fd())?;
        self.segments.again += u64::from(info.tcpi_total_retrans);
        // The token is no message.
        let tokens = u64::from(self.options.admission.token.is_some());
        self.segments.with_data += u64::from(info.tcpi_data_segs_out) - tokens;
        self.segments.mss_bytes = info.tcpi_snd_mss.into();
        Ok(())
    }

    /// The kernel's error as a fault of this protocol.
    fn fault(&self, error: io::Error) -> Fault {
        match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => Fault::TimedOut(self.options.timeout),
            ErrorKind::ConnectionReset | ErrorKind::BrokenPipe | ErrorKind::NotConnected => {
                self.refused()
            }
            _ => Fault::Io(error),
        }
    }

    fn refused(&self) -> Fault {
        Fault::Refused {
            length: self.options.setup.length,
        }
    }
}

impl Times {
    pub fn total_ns(self) -> u64 {
        self.connect_ns + self.setup_ns + self.transfer_ns
    }
}

/// Send both in one write, and in further writes what the kernel did not take.
fn send_joined(mut stream: &TcpStream, setup: &[u8], message: &[u8]) -> io::Result<()> {
    let sent = loop {
        match stream.write_vectored(&[IoSlice::new(setup), IoSlice::new(message)]) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            outcome => break outcome?,
        }
    };
    let fd = stream.as_raw_fd();
    send_all(fd, &setup[sent.min(setup.len())..])?;
    send_all(fd, &message[sent.saturating_sub(setup.len())..])
}
