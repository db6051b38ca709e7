//! Hosts' hook dialects.
