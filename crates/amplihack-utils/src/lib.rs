//! Public names of the routing and of prompt delivery, as the documents that amplihack was created from write them.
//!
//! The code is in `amplihack-config`. The crates of this workspace use that one.
//!
//! ```
//! use std::process::Command;
//! use amplihack_utils::agent_binary::resolve;
//! use amplihack_utils::prompt_delivery::{DeliveryCaps, DeliveryMode, PromptDelivery, deliver};
//!
//! let agent = resolve(".");
//! let mut cmd = Command::new(agent.name());
//! let handle = deliver(&mut cmd, "don't expand $HOME", PromptDelivery::Auto, &DeliveryCaps::argv_only())?;
//! assert_eq!(cmd.get_args().collect::<Vec<_>>(), ["don't expand $HOME"]);
//! assert_eq!(handle.mode(), DeliveryMode::Argv);
//! # Ok::<(), std::io::Error>(())
//! ```

pub use amplihack_config::{agent_binary, prompt_delivery};
