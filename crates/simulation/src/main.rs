//! The cost of each strategy over grids of cells and several hosts, in virtual time.
//!
//!     tinygram-simulation page [COSTS]            the grids to tune with, as a page in Markdown
//!     tinygram-simulation confirm [COSTS]         the same loads with other seeds on other hosts
//!     tinygram-simulation cells PART [COSTS]      every strategy in the cells with PART in their names
//!
//! COSTS is a file of `benches/costs.py`; without one, the costs beside the sources are used.

mod page;

use std::process::ExitCode;
use tinygram_simulation::Machine;

const USAGE: &str = "usage: tinygram-simulation page|confirm [COSTS]\n\
                     \x20      tinygram-simulation cells PART-OF-A-NAME [COSTS]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (told, costs): (&dyn Fn(&Machine) -> String, _) = match words[..] {
        ["page", ref costs @ ..] => (&page::page, costs),
        ["confirm", ref costs @ ..] => (&page::confirmation, costs),
        ["cells", part, ref costs @ ..] => (&move |it: &Machine| page::cells(it, part), costs),
        _ => return refused(USAGE),
    };
    let machine = match costs {
        [] => Ok(Machine::measured()),
        [path] => machine_in(path),
        _ => return refused(USAGE),
    };
    let told = match machine {
        Ok(machine) => told(&machine),
        Err(wrong) => return refused(&wrong),
    };
    if told.is_empty() {
        return refused("no cell has that in its name");
    }
    print!("{told}");
    ExitCode::SUCCESS
}

fn machine_in(path: &str) -> Result<Machine, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    Machine::parse(&text).map_err(|error| format!("{path}: {error}"))
}

fn refused(why: &str) -> ExitCode {
    eprintln!("{why}");
    ExitCode::from(2)
}
