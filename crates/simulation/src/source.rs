//! The messages of a cell, as they become due.

use crate::{Cell, Load, sender::Sender};

/// The messages that are left of a cell's load.
pub(crate) struct Source<'a> {
    load: &'a Load,
    next: usize,
}

impl<'a> Source<'a> {
    pub(crate) fn new(cell: &'a Cell) -> Self {
        Self {
            load: &cell.load,
            next: 0,
        }
    }

    pub(crate) fn is_flat_out(&self) -> bool {
        matches!(self.load, Load::FlatOut { .. })
    }

    pub(crate) fn is_done(&self) -> bool {
        self.next
            >= match self.load {
                Load::Paced(due_ns) => due_ns.len(),
                Load::FlatOut { messages, .. } => *messages as usize,
            }
    }

    /// The most messages that an iteration hands over.
    pub(crate) fn most_at_once(&self) -> u64 {
        match self.load {
            Load::Paced(_) => u64::MAX,
            Load::FlatOut { burst, .. } => *burst,
        }
    }

    /// Take the next message, if an iteration that began at `begin_ns` finds it due. Returns when it was
    /// due, which is `now_ns` flat out.
    pub(crate) fn take_due(&mut self, begin_ns: u64, now_ns: u64) -> Option<u64> {
        if self.is_done() {
            return None;
        }
        let due_ns = self.next_due_ns().unwrap_or(now_ns);
        let is_due = due_ns <= begin_ns || self.is_flat_out();
        self.next += usize::from(is_due);
        is_due.then_some(due_ns)
    }

    /// When the next message is due; `None`: as soon as the loop lets it, or there is none.
    pub(crate) fn next_due_ns(&self) -> Option<u64> {
        match self.load {
            Load::Paced(due_ns) => due_ns
                .get(self.next)
                .map(|&offset_ns| Sender::due_ns(offset_ns)),
            Load::FlatOut { .. } => None,
        }
    }

    pub(crate) fn last_due_ns(&self, now_ns: u64) -> u64 {
        match self.load {
            Load::Paced(due_ns) => due_ns.last().map_or(now_ns, |&it| Sender::due_ns(it)),
            Load::FlatOut { .. } => now_ns,
        }
    }
}
