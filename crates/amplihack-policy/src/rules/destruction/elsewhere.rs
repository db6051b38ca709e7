//! Machines, buckets, clusters, repositories and packages elsewhere.

use super::super::options::CommandOptions;
use super::super::{JudgedScript, RuleContext, RuleHit};

pub(super) fn remote_resources(ctx: &RuleContext<'_>) -> Option<RuleHit> {
    let call = ctx.call()?;
    let has = |words: &[&str]| words.iter().all(|word| call.has_any(&[word]));
    let deletes = match call.program.as_str() {
        "terraform" | "tofu" | "pulumi" | "cdk" => call.has_any(&["destroy"]) || has(&["apply", "-destroy"]),
        "kubectl" | "oc" => {
            // A pod is made again; with these goes what runs in them or is stored there.
            call.has_any(&["delete"])
                && call.has_any(&[
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
        "helm" => call.has_any(&["uninstall", "delete"]),
        "aws" => {
            has(&["s3", "rb"])
                || has(&["s3", "rm", "--recursive"])
                || call
                    .args
                    .iter()
                    .any(|arg| arg.text().starts_with("delete-") || arg.text() == "terminate-instances")
        }
        "gcloud" | "az" => call.has_any(&["delete", "purge"]),
        "gh" => {
            has(&["repo", "delete"])
                || has(&["release", "delete"])
                || call.has_any(&["api"])
                    && CommandOptions::read(&call.args, "XHfFq", &["method"])
                        .value('X', "method")
                        .is_some_and(|method| method.eq_ignore_ascii_case("DELETE"))
        }
        "docker" | "podman" => {
            has(&["system", "prune"]) && call.has_any(&["--volumes", "-af", "-a"])
                || has(&["volume", "prune"])
                || call.has_any(&["rm"])
                    // `docker rm NAME`, or of those that a filter finds, is everyday work: only all containers at once are not.
                    && call.args.iter().any(|arg| {
                        ctx.script.substituted_calls(arg).any(|inner| {
                            inner.is_any_of(&["docker", "podman"])
                                && inner.has_any(&["ls", "ps", "-aq", "-qa"])
                                && !inner.args.iter().any(|arg| arg.text().contains("filter"))
                        })
                    })
        }
        "npm" | "cargo" | "pnpm" => call.has_any(&["unpublish", "yank"]),
        _ => false,
    };
    (deletes && !call.has_any(&["--help", "--dry-run", "--dryrun", "--dry-run=client"])).then(|| {
        ctx.ask(format!(
            "would delete what others may use (`{}`); let a person confirm it",
            JudgedScript::display_call(call)
        ))
    })?
}
