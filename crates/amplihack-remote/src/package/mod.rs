//! Package of a session: the history that the far side needs, in a bundle, and what git does not carry, in an archive. Everything in
//! them was searched for secrets, and is no larger than it may be, before anything of it leaves the machine.

mod archive;
mod bundle;
mod changes;
mod digest;
mod history;
mod keys;
pub(crate) mod repository;
mod scan;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use amplihack_config::env::Env;
use amplihack_secrets::AllowedSecrets;
use amplihack_sys::fs::{create_private_dir, read_regular};
use amplihack_sys::push_text;

pub use changes::LeftOut;
pub use digest::PackageArtifact;
pub use scan::PackageSecret;

use crate::error::{ErrorContext, RemoteError};
use archive::PackageArchiveError;
use changes::{ExtraFiles, PackageFileKind};
use history::HistoryObject;
use repository::PackageRepository;
use scan::PackageSecrets;

/// Default limit of a package's size: 500 MiB.
pub(crate) const SIZE_CAP: u64 = 500 * 1024 * 1024;

/// Path of the list of allowed fingerprints of secrets, below a repository's root.
pub(crate) const ALLOW_FILE: &str = ".amplihack/secrets-allow";

/// Number of findings, and of large files, that an error names.
const NAMED_FINDINGS: usize = 20;
const NAMED_FILES: usize = 10;

/// Options of a package: the repository, and limits on what is sent.
#[derive(Debug, Clone)]
pub struct PackageOptions<'a> {
    /// A directory of the repository.
    pub repo: &'a Path,
    /// The environment that git runs in.
    pub env: &'a Env,
    /// Directory of bundles and archives; made if it is missing. The bundle of a commit is made once.
    pub directory: &'a Path,
    /// Send work that is not committed too: changed, removed and new files that git does not ignore.
    pub include_dirty: bool,
    /// Commits that the far side has. Those that are not known here do not count.
    pub have: &'a [String],
    /// The most that bundle and archive may take together, in bytes.
    pub cap: u64,
    /// Send without a search for secrets.
    pub skip_secret_scan: bool,
    /// Fingerprints of secrets that may be sent.
    pub allow: &'a [String],
    /// The user trusts the repository, so that its own list of allowed secrets counts.
    pub trusted: bool,
    /// Untracked files, below the repository's root, that are sent although they are key material by their names.
    pub send_keys: &'a [PathBuf],
}

impl<'a> PackageOptions<'a> {
    /// All of HEAD's history, nothing that is not committed, 500 MiB, and no secret.
    pub fn new(repo: &'a Path, env: &'a Env, directory: &'a Path) -> Self {
        Self {
            repo,
            env,
            directory,
            include_dirty: false,
            have: &[],
            cap: SIZE_CAP,
            skip_secret_scan: false,
            allow: &[],
            trusted: false,
            send_keys: &[],
        }
    }
}

/// Package of a commit for its sessions, for as many prompts as there are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionPackage {
    /// The commit that is checked out there, and that results are counted from.
    pub base: String,
    /// The branch there. If HEAD is on none here, it is called `detached`.
    pub branch: String,
    /// Set if HEAD is on a branch here.
    pub on_branch: bool,
    /// The history, as `HEAD` and the branch. `None`: the far side has all of it.
    pub bundle: Option<PackageArtifact>,
    /// Archive of the files that git does not carry; `None` if there are none.
    pub extra: Option<PackageArtifact>,
    /// Files that stay here, with the reason, in the order of the paths.
    pub left_out: Vec<LeftOut>,
    /// Secrets that are sent because their fingerprints are allowed.
    pub allowed: Vec<PackageSecret>,
}

impl SessionPackage {
    /// Packages a repository. Nothing in it is changed, and nothing is sent.
    ///
    /// # Errors
    /// `Validation` where there is no repository, else `Packaging`.
    pub async fn build(options: PackageOptions<'_>) -> Result<Self, RemoteError> {
        build_package(options).await.map_err(repository::repository_error)
    }

