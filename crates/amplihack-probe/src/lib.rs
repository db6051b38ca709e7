//! The scripted model server, the scripted agent, and what is proved with them about real agent CLIs.

pub mod demo;
pub mod drive;
pub mod guarding;
pub mod loopback;
pub mod model;
pub mod own_hooks;
pub mod prove;
pub mod scripted;
