//! Tells the program when it was built, and keeps `getaddrinfo` out of it where it is static.
//!
//! A static program that calls it loads the host's NSS modules, made for another glibc, and crashes on hosts with
//! nss-resolve. This agent never calls it, but libraries link it beside their own resolvers. So that nothing ever can, the
//! linker binds the name to `abort` and glibc's own is left out.

use std::env;
use std::time::{SystemTime, UNIX_EPOCH};

/// Who tells the time that is built in: the Makefile, or whoever builds reproducibly in another way.
const TIMES: [&str; 2] = ["DYNK8S_BUILT", "SOURCE_DATE_EPOCH"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    for name in TIMES {
        println!("cargo::rerun-if-env-changed={name}");
    }
    println!("cargo::rustc-env=DYNK8S_BUILT={}", built());
    let features = env::var("CARGO_CFG_TARGET_FEATURE").unwrap_or_default();
    if features.split(',').any(|it| it == "crt-static") {
        for symbol in ["getaddrinfo", "freeaddrinfo"] {
            println!("cargo::rustc-link-arg-bins=-Wl,--defsym={symbol}=abort");
        }
    }
}

/// Seconds since 1970; whoever builds a package again says which time to take, so that the same program comes out.
fn built() -> String {
    let now = || {
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |it| it.as_secs())
    };
    let told = TIMES.iter().find_map(|it| env::var(it).ok());
    told.unwrap_or_else(|| now().to_string())
}
