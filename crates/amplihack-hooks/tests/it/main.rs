//! The hook plane from outside: recorded payloads, the shared cases, the real binary.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "clippy's allowance for tests leaves out the functions beside them"
)]

mod aggregate;
mod binary;
mod continuation;
mod corpora;
mod export;
mod launch;
mod payloads;
mod permission;
mod prompts;
mod schemas;
mod world;
mod xpia;
