//! What the report says in every form for people: its first page, tables over time, and lines that are told once.

use std::collections::BTreeMap;

use super::{CheckReport, Finding, Moment, Reference, Report, Sums, Verdict};

/// The parts of a first page that a partner signs.
impl Report {
    pub fn first_page(&self) -> Vec<(&'static str, String)> {
        let scope = match &self.account {
            Some(account) => format!("ONE account, {account}, of the operator {}", self.operator),
            None => format!("the operator {} with all its accounts: {}", self.operator, self.totals.accounts),
        };
        let time = |time: &Option<String>| time.clone().unwrap_or_else(|| "date unknown".to_owned());
        let (from, until) = (time(&self.from_time), time(&self.until_time));
        let tool = self.tool_sha256.as_deref().unwrap_or("unknown");
        let program = &self.program;
        let mut rows = vec![
            ("Scope", scope),
            ("Network (genesis hash)", format!("{}, {}", self.network, self.genesis_hash)),
            (
                "Audited period",
                format!("{from}, the operator's creation, to {until} (slot {})", self.until_slot),
            ),
        ];
        rows.extend(self.sums());
        rows.extend([
            ("Program", format!("{}; may be replaced by {}", program.build(), program.upgradeable_by())),
            ("Nothing to check", self.vacuous()),
            ("Not audited", NOT_AUDITED.to_owned()),
            ("Read from", self.read_from.clone()),
            ("SHA-256 of all inputs (Merkle root)", self.archive_sha256.clone()),
            ("Made", format!("{} by {}, SHA-256 {tool}", self.made_at, self.tool)),
        ]);
        rows
    }

    /// The money of all accounts, of the period that was asked for.
    fn sums(&self) -> Vec<(&'static str, String)> {
        let usdc = |amount: &String| format!("{amount} USDC");
        let Sums { opening_balance_usdc, deposited_usdc, payments, paid_usdc, withdrawn_usdc, .. } =
            &self.period.all;
        let closing = &self.period.all.closing_balance_usdc;
        let mut rows = Vec::new();
        let held = match self.period.days.words() {
            Some(words) => {
                rows.push(("Totals and ledger", words));
                closing
            }
            None => &self.totals.last_balance_usdc,
        };
        rows.extend([
            ("Held at the beginning", usdc(opening_balance_usdc)),
            ("Came in", usdc(deposited_usdc)),
            ("Paid", format!("{paid_usdc} USDC, in {payments} payments")),
            ("Taken out by the admin, past every policy", usdc(withdrawn_usdc)),
            ("Held at the end", usdc(held)),
        ]);
        rows
    }

    /// The money of each account, and of all of them.
    pub(super) fn by_account(&self) -> Table {
        let row = |account: &str, sums: &Sums| {
            let Sums { opening_balance_usdc, deposited_usdc, payments, paid_usdc, withdrawn_usdc, .. } = sums;
            let payments = payments.to_string();
            let cells = [
                account,
                opening_balance_usdc,
                deposited_usdc,
                &payments,
                paid_usdc,
                withdrawn_usdc,
                &sums.closing_balance_usdc,
            ];
            cells.map(str::to_owned).to_vec()
        };
        let accounts = self.period.accounts.iter().map(|it| row(&it.account, &it.sums));
        let heads = &[
            "account",
            "USDC at the beginning",
            "came in",
            "payments",
            "USDC paid",
            "taken out by the admin",
            "at the end",
        ];
        let all = std::iter::once(row("all", &self.period.all));
        let mut title = "Totals by account".to_owned();
        title += &self.period.days.words().map_or(String::new(), |words| format!(", {words}"));
        if self.period.accounts.len() > 1 {
            title += "; a payment from one of them to another is in both";
        }
        Table { title, heads, rows: accounts.chain(all).collect() }
    }

    /// What does not hold, then what could not be checked: each once, with how often it is so.
    pub(super) fn exceptions(&self) -> Vec<String> {
        let times = |count: usize| if count > 1 { format!(" ({count} times)") } else { String::new() };
        let of = |check: &CheckReport| {
            let found = folded(&check.findings).into_iter().map(move |(finding, count)| {
                let account = finding.account.as_ref().map_or(String::new(), |it| format!("account {it}: "));
                format!("{}: {account}{}{}", check.title, finding.text, times(count))
            });
            found.collect::<Vec<_>>()
        };
        let open = |check: &CheckReport| {
            let open = check.unchecked.iter().map(|why| format!("{}: not checked: {why}", check.title));
            open.collect::<Vec<_>>()
        };
        let mut all: Vec<String> = self.checks.iter().flat_map(of).collect();
        all.extend(self.checks.iter().flat_map(open));
        let more = all.len().saturating_sub(EXCEPTIONS_MAX);
        all.truncate(EXCEPTIONS_MAX);
        all.extend((more > 0).then(|| format!("and {more} more, under the checks")));
        all
    }

