use super::*;
use proptest::prelude::*;

const LIMITS: Limits = Limits {
    max_length: 50,
    max_count: 5,
};

/// Hand `wire` over, cut at `cuts` and at what is wanted: what happened, and what was left over.
fn driven(wire: &[u8], cuts: &[usize]) -> (Vec<Event>, Result<Exchange, WireError>) {
    let mut exchange = Exchange::new(LIMITS);
    let mut events = Vec::new();
    let mut rest = wire;
    for cut in cuts.iter().copied().chain(std::iter::repeat(usize::MAX)) {
        if rest.is_empty() {
            break;
        }
        let (now, later) = rest.split_at(cut.min(exchange.wanted().max(1)).min(rest.len()));
        match exchange.push(now) {
            Ok(Event::Nothing) => {}
            Ok(event) => events.push(event),
            Err(error) => return (events, Err(error)),
        }
        rest = later;
    }
    (events, Ok(exchange))
}

fn wire_of(setup: Setup) -> Vec<u8> {
    let mut wire = setup.to_bytes().to_vec();
    wire.extend(sample_content(1, setup.sample_bytes() as usize));
    wire
}

#[test]
fn the_wire_is_what_the_design_says() {
    let setup = Setup {
        length: 0x0102_0304,
        count: 5,
    };
    assert_eq!(setup.to_bytes(), [1, 2, 3, 4, 0, 0, 0, 5]);
    assert_eq!(Setup::from_bytes(setup.to_bytes()), setup);
    let mut exchange = Exchange::new(LIMITS);
    let asked = exchange.push(&[0, 0, 0, 2, 0, 0, 0, 1]).unwrap();
    assert!(matches!(asked, Event::Accepted(_)));
    assert_eq!(exchange.push(b"ab"), Ok(Event::Acknowledge([0, 0, 0, 2])));
}

#[test]
fn a_setup_outside_the_limits_is_refused_before_anything_is_wanted() {
    let refused = |length, count| driven(&Setup { length, count }.to_bytes(), &[]).1.err();
    let max = LIMITS.max_length;
    for length in [0, 51, u32::MAX] {
        assert_eq!(refused(length, 1), Some(WireError::Length { length, max }));
    }
    for count in [6, u32::MAX] {
        let max = LIMITS.max_count;
        assert_eq!(refused(1, count), Some(WireError::Count { count, max }));
    }
    assert_eq!(refused(50, 5), None);
}

#[test]
fn no_round_trips_are_over_with_the_setup() {
    let (events, exchange) = driven(
        &wire_of(Setup {
            length: 9,
            count: 0,
        }),
        &[],
    );
    assert_eq!(events.len(), 1);
    assert!(exchange.unwrap().is_over());
}

#[test]
fn an_acknowledgement_of_another_length_and_one_too_many_are_faults() {
    let setup = Setup {
        length: 7,
        count: 2,
    };
    let mut acknowledgements = Acknowledgements::new(setup);
    assert_eq!(acknowledgements.push(&[0, 0, 0]), Ok(false));
    assert_eq!(
        acknowledgements.finish(),
        Err(WireError::Truncated { missing: 1 })
    );
    assert_eq!(acknowledgements.push(&[7]), Ok(true));
    let wrong = acknowledgements.clone().push(&[0, 0, 0, 8]);
    assert_eq!(
        wrong,
        Err(WireError::Acknowledgement {
            index: 1,
            said: 8,
            length: 7
        })
    );
    assert_eq!(acknowledgements.push(&[0, 0, 0, 7]), Ok(true));
    assert_eq!(acknowledgements.finish(), Ok(()));
    assert_eq!(
        acknowledgements.push(&[0]),
        Err(WireError::Excess { excess: 1 })
    );
}

#[test]
fn the_content_of_a_short_sample_begins_that_of_a_long_one() {
    let long = sample_content(3, 1_000);
    for bytes in [0, 1, 7, 8, 9, 999] {
        assert_eq!(sample_content(3, bytes), long[..bytes]);
    }
}

proptest! {
    #[test]
    fn wherever_the_wire_cuts_each_message_is_acknowledged_once(
        length in 1u32..50, count in 0u32..5, cuts in proptest::collection::vec(1usize..30, 0..300)
    ) {
        let (events, exchange) = driven(&wire_of(Setup { length, count }), &cuts);
        prop_assert_eq!(events[0], Event::Accepted(Setup { length, count }));
        let acknowledged = vec![Event::Acknowledge(length.to_be_bytes()); count as usize];
        prop_assert_eq!(&events[1..], &acknowledged);
        let mut exchange = exchange.unwrap();
        prop_assert_eq!(exchange.finish(), Ok(()));
        prop_assert_eq!(exchange.push(b"x"), Err(WireError::Excess { excess: 1 }));
    }

    #[test]
    fn an_end_at_any_byte_before_the_last_is_told(length in 1u32..50, count in 1u32..5, at in 0usize..258) {
        let wire = wire_of(Setup { length, count });
        let (_, exchange) = driven(&wire[..at.min(wire.len())], &[]);
        prop_assert_eq!(exchange.unwrap().finish().is_ok(), at >= wire.len());
    }

    #[test]
    fn whatever_comes_no_more_is_wanted_than_the_limits_allow(wire in proptest::collection::vec(any::<u8>(), 0..400)) {
        let (events, exchange) = driven(&wire, &[]);
        prop_assert!(events.len() <= 1 + LIMITS.max_count as usize);
        if let Ok(exchange) = exchange {
            prop_assert!(exchange.wanted() <= LIMITS.max_length as usize);
        }
    }

    #[test]
    fn acknowledgements_are_read_however_they_are_cut(length in 1u32.., count in 1u32..9, cuts in proptest::collection::vec(1usize..5, 36)) {
        let mut acknowledgements = Acknowledgements::new(Setup { length, count });
        let wire = length.to_be_bytes().repeat(count as usize);
        let (mut rest, mut told) = (&wire[..], 0);
        for cut in cuts {
            let (now, later) = rest.split_at(cut.min(acknowledgements.wanted()).min(rest.len()));
            told += u32::from(acknowledgements.push(now).unwrap());
            rest = later;
        }
        prop_assert_eq!((told, acknowledgements.finish()), (count, Ok(())));
    }
}
