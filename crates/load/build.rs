//! Builds the small library that counts writes, so that the bench can embed it.

const SOURCE: &str = "src/count_writes.c";
const INCLUDED: &str = "src/call_times.h";

fn main() {
    println!("cargo::rerun-if-changed={SOURCE}");
    println!("cargo::rerun-if-changed={INCLUDED}");
    let library = std::path::PathBuf::from(std::env::var("OUT_DIR").expect("cargo sets OUT_DIR"))
        .join("libtinygram_count_writes.so");
    let mut build = cc::Build::new();
    build.opt_level(2).warnings_into_errors(true);
    let status = build
        .get_compiler()
        .to_command()
        .args(["-shared", "-s", SOURCE, "-ldl", "-o"])
        .arg(&library)
        .status()
        .expect("the C compiler starts");
    assert!(status.success(), "the C compiler failed on {SOURCE}");
}