    /// The checks that had nothing to look at.
    fn vacuous(&self) -> String {
        let vacuous = self.checks.iter().filter(|check| check.result == Verdict::NothingToCheck);
        let titles: Vec<&str> = vacuous.map(|check| check.title).collect();
        if titles.is_empty() { "none".to_owned() } else { titles.join("; ") }
    }
}

/// What was so from when to when, for any form of the report.
pub(super) struct Table {
    pub title: String,
    pub heads: &'static [&'static str],
    pub rows: Vec<Vec<String>>,
}

impl Report {
    /// Budgets, approvers, and what bound accounts beside their policies: those of which there are any.
    pub(super) fn over_time(&self) -> impl Iterator<Item = Table> {
        let month = |cap: &Option<String>| cap.clone().unwrap_or_else(|| "none".to_owned());
        let row = |cells: &[&String], from: &Reference, until: &Option<Reference>| {
            let until = until.as_ref().map_or("now", |until| &until.time);
            let cells = cells.iter().map(|cell| (*cell).clone());
            cells.chain([from.time.clone(), until.to_owned()]).collect()
        };
        let budgets = self.budgets.iter().map(|it| {
            let waiting = it.waiting.as_ref().map_or("none".to_owned(), |it| {
                format!("{} and {} until {}", it.max_daily_usdc, month(&it.max_30_day_usdc), it.until)
            });
            row(&[&it.budget, &it.max_daily_usdc, &month(&it.max_30_day_usdc), &waiting], &it.from, &it.until)
        });
        let approvers = self.approvers.iter();
        let approvers =
            approvers.map(|it| row(&[&it.key, &it.max_grant_usdc, &it.max_daily_usdc], &it.from, &it.until));
        let limits = self.limits.iter().map(|it| row(&[&it.account, &it.terms], &it.from, &it.until));
        let all: [(_, &[_], Vec<_>); 3] = [
            ("Budgets", &["budget", "USDC a day", "in 30 days", "waiting", "from", "to"], budgets.collect()),
            ("Approvers", &["key", "USDC at once", "USDC a day", "from", "to"], approvers.collect()),
            ("Account limits", &["account", "bound", "from", "to"], limits.collect()),
        ];
        let tables = all.into_iter().map(|(title, heads, rows)| Table {
            title: format!("{title} over time"),
            heads,
            rows,
        });
        tables.filter(|table| !table.rows.is_empty())
    }
}

/// The lines that an auditor fills in. Whose operator it is, the chain does not say.
pub(super) const SIGNED: [&str; 4] = ["Client", "Auditor", "Place, date", "Signature"];
/// What a first page says that it leaves out.
const NOT_AUDITED: &str = "SOL (fees, rent, and whom rent goes back to); tokens other than USDC; who holds a key, who is behind a \
                           recipient, and what a payment was for. See \"Not seen by this audit\"";
/// The most exceptions on a first page.
const EXCEPTIONS_MAX: usize = 12;

/// Each finding once, in its order, with how many say the same of the same account.
pub(super) fn folded(findings: &[Finding]) -> Vec<(&Finding, usize)> {
    let mut folded: Vec<(&Finding, usize)> = Vec::new();
    let mut places = BTreeMap::new();
    for finding in findings {
        let place = *places.entry((&finding.account, &finding.text)).or_insert(folded.len());
        match folded.get_mut(place) {
            Some((_, count)) => *count += 1,
            None => folded.push((finding, 1)),
        }
    }
    folded
}

/// Runs of moments that say the same of the same account: the first, and how many there are.
pub(super) fn runs(timeline: &[Moment]) -> impl Iterator<Item = (&Moment, usize)> {
    let is_same = |one: &Moment, other: &Moment| (&one.account, &one.text) == (&other.account, &other.text);
    timeline.chunk_by(is_same).filter_map(|run| Some((run.first()?, run.len())))
}
