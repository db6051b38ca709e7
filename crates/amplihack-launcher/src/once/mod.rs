//! A person's one-time yes, kept in the launch's own memory: no file of it exists that an agent could copy or make.

mod book;
mod person;

pub(crate) use book::GrantBook;
pub(crate) use person::{SocketPeer, check_person};
