//! Machines, buckets, clusters, repositories and packages elsewhere.

use super::super::options::Options;
use super::super::{Ctx, Hit, Script};

pub(super) fn remote_resources(ctx: &Ctx<'_>) -> Option<Hit> {
    let call = ctx.call()?;
    let has = |words: &[&str]| words.iter().all(|word| call.has(&[word]));
    let deletes = match call.program.as_str() {
        "terraform" | "tofu" | "pulumi" | "cdk" => call.has(&["destroy"]) || has(&["apply", "-destroy"]),
        "kubectl" | "oc" => {
            call.has(&["delete"])
                && call.has(&[
                    "namespace",
                    "ns",
                    "namespaces",
                    "node",
                    "nodes",
                    "pv",
                    "pvc",
                    "crd",
                    "--all",
                    "all",
                ])
        }
        "helm" => call.has(&["uninstall", "delete"]),
        "aws" => {
            has(&["s3", "rb"])
                || has(&["s3", "rm", "--recursive"])
                || call
                    .args
                    .iter()
                    .any(|arg| arg.text().starts_with("delete-") || arg.text() == "terminate-instances")
        }
        "gcloud" | "az" => call.has(&["delete", "purge"]),
        "gh" => {
            has(&["repo", "delete"])
                || has(&["release", "delete"])
                || call.has(&["api"])
                    && Options::read(&call.args, "XHfFq", &["method"])
                        .value('X', "method")
                        .is_some_and(|method| method.eq_ignore_ascii_case("DELETE"))
        }
        "docker" | "podman" => {
            has(&["system", "prune"]) && call.has(&["--volumes", "-af", "-a"])
                || has(&["volume", "prune"])
                || call.has(&["rm"])
                    && call.args.iter().any(|arg| {
                        ctx.script.inside(arg).any(|inner| {
                            inner.is(&["docker", "podman"])
                                && inner.has(&["ls", "ps", "-aq", "-qa"])
                                && !inner.args.iter().any(|arg| arg.text().contains("filter"))
                        })
                    })
        }
        "npm" | "cargo" | "pnpm" => call.has(&["unpublish", "yank"]),
        _ => false,
    };
    (deletes && !call.has(&["--help", "--dry-run", "--dryrun", "--dry-run=client"])).then(|| {
        ctx.ask(format!(
            "would delete what others may use (`{}`); let a person confirm it",
            Script::spoken(call)
        ))
    })?
}
