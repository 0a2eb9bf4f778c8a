//! The test groups beside the fast tier: other people's clients, generators, a browser, packages, poolers and clusters, and
//! the checks that take minutes. `cargo xtask groups` names those whose inputs a change touched.

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Result, bail};

use crate::workspace::{Workspace, command, output_of};

/// Tests or a check that run when their inputs changed, and else in turn by date.
pub struct Group {
    pub name: &'static str,
    /// Beginnings of the names of its black-box tests. Empty for a check, which is a command of its own.
    pub tests: &'static [&'static str],
    /// What `.ci/run` installs for it.
    tools: &'static [&'static str],
    /// Paths that it depends on.
    inputs: &'static [&'static str],
}

/// The public surface of the service: other people's programs read it.
const SURFACE: [&str; 7] = [
    "relayer/api/src/http",
    "relayer/model/src/wire",
    "relayer/api/src/web",
    "extensions/approvals",
    "extensions/bulk",
    "extensions/denials",
    "main",
];

pub const GROUPS: &[Group] = &[
    Group {
        name: "clients",
        tests: &[
            "agents_page::ai_sdk",
            "agents_page::claude",
            "agents_page::hundred_retries",
            "agents_page::langchain",
            "agents_page::openai",
            "agents_page::package_of",
            "approvals::binding::",
            "approvals::phone::",
            "early_refusals::httpx",
            "first_payment::generated_client",
            "first_payment::type_check",
            "mcp_bundle::",
            "mcp_clients::",
            "mcp_conformance::",
            "receivers::receiver_in_typescript",
            "tool_schemas::",
            "x402::buying::",
            "x402::paying::",
            "x402::receiving::",
        ],
        tools: &["node", "python", "langchain", "solana-pay"],
        inputs: &[
            "core",
            "extensions/mcp",
            "extensions/x402",
            "docs/build/mcp.md",
            "docs/build/sdk.md",
            "relayer/service/src",
            "relayer/webhooks/src",
        ],
    },
    Group { name: "sdk", tests: &["sdk::"], tools: &["node", "python"], inputs: &["sdk", "extensions/x402"] },
    Group {
        name: "generators",
        tests: &["generators::", "schemathesis::"],
        tools: &["node", "python", "java"],
        inputs: &["relayer/model/src"],
    },
    Group {
        name: "auditors",
        tests: &["audit::auditor::", "audit::meanwhile::", "audit::page::"],
        tools: &["node", "python", "browser"],
        inputs: &["audit", "client", "programs", "policy"],
    },
    Group {
        name: "browser",
        tests: &["dashboard_browser::", "passkeys::a_passkey_is_made_and_used_in_a_browser"],
        tools: &["node", "browser"],
        inputs: &["extensions/dashboard"],
    },
    Group {
        name: "packages",
        tests: &[
            "deploy::alert_rules",
            "deploy::image_and_compose",
            "deploy::metrics_are",
            "deploy::program_is",
            "deploy::static_program",
            "deploy::whom_alertmanager",
            "packages::",
            "shipped::",
        ],
        tools: &["node", "python", "prometheus"],
        inputs: &["deploy", "cli", "dev", "relayer/base/src/metrics.rs"],
    },
    Group {
        name: "databases",
        tests: &["cells::", "patroni::", "pooler::"],
        tools: &["pooler"],
        inputs: &["relayer/store/src", "relayer/store/migrations"],
    },
    Group { name: "simulate", tests: &[], tools: &[], inputs: &["core", "policy", "simulate"] },
    Group { name: "sbf", tests: &[], tools: &[], inputs: &["programs", "policy", "sbf"] },
    Group { name: "prove", tests: &[], tools: &[], inputs: &["policy", "prove"] },
    Group { name: "book", tests: &["book::"], tools: &["python"], inputs: &["docs"] },
];

/// Paths that only the fast tier depends on.
const FAST: [&str; 13] = [
    "docs",
    "localnet",
    "migrations",
    "relayer",
    "rpc",
    "tests/it",
    "tests/upgrade",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "README.md",
    "SECURITY.md",
    "LICENSE",
];

