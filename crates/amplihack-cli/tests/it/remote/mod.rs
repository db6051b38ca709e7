//! Remote sessions, with the real binary at both ends: the same claims on every backend.
//!
//! `local` is this machine, `ssh` three hosts with a real sshd, `azlin` a strict stand-in for azlin that makes such hosts, `slurm` a real
//! Slurm of three nodes. Where this machine cannot have hosts, a line says so and nothing is claimed.

/// Makes each claim a module with a test for each of the backends.
macro_rules! everywhere {
    ($($(#[doc = $doc:literal])* fn $name:ident($world:ident) $body:block)*) => {$(
        $(#[doc = $doc])*
        mod $name {
            use super::*;

            fn claim($world: &mut crate::remote::world::World) $body

            #[test]
            fn local() {
                crate::remote::world::World::with(crate::remote::world::Kind::Local, claim);
            }

            #[test]
            fn ssh() {
                crate::remote::world::World::with(crate::remote::world::Kind::Ssh, claim);
            }

            #[test]
            fn azlin() {
                crate::remote::world::World::with(crate::remote::world::Kind::Azlin, claim);
            }

            #[test]
            fn slurm() {
                crate::remote::world::World::with(crate::remote::world::Kind::Slurm, claim);
            }
        }
    )*};
}

mod azlin;
mod canary;
mod doctor;
mod exec;
mod follow;
mod hostile;
mod incremental;
mod losses;
mod promises;
mod prompts;
mod results;
mod sessions;
mod starts;
mod variables;
pub(crate) mod world;
