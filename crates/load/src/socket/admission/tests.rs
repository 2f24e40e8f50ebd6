use super::*;
use crate::socket::{FRESH_PORT, listening};
use std::{
    io::{Read, Write},
    net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream},
    thread,
};

const TOKEN: [u8; TOKEN_BYTES] = *b"0123456789abcdef";
const LIMIT: Duration = Duration::from_secs(20);

fn admission() -> Admission {
    Admission {
        host: None,
        token: Some(TOKEN.into()),
    }
}

fn guarded(address: SocketAddr) -> TcpListener {
    listening(address, None, 16, admission()).unwrap()
}

/// What a listener makes of the next connection.
fn next_is_admitted(listener: &TcpListener) -> bool {
    let (stream, peer) = listener.accept().unwrap();
    admission().admit(&stream, peer.ip())
}

#[test]
fn a_client_with_the_token_is_admitted_and_all_that_follows_is_for_its_server() {
    for host in [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()] {
        let listener = guarded(SocketAddr::new(host, 0));
        let address = listener.local_addr().unwrap();
        let client = thread::spawn(move || {
            let mut stream = TcpStream::connect(address).unwrap();
            admission().introduce(&stream, LIMIT).unwrap();
            stream.write_all(b"first").unwrap();
            stream
        });
        let (mut stream, peer) = listener.accept().unwrap();
        assert!(admission().admit(&stream, peer.ip()));
        let mut first = [0; 5];
        stream.read_exact(&mut first).unwrap();
        assert_eq!(&first, b"first");
        // One byte goes back, which the client has read.
        let client = client.join().unwrap();
        assert_eq!(receive_now(client.as_raw_fd(), &mut [0; 8]).unwrap(), None);
    }
}

#[test]
fn whoever_has_another_token_or_a_part_of_it_is_turned_away() {
    let listener = guarded(FRESH_PORT);
    let address = listener.local_addr().unwrap();
    for wrong in 0..TOKEN_BYTES {
        let mut token = TOKEN;
        token[wrong] ^= 1 << (wrong % 8);
        let other = Admission {
            token: Some(token.into()),
            ..admission()
        };
        let client = thread::spawn(move || {
            let stream = TcpStream::connect(address).unwrap();
            other
                .introduce(&stream, LIMIT)
                .map_err(|error| error.kind())
        });
        assert!(!next_is_admitted(&listener));
        assert_eq!(client.join().unwrap(), Err(ErrorKind::ConnectionRefused));
    }
    let mut part = TcpStream::connect(address).unwrap();
    part.write_all(&TOKEN[..TOKEN_BYTES - 1]).unwrap();
    assert!(!next_is_admitted(&listener));
}

#[test]
fn whoever_says_nothing_holds_up_nobody_and_is_turned_away_in_time() {
    let listener = guarded(FRESH_PORT);
    let address = listener.local_addr().unwrap();
    let silent = TcpStream::connect(address).unwrap();
    let client = thread::spawn(move || {
        let stream = TcpStream::connect(address).unwrap();
        admission().introduce(&stream, LIMIT)
    });
    // The one that was first is not handed over before the other one.
    assert!(next_is_admitted(&listener));
    client.join().unwrap().unwrap();
    let began = Instant::now();
    assert!(!next_is_admitted(&listener));
    assert!(began.elapsed() < LIMIT);
    drop(silent);
}

#[test]
fn a_client_from_another_address_is_turned_away_whatever_it_brings() {
    let listener = guarded(FRESH_PORT);
    let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    client.write_all(&TOKEN).unwrap();
    let (stream, peer) = listener.accept().unwrap();
    let elsewhere = Admission {
        host: Some(Ipv4Addr::new(127, 0, 0, 9).into()),
        ..admission()
    };
    assert!(!elsewhere.admit(&stream, peer.ip()));
}

#[test]
fn a_client_does_not_wait_longer_than_it_was_told_to() {
    let listener = TcpListener::bind(FRESH_PORT).unwrap();
    let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let told = admission().introduce(&stream, Duration::from_millis(20));
    assert_eq!(told.unwrap_err().kind(), ErrorKind::TimedOut);
}

#[test]
fn without_a_token_nothing_is_sent_and_everybody_is_admitted() {
    let listener = listening(FRESH_PORT, None, 1, Admission::default()).unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    Admission::default().introduce(&client, LIMIT).unwrap();
    let (stream, peer) = listener.accept().unwrap();
    assert!(Admission::default().admit(&stream, peer.ip()));
    assert_eq!(receive_now(stream.as_raw_fd(), &mut [0; 8]).unwrap(), None);
    assert_eq!(receive_now(client.as_raw_fd(), &mut [0; 8]).unwrap(), None);
}

#[test]
fn a_token_is_told_by_all_its_bytes_and_shown_to_nobody() {
    let token = Token::from(TOKEN);
    assert!(token.is(&TOKEN));
    assert!(!token.is(b""));
    assert!(!token.is(&TOKEN[1..]));
    assert!(!token.is(b"0123456789abcdef0"));
    assert_eq!(format!("{token:?}"), "Token");
}
