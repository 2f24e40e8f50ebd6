//! The client of `sizes`: a connection per sample, its time split into connect, setup, transfer.
//!
//! Laws: sockets, options and the messages' bytes are made before the clock starts; the next sample
//! begins when the server has ended the connection of the one before, so that no two overlap; what
//! is not exactly as the protocol says fails the whole.
//!
//! A server that acknowledges a message before it has all of it would have better figures than it may.
//! What comes before a message is sent is looked for in some of the measured samples, the look's time
//! being left out of them; what comes when a part of it is sent, in one sample that is in no figure.

use super::faults::{Fault, SampleError, Stage};
use crate::{
    messages::{ACKNOWLEDGEMENT_BYTES, Acknowledgements, Setup, WireError, sample_content},
    process::Usage,
    socket::{connect, has_readable, receive_some, send_all, unconnected},
};
use std::{
    io::{self, ErrorKind, IoSlice, Write},
    net::{Ipv4Addr, Shutdown, SocketAddrV4, TcpStream},
    os::fd::AsRawFd,
    thread::sleep,
    time::Duration,
};
use tinygram_core::Histogram;
use tinygram_net::{clock::monotonic_ns, socket::tcp_info};

/// One in so many measured samples looks for acknowledgements that came too early.
const LOOK_EVERY: u64 = 8;
/// How long, beyond two round trips, the last byte of a message is withheld once.
const PATIENCE: Duration = Duration::from_millis(10);

/// What every sample of a run is.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where the server listens.
    pub address: SocketAddrV4,
    /// What it is asked for.
    pub setup: Setup,
    /// The setup leaves with the first message, in one write; else by itself, before it.
    pub is_setup_joined: bool,
    /// TCP_NODELAY.
    pub is_nodelay: bool,
    /// Congestion control of the connections.
    pub congestion_control: String,
    /// Where the connections come from; `None`: the kernel picks.
    pub own_address: Option<Ipv4Addr>,
    /// Seed of the messages' content.
    pub seed: u64,
    /// For each connect, each write and each acknowledgement.
    pub timeout: Duration,
}

/// What the samples of a run took, in nanoseconds.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// From the call to the established connection.
    pub connect: Histogram,
    /// The write of the setup; empty where it leaves with the first message.
    pub setup: Histogram,
    /// From then to the last acknowledgement; empty without round trips.
    pub transfer: Histogram,
    /// All of this.
    pub total: Histogram,
    /// The first round trip of each sample, in which the server takes the connection.
    pub first_trip: Histogram,
    /// The others.
    pub next_trips: Histogram,
    /// The whole time of the first samples, which are in none of the others.
    pub first_total: Histogram,
    /// The whole time of the very first one.
    pub first_sample_ns: u64,
    /// When the first of the others began, CLOCK_MONOTONIC.
    pub start_ns: u64,
    /// From then to the end of the last one.
    pub run_time_ns: u64,
    /// Segments sent again.
    pub retransmits: u64,
    /// Segments sent that carried data.
    pub data_segments: u64,
    /// The largest segment that the last connection sent, in bytes.
    pub send_mss_bytes: u64,
    /// What this thread used.
    pub usage: Usage,
}

#[derive(Clone, Copy)]
struct Times {
    connect_ns: u64,
    setup_ns: u64,
    transfer_ns: u64,
}

/// How a sample looks for acknowledgements that came too early.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Look {
    Never,
    /// Before each message.
    BeforeMessages,
    /// Before each message, and before the first one's last byte, which is withheld for a while.
    BeforeLastByte,
}

/// Takes samples, one after the other.
#[derive(Debug)]
pub struct Client {
    options: Options,
    content: Vec<u8>,
    /// When each message of the sample was acknowledged.
    acknowledged_ns: Vec<u64>,
    retransmits: u64,
    data_segments: u64,
    send_mss_bytes: u64,
}

impl Client {
    /// A client whose memory is touched now.
    pub fn new(options: Options) -> Self {
        Self {
            content: sample_content(options.seed, options.setup.sample_bytes() as usize),
            acknowledged_ns: Vec::with_capacity(options.setup.count as usize),
            options,
            retransmits: 0,
            data_segments: 0,
            send_mss_bytes: 0,
        }
    }

