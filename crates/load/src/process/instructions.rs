//! Instructions that this process retires in user space, where the machine counts them
//! (perf_event_open(2)): most virtual machines do not, and then there is no count.

use perf_event::{
    Builder, Counter,
    events::{Event, Hardware},
};
use std::{
    io,
    sync::{Mutex, OnceLock, PoisonError},
};

static INSTRUCTIONS: OnceLock<Option<Mutex<Counter>>> = OnceLock::new();

/// Count from now on the instructions of the calling thread, and of threads and processes that it starts
/// later. Returns whether they are counted: the machine must have the counter, and this user the right.
pub fn count() -> bool {
    INSTRUCTIONS
        .get_or_init(|| counter(Hardware::INSTRUCTIONS).ok().map(Mutex::new))
        .is_some()
}

/// How many instructions there were; `None` if they are not counted, or were only part of the time.
pub fn read() -> Option<u64> {
    let counter = INSTRUCTIONS.get()?.as_ref()?;
    whole_count(&mut counter.lock().unwrap_or_else(PoisonError::into_inner))
}

fn counter(event: impl Into<Event>) -> io::Result<Counter> {
    let mut builder = Builder::new().kind(event);
    builder.inherit(true);
    let mut counter = builder.build()?;
    counter.enable()?;
    Ok(counter)
}

/// The count, unless others had the machine's counter meanwhile.
fn whole_count(counter: &mut Counter) -> Option<u64> {
    let read = counter.read_count_and_time().ok()?;
    (read.time_enabled == read.time_running).then_some(read.count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use perf_event::events::Software;
    use std::{hint::black_box, thread};

    fn work() {
        for each in 0..10_000_000 {
            black_box(each);
        }
    }

    #[test]
    fn what_threads_do_that_are_started_later_is_counted() {
        // Every machine counts this event, in the same way.
        let Ok(mut counter) = counter(Software::TASK_CLOCK) else {
            assert!(
                !count(),
                "nothing is counted where this process may not count"
            );
            return;
        };
        let before = whole_count(&mut counter).unwrap();
        work();
        let alone = whole_count(&mut counter).unwrap();
        thread::spawn(work).join().unwrap();
        let with_thread = whole_count(&mut counter).unwrap();
        assert!(before < alone && alone < with_thread);
    }

    #[test]
    fn instructions_grow_where_they_are_counted() {
        if !count() {
            assert_eq!(read(), None);
            return;
        }
        let before = read();
        work();
        assert!(before.is_none() || read() > before);
    }
}