    /// The length of bundle and archive together, in bytes.
    pub fn total_bytes(&self) -> u64 {
        [&self.bundle, &self.extra].into_iter().flatten().map(|artefact| artefact.bytes).sum()
    }
}

async fn build_package(options: PackageOptions<'_>) -> Result<SessionPackage, ErrorContext> {
    let repository = PackageRepository::open(options.env, options.repo).await?;
    create_private_dir(options.directory).map_err(|error| {
        ErrorContext::new(format!("{} could not be made: {error}", options.directory.display()))
    })?;
    bundle::forget_unused(options.directory);
    let have = bundle::known_commits(
        &repository,
        if amplihack_sys::sabotage::is_active("remote-block-packaging") { &[] } else { options.have },
    )
    .await?;
    let gathered = changes::gather_extra(&repository, options.include_dirty, options.send_keys).await?;

    let allow = allowed_fingerprints(&repository, &options)?;
    let mut findings = PackageSecrets::new(&allow);
    // An error of the archive waits until the history was scanned, so that a secret is reported before a size.
    let archived =
        archive_extra(&repository, &gathered, &options, (!options.skip_secret_scan).then_some(&mut findings));
    if !options.skip_secret_scan {
        let objects = history::list_objects(&repository, &have).await?;
        history::scan_objects(&repository.git, &objects, options.directory, &mut findings).await?;
        if !findings.refused.is_empty() {
            return Err(secrets_error(&repository, &have, &options, findings).await);
        }
    }
    let extra = match archived {
        Err(PackageArchiveError::TooLong) => {
            return Err(too_large(&repository, &have, &options, &gathered).await);
        }
        Err(PackageArchiveError::Io(path, error)) => {
            return Err(ErrorContext::new(format!("{} could not be packed: {error}", path.display())));
        }
        Ok(extra) => extra,
    };
    let bundle = bundle::make_bundle(&repository, &have, options.directory).await?;
    let package = SessionPackage {
        base: repository.head.clone(),
        branch: repository.branch.clone().unwrap_or_else(|| repository::DETACHED.to_owned()),
        on_branch: repository.branch.is_some(),
        bundle,
        extra,
        left_out: gathered.left_out.iter().cloned().collect(),
        allowed: findings.allowed,
    };
    // Again for both together: the archive alone was held to the limit while it was written.
    if package.total_bytes() > options.cap {
        return Err(too_large(&repository, &have, &options, &gathered).await);
    }
    Ok(package)
}

fn archive_extra(
    repository: &PackageRepository,
    gathered: &ExtraFiles,
    options: &PackageOptions<'_>,
    findings: Option<&mut PackageSecrets<'_>>,
) -> Result<Option<PackageArtifact>, PackageArchiveError> {
    match &repository.root {
        Some(root) => archive::write_archive(gathered, root, options.directory, options.cap, findings),
        None => Ok(None),
    }
}

/// The fingerprints that count: the user's, and those of a repository that the user trusts.
fn allowed_fingerprints(
    repository: &PackageRepository,
    options: &PackageOptions<'_>,
) -> Result<HashSet<String>, ErrorContext> {
    let mut allow: HashSet<String> = options.allow.iter().cloned().collect();
    let Some(file) = allow_file(repository).filter(|_| options.trusted) else { return Ok(allow) };
    let list = read_regular(&file, 1024 * 1024)
        .map_err(|error| ErrorContext::new(format!("{} could not be read: {error}", file.display())))?;
    let list = AllowedSecrets::parse(&String::from_utf8_lossy(&list))
        .map_err(|error| ErrorContext::new(format!("{}: {error}", file.display())))?;
    allow.extend(list.iter().map(|(fingerprint, _)| fingerprint.to_owned()));
    Ok(allow)
}