    /// Take `first` samples that are kept apart, one more if there are round trips, whose first message
    /// is sent with its last byte withheld and which no figure has, and then `samples`.
    ///
    /// # Errors
    /// [`SampleError`] of the first that failed.
    pub fn measure(&mut self, first: u64, samples: u64) -> Result<Measured, SampleError> {
        let mut measured = Measured::default();
        for sample in 0..first {
            let total_ns = self.sample(sample, Look::Never)?.total_ns();
            measured.first_total.record(total_ns);
            if sample == 0 {
                measured.first_sample_ns = total_ns;
            }
        }
        let mut taken = first;
        if self.options.setup.count > 0 {
            self.sample(taken, Look::BeforeLastByte)?;
            taken += 1;
        }
        (self.retransmits, self.data_segments) = (0, 0);
        let before = Usage::of_thread();
        measured.start_ns = monotonic_ns();
        for index in 0..samples {
            let look = match index % LOOK_EVERY {
                0 => Look::BeforeMessages,
                _ => Look::Never,
            };
            let times = self.sample(taken + index, look)?;
            self.record(times, &mut measured);
        }
        measured.run_time_ns = monotonic_ns() - measured.start_ns;
        measured.usage = Usage::of_thread().since(before);
        measured.retransmits = self.retransmits;
        measured.data_segments = self.data_segments;
        measured.send_mss_bytes = self.send_mss_bytes;
        Ok(measured)
    }

    fn record(&self, times: Times, measured: &mut Measured) {
        measured.connect.record(times.connect_ns);
        measured.total.record(times.total_ns());
        if !self.is_joined() {
            measured.setup.record(times.setup_ns);
        }
        let Some((last_ns, _)) = self.acknowledged_ns.split_last() else {
            return;
        };
        measured.transfer.record(times.transfer_ns);
        let mut before_ns = last_ns - times.transfer_ns;
        for (index, &at_ns) in self.acknowledged_ns.iter().enumerate() {
            let trips = if index == 0 {
                &mut measured.first_trip
            } else {
                &mut measured.next_trips
            };
            trips.record(at_ns - before_ns);
            before_ns = at_ns;
        }
    }

    fn is_joined(&self) -> bool {
        self.options.is_setup_joined && self.options.setup.count > 0
    }

    fn sample(&mut self, sample: u64, look: Look) -> Result<Times, SampleError> {
        self.try_sample(look).map_err(|(stage, fault)| SampleError {
            sample,
            stage,
            fault,
        })
    }

    fn try_sample(&mut self, look: Look) -> Result<Times, (Stage, Fault)> {
        let stream = self
            .socket()
            .map_err(|error| (Stage::Connect, Fault::Io(error)))?;
        self.acknowledged_ns.clear();
        let start_ns = monotonic_ns();
        let connected = connect(&stream, self.options.address);
        connected.map_err(|error| (Stage::Connect, self.fault(error)))?;
        let connected_ns = monotonic_ns();
        let mut set_up_ns = connected_ns;
        if !self.is_joined() {
            let sent = send_all(stream.as_raw_fd(), &self.options.setup.to_bytes());
            sent.map_err(|error| (Stage::Setup, self.fault(error)))?;
            set_up_ns = monotonic_ns();
        }
        let patience = PATIENCE + 2 * Duration::from_nanos(connected_ns - start_ns);
        self.transfer(&stream, look, patience)?;
        self.end(&stream).map_err(|fault| (Stage::End, fault))?;
        let over_ns = self.acknowledged_ns.last().copied().unwrap_or(set_up_ns);
        Ok(Times {
            connect_ns: connected_ns - start_ns,
            setup_ns: set_up_ns - connected_ns,
            transfer_ns: over_ns - set_up_ns,
        })
    }

    fn socket(&self) -> io::Result<TcpStream> {
        let options = &self.options;
        let stream = unconnected(
            Some(&options.congestion_control),
            options.is_nodelay,
            options.own_address,
        )?;
        stream.set_read_timeout(Some(options.timeout))?;
        stream.set_write_timeout(Some(options.timeout))?;
        Ok(stream)
    }

    /// Every round trip of a sample.
    fn transfer(
        &mut self,
        stream: &TcpStream,
        look: Look,
        patience: Duration,
    ) -> Result<(), (Stage, Fault)> {
        let setup = self.options.setup;
        let length = setup.length as usize;
        let mut acknowledgements = Acknowledgements::new(setup);
        let mut looked_ns = 0;
        for index in 0..setup.count {
            let failed = |fault| (Stage::Message(index), fault);
            let message = &self.content[index as usize * length..][..length];
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
            // A part of it came. The next part may take as long as the timeout, and no third.
            let timeout_ns = self.options.timeout.as_nanos() as u64;
            let give_up_ns = give_up_ns.get_or_insert_with(|| monotonic_ns() + timeout_ns);
            if monotonic_ns() > *give_up_ns {
                return Err(Fault::TimedOut(self.options.timeout));
            }
        }
    }

    /// End our side and see the server end its own, with nothing sent that it should not have.
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
        self.retransmits += u64::from(info.tcpi_total_retrans);
        self.data_segments += u64::from(info.tcpi_data_segs_out);
        self.send_mss_bytes = info.tcpi_snd_mss.into();
        Ok(())
    }

    /// What the kernel says, in the words of this protocol.
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
    fn total_ns(self) -> u64 {
        self.connect_ns + self.setup_ns + self.transfer_ns
    }
}

/// Both in one write, and what the kernel did not take of them in others.
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
