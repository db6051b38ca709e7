//! Guides, a page for each task. What they show is compiled and run with the tests.
//!
//! Their files are links to those of the repository's book; a package has the files themselves.

// The first definition of a link counts: here its target is a page of this documentation.
#[doc = "[configuration]: crate::guide::configuration"]
#[doc = "[streaming]: crate::guide::streaming"]
#[doc = "[permissions]: crate::guide::permissions"]
#[doc = "[threads]: crate::guide::threads"]
#[doc = "[errors]: crate::guide::errors"]
#[doc = "[testing]: crate::guide::testing"]
#[doc = "[what the CLI does]: crate::guide::provider_behavior"]
#[doc = ""]
#[doc = include_str!("../guides/getting-started.md")]
pub mod getting_started {}

#[doc = include_str!("../guides/configuration.md")]
pub mod configuration {}

#[doc = include_str!("../guides/streaming.md")]
pub mod streaming {}

#[doc = "[governed execution]: crate::guide::configuration#governed-execution"]
#[doc = ""]
#[doc = include_str!("../guides/permissions.md")]
pub mod permissions {}

#[doc = include_str!("../guides/threads.md")]
pub mod threads {}

#[doc = include_str!("../guides/errors.md")]
pub mod errors {}

#[doc = include_str!("../guides/testing.md")]
pub mod testing {}

#[doc = include_str!("../guides/provider-behavior.md")]
pub mod provider_behavior {}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
