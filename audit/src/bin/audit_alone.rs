//! The audit without the rest of `purser`, for `cargo xtask bench audit`: an optimised build of the relayer takes several times as
//! long. It takes `--url`, `--operator` and `--save`, or `--from`, like `purser audit`, and prints the report as a line of JSON.

use std::error::Error;
use std::process::ExitCode;

use purser_audit::gather::Subject;
use purser_audit::report::Report;
use purser_audit::{PROGRAM, Request, Source, audit, exit_status};

#[tokio::main]
async fn main() -> ExitCode {
    match audited().await {
        Ok(report) => ExitCode::from(exit_status(report.holds, report.complete)),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

async fn audited() -> Result<Report, Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let value = |name: &str| {
        let is_it = |pair: &&[String]| pair.first().is_some_and(|first| first == name);
        arguments.chunks_exact(2).find(is_it).and_then(|pair| pair.last())
    };
    let source = match (value("--from"), value("--url"), value("--operator")) {
        (Some(folder), None, None) => Source::Saved(folder.into()),
        (None, Some(url), Some(operator)) => Source::Node {
            urls: vec![url.parse()?],
            program: PROGRAM,
            subject: Subject::Operator(operator.parse()?),
            save: value("--save").map(Into::into),
        },
        _ => return Err("give --url, --operator and --save, or --from".into()),
    };
    let report = audit(Request { source, api: None, explorer: None }, &drop).await?;
    println!("{}", serde_json::to_string(&report)?);
    Ok(report)
}
