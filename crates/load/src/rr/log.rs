//! What callers that are not native did in slices, or at a rate, call by call: it is added up when the last
//! slice is over, for others might wait for the interpreter meanwhile.

use super::tally::{Called, Stay, Tally};
use crate::schedule::Span;

/// The calls of one caller, in the order in which it made them.
#[derive(Debug, Default)]
pub struct CallLog {
    is_at_a_rate: bool,
    made: Vec<Made>,
    /// At a rate, when the calls were due that it could not begin, in the case's own time.
    pub not_begun_ns: Vec<u64>,
}

#[derive(Debug)]
struct Made {
    span: usize,
    due_ns: Option<u64>,
    called: Called,
}

impl CallLog {
    /// A caller that has made no call yet.
    pub fn new(is_at_a_rate: bool) -> Self {
        Self {
            is_at_a_rate,
            ..Self::default()
        }
    }

    /// A call was made, which began in the span of that number. `due_ns`: at a rate, when it was due in the
    /// case's own time.
    pub fn note(&mut self, span: usize, called: Called, due_ns: Option<u64>) {
        self.made.push(Made {
            span,
            due_ns,
            called,
        });
    }

    /// The tally of several callers together.
    pub fn add_up<'a>(logs: impl Iterator<Item = &'a Self>, spans: &[Span]) -> Tally {
        let mut tally = Tally::default();
        let mut callers: Vec<_> = logs
            .map(|log| (log, log.made.iter().peekable(), 0))
            .collect();
        for (number, span) in spans.iter().enumerate() {
            tally.begin(span);
            for (log, made, last_ns) in &mut callers {
                let mut stay = Stay::begin(span, *last_ns);
                while let Some(each) = made.next_if(|each| each.span == number) {
                    match each.due_ns {
                        Some(due_ns) => tally.record_due_call(spans, span, due_ns, &each.called),
                        None => tally.record_call(span, &each.called),
                    }
                    stay.on_call(span, &each.called);
                }
                *last_ns = stay.now_ns();
                if log.is_at_a_rate {
                    stay.end_at_a_rate(span, &mut tally);
                } else {
                    stay.end(span, &mut tally);
                }
            }
        }
        for (log, ..) in &callers {
            for &due_ns in &log.not_begun_ns {
                tally.record_not_begun(spans, due_ns);
            }
        }
        tally
    }
}
