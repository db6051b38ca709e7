//! The guides, so that what they show is compiled and run.

#[doc = include_str!("../../../docs/amp-sdk/getting-started.md")]
struct GettingStarted;
#[doc = include_str!("../../../docs/amp-sdk/configuration.md")]
struct Configuration;
#[doc = include_str!("../../../docs/amp-sdk/streaming.md")]
struct Streaming;
#[doc = include_str!("../../../docs/amp-sdk/permissions.md")]
struct Permissions;
#[doc = include_str!("../../../docs/amp-sdk/threads.md")]
struct Threads;
#[doc = include_str!("../../../docs/amp-sdk/errors.md")]
struct Errors;
#[doc = include_str!("../../../docs/amp-sdk/testing.md")]
struct Testing;
