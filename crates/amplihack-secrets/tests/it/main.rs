//! The search for credentials, as its users see it.

mod scan;
