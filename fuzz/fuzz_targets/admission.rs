//! What a connection begins with: admitted if and only if it is the token, of which no more than the
//! token is read, whatever comes and however it is cut.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::{
    io::{Read, Write},
    net::{IpAddr, Ipv4Addr},
    os::unix::net::UnixStream,
};
use tinygram_load::socket::admission::{Admission, TOKEN_BYTES};

fuzz_target!(|input: ([u8; TOKEN_BYTES], bool, Vec<u8>)| {
    let (token, begins_with_it, rest) = input;
    let mut sent = if begins_with_it {
        token.to_vec()
    } else {
        vec![]
    };
    sent.extend(&rest[..rest.len().min(1 << 10)]);
    let (mut near, mut far) = UnixStream::pair().unwrap();
    near.write_all(&sent).unwrap();
    let admission = Admission {
        host: None,
        token: Some(token.into()),
    };
    let is_ours = sent.starts_with(&token);
    let peer = IpAddr::V4(Ipv4Addr::LOCALHOST);
    assert_eq!(admission.admit(&far, peer), is_ours);
    near.shutdown(std::net::Shutdown::Write).unwrap();
    let mut left = vec![];
    far.read_to_end(&mut left).unwrap();
    assert_eq!(left, sent[sent.len().min(TOKEN_BYTES)..]);
    drop(far);
    let mut answer = vec![];
    // What was not read resets the connection.
    let _ = near.read_to_end(&mut answer);
    assert_eq!(answer, if is_ours { &b"+"[..] } else { b"" });
});
