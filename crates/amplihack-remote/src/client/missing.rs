//! What of a repository a machine misses: nothing is sent twice.

use crate::client::Client;
use crate::client::ground::Ground;
use crate::error::RemoteError;
use crate::far::Far;
use crate::package::{Package, PackageOptions};
use crate::protocol::SessionSpec;
use crate::state::State;

/// A bundle that is shorter is sent whole.
const SHORT: u64 = 64 * 1024;
/// The most bundles that one may stand on.
const LONGEST: usize = 8;

/// What an earlier session brought to a machine.
struct Known {
    /// Its commit.
    base: String,
    /// The bundles that it takes to have that, oldest first.
    bundles: Vec<String>,
}

impl Client {
    /// The package without what an earlier session of the repository brought to the machine. The sessions are told what it stands on.
    pub(super) async fn missing_there(
        &self,
        ground: &Ground,
        far: &Far,
        package: &Package,
        specs: &mut [SessionSpec],
    ) -> Result<Package, RemoteError> {
        let whole = || Ok(package.clone());
        let Some(bundle) = package.bundle.as_ref().filter(|bundle| bundle.bytes > SHORT) else {
            return whole();
        };
        let Some(first) = specs.first() else { return whole() };
        let state = ground.read()?;
        let repo = state.session(&first.id)?.repo_path.clone().unwrap_or_default();
        let Some(known) = known(&state, far.machine(), &repo, &first.id) else { return whole() };
        let asked: Vec<&str> =
            known.bundles.iter().map(String::as_str).chain([bundle.sha256.as_str()]).collect();
        let there = far.has(&asked).await?;
        if there.contains(&bundle.sha256) || !known.bundles.iter().all(|bundle| there.contains(bundle)) {
            return whole();
        }
        let directory = self.home()?.join("remote/packages");
        let rest = Package::make(PackageOptions {
            have: &[known.base],
            // All of it was searched when it was packaged.
            skip_secret_scan: true,
            ..PackageOptions::new(repo.as_ref(), &self.process, &directory)
        })
        .await?;
        // A commit that was made since was not searched.
        let same = rest.base == package.base;
        let Some(rest) = rest.bundle.filter(|rest| same && rest.bytes < bundle.bytes) else { return whole() };
        ground.change(|state| {
            for spec in specs.iter_mut() {
                spec.bundle.clone_from(&rest.sha256);
                spec.bases.clone_from(&known.bundles);
                let record = state.session_mut(&spec.id)?;
                record.bundle = Some(rest.sha256.clone());
                record.bases.clone_from(&known.bundles);
            }
            Ok(())
        })?;
        Ok(Package { bundle: Some(rest), ..package.clone() })
    }
}

/// What the latest other session of the repository brought to the machine, if not too many bundles stand on each other by now.
fn known(state: &State, machine: &str, repo: &str, but: &str) -> Option<Known> {
    let there = state.sessions.values().filter(|record| {
        let session = &record.session;
        session.vm_name == machine && session.session_id != but && record.repo_path.as_deref() == Some(repo)
    });
    let latest = there
        .filter(|record| record.session.started_at.is_some())
        .max_by_key(|record| record.session.created_at)?;
    let bundles: Vec<String> = latest.bases.iter().chain(&latest.bundle).cloned().collect();
    let base = latest.base.clone()?;
    (!bundles.is_empty() && bundles.len() < LONGEST).then_some(Known { base, bundles })
}
