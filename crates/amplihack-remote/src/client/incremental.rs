//! The part of a repository that a machine misses: nothing is sent twice.

use crate::client::Client;
use crate::client::context::RemoteContext;
use crate::error::RemoteError;
use crate::far::FarSide;
use crate::package::{PackageOptions, SessionPackage};
use crate::protocol::SessionSpec;
use crate::state::RemoteState;

/// A bundle that is shorter is sent whole.
const SHORT: u64 = 64 * 1024;
/// The most bundles that one may stand on.
const LONGEST: usize = 8;

/// The commit and the bundles that an earlier session brought to a machine.
struct TransferredBase {
    /// Full object id of the commit.
    base: String,
    /// The bundles that it takes to have that, oldest first.
    bundles: Vec<String>,
}

impl Client {
    /// The package without what an earlier session of the repository brought to the machine. The sessions are told what it stands on.
    pub(super) async fn missing_there(
        &self,
        ground: &RemoteContext,
        far: &FarSide,
        package: &SessionPackage,
        specs: &mut [SessionSpec],
    ) -> Result<SessionPackage, RemoteError> {
        let whole = || Ok(package.clone());
        let Some(bundle) = package.bundle.as_ref().filter(|bundle| bundle.bytes > SHORT) else {
            return whole();
        };
        let Some(first) = specs.first() else { return whole() };
        let state = ground.read_state()?;
        let repo = state.session(&first.id)?.repo_path.clone().unwrap_or_default();
        let Some(known) = find_transferred_base(&state, far.machine(), &repo, &first.id) else {
            return whole();
        };
        let asked: Vec<&str> =
            known.bundles.iter().map(String::as_str).chain([bundle.sha256.as_str()]).collect();
        let there = far.stored_digests(&asked).await?;
        if there.contains(&bundle.sha256) || !known.bundles.iter().all(|bundle| there.contains(bundle)) {
            return whole();
        }
        let directory = self.amplihack_home()?.join("remote/packages");
        let rest = SessionPackage::build(PackageOptions {
            have: &[known.base],
            // All of it was searched when it was packaged.
            skip_secret_scan: true,
            ..PackageOptions::new(repo.as_ref(), &self.process, &directory)
        })
        .await?;
        // A commit that was made since was not searched.
        let same = rest.base == package.base;
        let Some(rest) = rest.bundle.filter(|rest| same && rest.bytes < bundle.bytes) else { return whole() };
        ground.change_state(|state| {
            for spec in specs.iter_mut() {
                spec.bundle.clone_from(&rest.sha256);
                spec.bases.clone_from(&known.bundles);
                let record = state.session_mut(&spec.id)?;
                record.bundle = Some(rest.sha256.clone());
                record.bases.clone_from(&known.bundles);
            }
            Ok(())
        })?;
        Ok(SessionPackage { bundle: Some(rest), ..package.clone() })
    }
}

/// The base that the latest other session of the repository brought to the machine, if its chain of bundles is not too long.
fn find_transferred_base(
    state: &RemoteState,
    machine: &str,
    repo: &str,
    but: &str,
) -> Option<TransferredBase> {
    let there = state.sessions.values().filter(|record| {
        let session = &record.session;
        session.vm_name == machine && session.session_id != but && record.repo_path.as_deref() == Some(repo)
    });
    let latest = there
        .filter(|record| record.session.started_at.is_some())
        .max_by_key(|record| record.session.created_at)?;
    let bundles: Vec<String> = latest.bases.iter().chain(&latest.bundle).cloned().collect();
    let base = latest.base.clone()?;
    (!bundles.is_empty() && bundles.len() < LONGEST).then_some(TransferredBase { base, bundles })
}
