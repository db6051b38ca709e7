//! The promises of the published page of the API, one by one, by the public API. `docs/compliance.md` names these tests.

mod errors;
mod exec;
mod options;
mod rented;
mod sessions;
mod state;