impl Group {
    pub fn named(name: &str) -> Result<&'static Self> {
        match GROUPS.iter().find(|group| group.name == name) {
            Some(group) if !group.tests.is_empty() => Ok(group),
            Some(group) => bail!("{name} is a check and has no tests: `cargo xtask {}`", group.name),
            None => {
                let names: Vec<_> = GROUPS.iter().map(|group| group.name).collect();
                bail!("no group is called {name}; there are {}", names.join(", "))
            }
        }
    }

    pub fn has(&self, test: &str) -> bool {
        self.tests.iter().any(|begin| test.starts_with(begin))
    }

    /// Whether a change of this file can change its outcome.
    fn depends_on(&self, path: &str) -> bool {
        let file_of_tests = |begin: &&str| {
            let (module, _) = begin.split_once("::").unwrap_or((begin, ""));
            is_under(path, &format!("tests/it/{module}.rs")) || is_under(path, &format!("tests/it/{module}"))
        };
        let reads_the_surface = !self.tests.is_empty() && !["databases", "book"].contains(&self.name);
        self.inputs.iter().any(|input| is_under(path, input))
            || self.tests.iter().any(file_of_tests)
            || (reads_the_surface && SURFACE.iter().any(|input| is_under(path, input)))
    }
}

fn is_under(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[derive(clap::Args)]
pub struct Args {
    /// The commit that was tested last; without it, every group runs
    #[arg(long)]
    since: Option<String>,
}

/// Prints a line for each group that is due: its name, then the tools that it needs.
pub fn run(workspace: &Workspace, args: &Args) -> Result<()> {
    let due: Vec<&Group> = match &args.since {
        Some(commit) => {
            let mut diff = command("git");
            diff.current_dir(&workspace.root).args(["diff", "--name-only", commit, "HEAD"]);
            let changed = output_of(&mut diff)?;
            let day = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs() / 86_400;
            due(&changed.lines().collect::<Vec<_>>(), day)
        }
        None => GROUPS.iter().collect(),
    };
    for group in due {
        println!("{} {}", group.name, group.tools.join(" "));
    }
    Ok(())
}

/// The groups that depend on a changed path, and the one whose turn it is on this day. An unknown path makes all run.
fn due(changed: &[&str], day: u64) -> Vec<&'static Group> {
    let is_known = |path: &str| {
        GROUPS.iter().any(|group| group.depends_on(path)) || FAST.iter().any(|fast| is_under(path, fast))
    };
    let all = changed.iter().any(|path| !is_known(path));
    let turn = usize::try_from(day % GROUPS.len() as u64).unwrap_or_default();
    let is_due = |(at, group): &(usize, &Group)| {
        all || *at == turn || changed.iter().any(|path| group.depends_on(path))
    };
    GROUPS.iter().enumerate().filter(is_due).map(|(_, group)| group).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The groups of this change, on a day when it is the turn of `simulate`, whose number is 7.
    fn names(changed: &[&str]) -> Vec<&'static str> {
        due(changed, 7).into_iter().map(|group| group.name).collect()
    }

    #[test]
    fn groups_run_when_their_inputs_change_and_one_by_turn() {
        assert_eq!(names(&[]), ["simulate"]);
        assert_eq!(names(&["docs/run/keys.md", "relayer/app/src/app.rs"]), ["simulate", "book"]);
        assert_eq!(names(&["relayer/store/src/lib.rs"]), ["databases", "simulate"]);
        assert_eq!(names(&["tests/it/packages.rs", "sdk/python/README.md"]), ["sdk", "packages", "simulate"]);
        assert_eq!(names(&["core/src/lib.rs"]), ["clients", "simulate"]);
        assert_eq!(names(&["prove/model.py"]), ["simulate", "prove"]);
    }

    #[test]
    fn unknown_path_makes_every_group_run() {
        assert_eq!(names(&["Cargo.lock"]).len(), GROUPS.len());
        assert_eq!(names(&["tests/src/app.rs"]).len(), GROUPS.len());
    }

    #[test]
    fn change_of_the_public_surface_runs_what_reads_it() {
        let names = names(&["relayer/api/src/http/mod.rs"]);
        assert!(
            ["clients", "sdk", "generators", "browser"].iter().all(|name| names.contains(name)),
            "{names:?}"
        );
        assert!(!names.contains(&"databases"), "{names:?}");
    }

    #[test]
    fn every_test_of_a_group_begins_like_a_module_of_the_black_box_tests() {
        let modules = include_str!("../../../tests/it/main.rs");
        for begin in GROUPS.iter().flat_map(|group| group.tests) {
            let module = begin.split("::").next().unwrap_or_default();
            assert!(modules.contains(&format!("mod {module};")), "no module of {begin}");
        }
    }
}
