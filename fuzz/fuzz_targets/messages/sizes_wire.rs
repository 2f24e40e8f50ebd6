//! Whatever a peer of `sizes` sends, in whatever pieces: both ends take it or refuse it, no more is
//! wanted than the limits allow, and each whole message is acknowledged once.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tinygram_load::messages::{Acknowledgements, Event, Exchange, Limits, SETUP_BYTES, Setup};

const LIMITS: Limits = Limits {
    max_length: 300,
    max_count: 9,
};

fuzz_target!(|input: (Vec<u8>, Vec<u8>)| {
    let (wire, cuts) = input;
    serve(&wire, &cuts);
    if let Some((head, rest)) = wire.split_first_chunk::<SETUP_BYTES>() {
        acknowledge(Setup::from_bytes(*head), rest, &cuts);
    }
});

fn serve(wire: &[u8], cuts: &[u8]) {
    let mut exchange = Exchange::new(LIMITS);
    let mut accepted = None;
    let (mut taken, mut acknowledged) = (0, 0);
    let mut cuts = cuts.iter().copied().cycle();
    while taken < wire.len() && !exchange.is_over() {
        let wanted = exchange.wanted();
        assert!((1..=LIMITS.max_length as usize).contains(&wanted));
        let cut = usize::from(cuts.next().unwrap_or(255)).max(1);
        let end = wire.len().min(taken + cut.min(wanted));
        match exchange.push(&wire[taken..end]) {
            Ok(Event::Nothing) => {}
            Ok(Event::Accepted(setup)) => accepted = Some(setup),
            Ok(Event::Acknowledge(bytes)) => {
                acknowledged += 1;
                assert_eq!(Some(u32::from_be_bytes(bytes)), accepted.map(|a| a.length));
            }
            Err(_refused) => return,
        }
        taken = end;
    }
    // The same, of the wire as a whole.
    let whole = match accepted {
        Some(setup) => (taken - SETUP_BYTES) / setup.length as usize,
        None => 0,
    };
    assert_eq!(acknowledged, whole);
    assert_eq!(exchange.finish().is_ok(), exchange.is_over());
}

fn acknowledge(setup: Setup, wire: &[u8], cuts: &[u8]) {
    let mut acknowledgements = Acknowledgements::new(setup);
    let mut rest = wire;
    for cut in cuts {
        let (now, later) = rest.split_at(usize::from(*cut).min(rest.len()));
        let Ok(_is_whole) = acknowledgements.push(now) else {
            return;
        };
        rest = later;
    }
}
