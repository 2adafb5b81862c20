//! Tells the program when it was built, and keeps `getaddrinfo` out of it where it is static.
//!
//! A static program that calls it loads the host's NSS modules, made for another glibc, and crashes on hosts with
//! nss-resolve. This agent never calls it, but libraries link it beside their own resolvers. So that nothing ever can, the
//! linker binds the name to `abort` and glibc's own is left out.

use std::env;
use std::time::{SystemTime, UNIX_EPOCH};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=SOURCE_DATE_EPOCH");
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
    env::var("SOURCE_DATE_EPOCH").unwrap_or_else(|_| now().to_string())
}
