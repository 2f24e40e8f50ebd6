//! The models of the loops.

use crate::{Cell, Costs, LoopKind, Outcome, sender::Sender, source::Source, threads};
use tinygram_core::Knobs;

/// The outcome of a strategy, with its knobs, in a cell.
pub fn run(cell: &Cell, knobs: Knobs, costs: Costs) -> Outcome {
    if cell.of_loop.is_threads() {
        return threads::run(cell, knobs, costs);
    }
    let mut sender = Sender::new(cell, knobs, costs);
    let mut source = Source::new(cell);
    while !source.is_done() || sender.holds() {
        match cell.of_loop {
            LoopKind::Resting => iterate_resting(&mut sender, &mut source, cell),
            LoopKind::Foreign => iterate_foreign(&mut sender, &mut source, cell),
            _ => iterate_plain(&mut sender, &mut source, cell),
        }
    }
    let last_due_ns = source.last_due_ns(sender.now_ns);
    sender.finish(last_due_ns)
}

/// An iteration of a resting loop: calls, then a tick, then a wait.
fn iterate_resting(sender: &mut Sender, source: &mut Source<'_>, cell: &Cell) {
    let handed_over = hand_over(source, sender, cell);
    sender.spend(sender.costs.iteration_ns);
    let has_more = has_more(handed_over, source, cell);
    if sender.is_armed() && !sender.waits_for_time() {
        sender.tick(!has_more);
    }
    if !has_more {
        wait(sender, source);
    }
}

/// An iteration of a foreign loop: it begins with the tick that the iteration before asked for.
fn iterate_foreign(sender: &mut Sender, source: &mut Source<'_>, cell: &Cell) {
    if sender.is_armed() && !sender.waits_for_time() {
        sender.tick(false);
    }
    let handed_over = hand_over(source, sender, cell);
    sender.spend(sender.costs.iteration_ns);
    let is_called_again = sender.is_armed() && !sender.waits_for_time();
    if !has_more(handed_over, source, cell) && !is_called_again {
        wait(sender, source);
    }
}

/// An iteration of a plain loop: sends, then a poll, then a wait until the deadline at most.
fn iterate_plain(sender: &mut Sender, source: &mut Source<'_>, cell: &Cell) {
    let handed_over = hand_over(source, sender, cell);
    sender.spend(sender.costs.iteration_ns);
    sender.tick(false);
    let polls_again = sender
        .deadline_ns()
        .is_some_and(|at_ns| at_ns <= sender.now_ns);
    if !has_more(handed_over, source, cell) && !polls_again {
        wait(sender, source);
    }
}

fn has_more(handed_over: bool, source: &Source<'_>, cell: &Cell) -> bool {
    handed_over && !source.is_done() && (cell.program.yields || source.is_flat_out())
}

/// Sleep until the next message is due, or until a deadline comes, and tick then.
fn wait(sender: &mut Sender, source: &Source<'_>) {
    let due_ns = source.next_due_ns().unwrap_or(u64::MAX);
    let deadline_ns = sender.deadline_ns().filter(|&at_ns| at_ns < due_ns);
    match deadline_ns {
        Some(at_ns) => {
            if at_ns > sender.now_ns {
                let late_ns = sender.costs.timer_slack_ns.min(due_ns - at_ns);
                sender.sleep_until(at_ns, late_ns);
            }
            sender.tick(true);
        }
        None if due_ns > sender.now_ns && due_ns < u64::MAX => sender.sleep_until(due_ns, 0),
        None => {}
    }
}

/// Hand over the messages that are due when an iteration begins. Returns whether there were any.
fn hand_over(source: &mut Source<'_>, sender: &mut Sender, cell: &Cell) -> bool {
    let begin_ns = sender.now_ns;
    let mut is_any = false;
    for _ in 0..source.most_at_once() {
        let Some(due_ns) = source.take_due(begin_ns, sender.now_ns) else {
            break;
        };
        // The program's own work is no cost of sending: it takes time, but its CPU time is not counted.
        sender.now_ns += cell.program.work_ns;
        sender.send(due_ns);
        is_any = true;
    }
    is_any
}
