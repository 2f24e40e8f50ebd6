//! An echo passes exactly if every byte is the one that was sent, however both ways are cut; and a
//! server cuts any bytes into whole messages, and loses none.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;
use tinygram_core::Histogram;
use tinygram_load::messages::{Cutter, Echoes, MessagePool};

const SIZE: u64 = 7;
const MESSAGES: u64 = 40;

static POOL: LazyLock<MessagePool> =
    LazyLock::new(|| MessagePool::generate(1, SIZE, SIZE).expect("a valid size"));

// `cuts`: what the wire takes and gives in turn; `flips`: (offset, bits) changed on the way back.
fuzz_target!(|input: (u8, Vec<(u8, u8)>, Vec<(u16, u8)>)| {
    let (depth, cuts, flips) = input;
    let mut echoes = Echoes::new(&POOL, 0, u64::from(depth));
    echoes.allow(MESSAGES);
    let mut cutter = Cutter::new(SIZE as usize);
    let (mut sent, mut served, mut returned) = (Vec::new(), Vec::new(), 0);
    let mut round_trips = Histogram::new();
    for (now_ns, (takes, gives)) in (0..).zip(cuts) {
        let bytes = echoes.to_send(&POOL);
        let taken = bytes.len().min(usize::from(takes));
        cutter
            .cut(&bytes[..taken], |message| {
                assert_eq!(message.len() as u64, SIZE);
                served.extend_from_slice(message);
                Ok::<(), ()>(())
            })
            .expect("all is taken");
        sent.extend_from_slice(&bytes[..taken]);
        echoes.on_sent(&POOL, taken, now_ns);
        let end = served.len().min(returned + usize::from(gives));
        let mut chunk = served[returned..end].to_vec();
        for &(offset, bits) in &flips {
            if (returned..end).contains(&usize::from(offset)) {
                chunk[usize::from(offset) - returned] ^= bits;
            }
        }
        let is_honest = chunk == served[returned..end];
        let outcome = echoes.on_received(&POOL, &chunk, now_ns, |begun_ns, value_ns, count| {
            assert_eq!(begun_ns + value_ns, now_ns);
            round_trips.record_many(value_ns, count);
        });
        assert_eq!(outcome.is_ok(), is_honest);
        if !is_honest {
            return;
        }
        returned = end;
    }
    served.extend(cutter.take_rest());
    assert_eq!(served, sent);
    assert_eq!(round_trips.count(), returned as u64 / SIZE);
});
