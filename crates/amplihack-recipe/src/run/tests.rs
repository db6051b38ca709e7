//! interim
