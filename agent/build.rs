//! Keeps `getaddrinfo` out of the static program.
//!
//! A static program that calls it loads the host's NSS modules, made for another glibc, and crashes on hosts with
//! nss-resolve. This agent never calls it, but libraries link it beside their own resolvers. So that nothing ever can, the
//! linker binds the name to `abort` and glibc's own is left out.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let features = env::var("CARGO_CFG_TARGET_FEATURE").unwrap_or_default();
    if features.split(',').any(|it| it == "crt-static") {
        for symbol in ["getaddrinfo", "freeaddrinfo"] {
            println!("cargo::rustc-link-arg-bins=-Wl,--defsym={symbol}=abort");
        }
    }
}