fn allow_file(repository: &PackageRepository) -> Option<PathBuf> {
    repository.root.as_ref().map(|root| root.join(ALLOW_FILE)).filter(|file| file.exists())
}

/// The error for secrets that were found.
async fn secrets_error(
    repository: &PackageRepository,
    have: &[String],
    options: &PackageOptions<'_>,
    findings: PackageSecrets<'_>,
) -> ErrorContext {
    let count = findings.refused.len();
    let named: Vec<_> = findings.refused.into_iter().take(NAMED_FINDINGS).collect();
    let ids: Vec<&str> = named.iter().filter_map(|(_, object)| object.as_deref()).collect();
    let origins = history::find_origins(repository, have, &ids).await;
    let mut message = match count {
        1 => "a secret would be sent".to_owned(),
        _ => format!("{count} secrets would be sent"),
    };
    let mut fingerprints = Vec::new();
    for (mut finding, object) in named {
        finding.commit = object.and_then(|object| origins.get(&object).cloned());
        push_text!(message, "\n  {finding}");
        fingerprints.push(finding.fingerprint);
    }
    if count > NAMED_FINDINGS {
        push_text!(message, "\n  and {} more", count - NAMED_FINDINGS);
    }
    let file = match allow_file(repository) {
        Some(_) if !options.trusted => {
            format!("; {ALLOW_FILE} does not count until you trust the repository ('amplihack config trust')")
        }
        _ => format!(", or in {ALLOW_FILE} of a repository that you trust"),
    };
    let hint = format!(
        "take it out of the files and of the history, and revoke it; what is no secret is allowed with --allow-secret FINGERPRINT{file}"
    );
    ErrorContext::new(message)
        .with_fact("reason", "secrets")
        .with_fact("count", count)
        .with_fact("fingerprints", fingerprints.join(" "))
        .with_fact("hint", hint)
}

/// The error for more than may be sent.
async fn too_large(
    repository: &PackageRepository,
    have: &[String],
    options: &PackageOptions<'_>,
    gathered: &ExtraFiles,
) -> ErrorContext {
    let mut objects = match history::list_objects(repository, have).await {
        Ok(objects) => objects,
        Err(error) => return error,
    };
    objects.sort_by_key(|object| std::cmp::Reverse(object.stored));
    objects.truncate(NAMED_FILES);
    let ids: Vec<&str> =
        objects.iter().filter(|object| !object.commit).map(|object| object.id.as_str()).collect();
    let origins = history::find_origins(repository, have, &ids).await;
    let from_history = |object: &HistoryObject| {
        let commit = origins.get(&object.id).map_or("?", |commit| &commit[..commit.len().min(12)]);
        (
            object.stored,
            format!("{} in {} (commit {commit})", format_mebibytes(object.size), object.path.display()),
        )
    };
    let mut files: Vec<(u64, String)> = objects.iter().map(from_history).collect();
    let files_here = gathered.files.iter().filter(|(_, kind)| matches!(kind, PackageFileKind::File(_)));
    files.extend(files_here.filter_map(|(path, _)| {
        let size = std::fs::symlink_metadata(repository.root.as_ref()?.join(path)).ok()?.len();
        Some((size, format!("{} in {} (not committed)", format_mebibytes(size), path.display())))
    }));
    files.sort_by_key(|file| std::cmp::Reverse(file.0));
    let mut message =
        format!("it would be more than {}; the biggest files are", format_mebibytes(options.cap));
    for (_, line) in files.iter().take(NAMED_FILES) {
        push_text!(message, "\n  {line}");
    }
    ErrorContext::new(message)
        .with_fact("reason", "too_large")
        .with_fact("cap", options.cap)
        .with_fact("hint", "take large files out of the history or of the directory, or raise --max-size")
}

fn format_mebibytes(bytes: u64) -> String {
    const MIB: u64 = 1024 * 1024;
    format!("{}.{} MiB", bytes / MIB, bytes % MIB * 10 / MIB)
}
