//! The examples run: each checks what it shows, and ends by itself.

use std::{env, process::Command};

/// `cargo test` builds the examples before it runs the tests, beside them; `cargo test --tests` does not.
fn run(example: &str) -> String {
    let test = env::current_exe().unwrap();
    let target = test.ancestors().nth(2).unwrap();
    let program = target.join("examples").join(example);
    let output = Command::new(&program)
        .output()
        .unwrap_or_else(|error| panic!("{}: {error}", program.display()));
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn threads_share_a_connection() {
    assert!(run("threads").starts_with("20000 messages left in "));
}

#[test]
fn a_lost_connection_tells_what_was_lost() {
    assert!(run("lost_connection").contains(" were never sent"));
}

#[test]
fn a_loop_of_ones_own_sends_by_way_of_the_coalescer() {
    assert!(run("event_loop").starts_with("49000 messages left in "));
}
