//! The guides, so that what they show is compiled and run.

#[doc = include_str!("../../../docs/amp-sdk/getting-started.md")]
struct GettingStartedGuide;
#[doc = include_str!("../../../docs/amp-sdk/configuration.md")]
struct ConfigurationGuide;
#[doc = include_str!("../../../docs/amp-sdk/streaming.md")]
struct StreamingGuide;
#[doc = include_str!("../../../docs/amp-sdk/permissions.md")]
struct PermissionsGuide;
#[doc = include_str!("../../../docs/amp-sdk/threads.md")]
struct ThreadsGuide;
#[doc = include_str!("../../../docs/amp-sdk/errors.md")]
struct ErrorsGuide;
#[doc = include_str!("../../../docs/amp-sdk/testing.md")]
struct TestingGuide;
