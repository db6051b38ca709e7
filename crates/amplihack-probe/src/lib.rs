//! The scripted model server, the scripted agent, and what is proved with them about real agent CLIs.

pub mod loopback;
pub mod model;
pub mod scripted;
