//! How values are written on pages.

use askama::Values;
use askama::filters::Safe;
use purser_model::{
    Address, AllowedRecipients, CounterpartyKind, Invalid, Limit, PaidBefore, RejectionReason, RuleValue,
    Timestamp, UsdcAmount, entries, usdc_text,
};

/// `12.5`: as a person types it.
pub fn typed_text(amount: UsdcAmount) -> String {
    amount.to_string().trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A limit, for people.
pub fn limit_text(limit: Limit) -> String {
    match limit {
        Limit::Unlimited => "No limit".to_owned(),
        Limit::AtMost(amount) => format!("{} USDC", usdc_text(amount)),
    }
}

/// Formats a rule's value for people.
pub fn value_text(value: &RuleValue<AllowedRecipients>) -> String {
    match value {
        RuleValue::Flag(is_on) => if *is_on { "Yes" } else { "No" }.to_owned(),
        RuleValue::Limit(limit) => limit_text(*limit),
        RuleValue::Payees(AllowedRecipients::Anyone) => "Anyone".to_owned(),
        RuleValue::Payees(payees) if payees.is_empty() => "Nobody".to_owned(),
        RuleValue::Payees(payees) => lines(payees),
    }
}

/// Formats a rule's value for a form field. `None` for a flag that is off.
pub fn field_text(value: &RuleValue<AllowedRecipients>) -> Option<String> {
    match value {
        RuleValue::Flag(is_on) => is_on.then(|| "true".to_owned()),
        RuleValue::Limit(Limit::Unlimited) => Some(String::new()),
        RuleValue::Limit(Limit::AtMost(amount)) => Some(typed_text(*amount)),
        RuleValue::Payees(payees) => Some(lines(payees)),
    }
}

/// Formats an allowlist, one entry per line.
fn lines(payees: &AllowedRecipients) -> String {
    let line = |(kind, address): (CounterpartyKind, Address)| format!("{} {address}", kind.as_str());
    entries(payees).into_iter().flatten().map(line).collect::<Vec<_>>().join("\n")
}

/// `2026-11-22 21:30:37 UTC`
pub fn moment_text(at: Timestamp) -> String {
    let text = at.to_string();
    format!("{} {} UTC", text.get(..10).unwrap_or_default(), text.get(11..19).unwrap_or_default())
}

/// Returns whether a search finds something: a text of it contains what is wanted, or an id, address or signature begins with it. A short
/// word is inside many addresses, and who halts what a name finds would halt them too.
pub fn finds(
    wanted: &str,
    mut texts: impl Iterator<Item = String>,
    mut ids: impl Iterator<Item = String>,
) -> bool {
    let lower = wanted.to_lowercase();
    texts.any(|text| text.to_lowercase().contains(&lower)) || ids.any(|id| id.starts_with(wanted))
}

/// How often and how much was paid to somebody, without when.
pub fn paid_text(paid: PaidBefore) -> String {
    let usdc = usdc_text(paid.amount);
    match paid.count {
        0 => "never".to_owned(),
        1 => format!("once, {usdc} USDC"),
        PaidBefore::COUNT_MAX.. => format!("{} times or more, {usdc} USDC or more in all", paid.count),
        count => format!("{count} times, {usdc} USDC in all"),
    }
}

/// SOL, with as many decimals as needed, at least two.
pub fn sol_text(lamports: u64) -> String {
    const A_SOL: u64 = 1_000_000_000;
    let fraction = format!("{:09}", lamports % A_SOL);
    let shown = fraction.trim_end_matches('0').len().max(2);
    format!("{}.{}", lamports / A_SOL, fraction.get(..shown).unwrap_or(&fraction))
}

/// `single limit exceeded`: a word of ours, for people.
pub fn spaced(word: &str) -> String {
    word.replace('_', " ")
}

/// Why policy refused a payment, in a few words.
pub fn reason_text(reason: RejectionReason) -> String {
    spaced(reason.as_str())
}

/// `8cHk…Qz9f`: enough of an address or id to recognize it, too little to compare it.
pub fn short_text(text: &str) -> String {
    const SHOWN: usize = 4;
    let count = text.chars().count();
    if count <= 2 * SHOWN + 1 {
        return text.to_owned();
    }
    let (first, last) = (text.chars().take(SHOWN), text.chars().skip(count - SHOWN));
    first.chain(['\u{2026}']).chain(last).collect()
}

/// A moment as a date picker sends it, in UTC and without seconds if there are none; a day; or an RFC 3339 text.
pub fn moment_of(field: &str, text: &str) -> Result<Timestamp, Invalid> {
    let forms = [text.to_owned(), format!("{text}Z"), format!("{text}:00Z"), format!("{text}T00:00:00Z")];
    let read = forms.iter().find_map(|form| form.parse().ok());
    read.map_or_else(|| Invalid::unless(field, text), Ok)
}

/// The same as a date picker takes it: `2026-11-22T21:30:37`. Empty: it is no moment.
pub fn picked(text: &str) -> String {
    let read = moment_of("", text).map(|at| at.to_string()).unwrap_or_default();
    read.get(..19).unwrap_or_default().to_owned()
}

/// The share of `part` in `whole`, in percent, 100 at most.
pub fn percent(part: UsdcAmount, whole: UsdcAmount) -> u64 {
    let (part, whole) = (u128::from(part.micros()), u128::from(whole.micros()));
    if whole == 0 {
        return 100;
    }
    u64::try_from((part.saturating_mul(100) / whole).min(100)).unwrap_or(100)
}

/// The filters with which templates write values.
pub mod filters {
    use super::*;

    /// An amount, for people.
    pub fn usdc(amount: &UsdcAmount, _: &dyn Values) -> askama::Result<String> {
        Ok(usdc_text(*amount))
    }

    /// A limit, for people.
    pub fn limit(limit: &Limit, _: &dyn Values) -> askama::Result<String> {
        Ok(limit_text(*limit))
    }

    /// A moment: in UTC here; with the script as the time since then, or until then.
    pub fn moment(at: &Timestamp, _: &dyn Values) -> askama::Result<Safe<String>> {
        // Only digits and punctuation, so it needs no escaping.
        let text = moment_text(*at);
        Ok(Safe(format!("<time datetime=\"{at}\" title=\"{text}\">{text}</time>")))
    }

    /// A moment within a sentence: in UTC here, in the reader's time zone with the script.
    pub fn exactly(at: &Timestamp, _: &dyn Values) -> askama::Result<Safe<String>> {
        let text = moment_text(*at);
        Ok(Safe(format!("<time class=\"exact\" datetime=\"{at}\" title=\"{text}\">{text}</time>")))
    }

    /// A moment in UTC, also with the script: as wallets show it.
    pub fn utc(at: &Timestamp, _: &dyn Values) -> askama::Result<String> {
        Ok(moment_text(*at))
    }

    /// What was paid to somebody, and when last.
    pub fn paid(paid: &PaidBefore, values: &dyn Values) -> askama::Result<Safe<String>> {
        let text = paid_text(*paid);
        let Some(at) = paid.last_at else { return Ok(Safe(text)) };
        let Safe(at) = exactly(&at, values)?;
        let joint = if paid.count == 1 { "on" } else { "last on" };
        Ok(Safe(format!("{text}, {joint} {at}")))
    }

    /// A word of ours, for people.
    pub fn words(word: &str, _: &dyn Values) -> askama::Result<String> {
        Ok(spaced(word))
    }

    /// The ends of an address or id.
    pub fn short(text: impl std::fmt::Display, _: &dyn Values) -> askama::Result<String> {
        Ok(short_text(&text.to_string()))
    }

    /// Why policy refused, for people.
    pub fn reason(reason: &RejectionReason, _: &dyn Values) -> askama::Result<String> {
        Ok(reason_text(*reason))
    }

    /// Lamports, for people.
    pub fn sol(lamports: &u64, _: &dyn Values) -> askama::Result<String> {
        Ok(sol_text(*lamports))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_paid_is_said_with_its_sum_and_its_bound() {
        let said = |count, micros| {
            paid_text(PaidBefore { count, amount: UsdcAmount::from_micros(micros), last_at: None })
        };
        assert_eq!(said(0, 0), "never");
        assert_eq!(said(1, 30_000_000), "once, 30.00 USDC");
        assert_eq!(said(9_999, 1_000_000_001), "9999 times, 1,000.000001 USDC in all");
        assert_eq!(said(10_000, 1_000_000), "10000 times or more, 1.00 USDC or more in all");
    }

    #[test]
    fn amounts_are_filled_in_as_they_are_typed() {
        for (micros, text) in [(0, "0"), (1, "0.000001"), (12_500_000, "12.5"), (1_000_000_000, "1000")] {
            assert_eq!(typed_text(UsdcAmount::from_micros(micros)), text);
        }
    }

    #[test]
    fn long_texts_are_known_by_their_ends_and_short_ones_stay() {
        for (text, short) in [
            ("8cHkF3ZsQz9f", "8cHk\u{2026}Qz9f"),
            ("123456789", "123456789"),
            ("1234567890", "1234\u{2026}7890"),
            (
                "\u{e4}\u{e4}\u{e4}\u{e4}xx\u{f6}\u{f6}\u{f6}\u{f6}",
                "\u{e4}\u{e4}\u{e4}\u{e4}\u{2026}\u{f6}\u{f6}\u{f6}\u{f6}",
            ),
            ("", ""),
        ] {
            assert_eq!(short_text(text), short);
        }
    }

    #[test]
    fn shares_are_whole_percent() {
        let share = |part, whole| percent(UsdcAmount::from_micros(part), UsdcAmount::from_micros(whole));
        assert_eq!([share(0, 10), share(8, 10), share(799, 1_000), share(20, 10)], [0, 80, 79, 100]);
        assert_eq!(share(u64::MAX, u64::MAX), 100);
        assert_eq!(share(0, 0), 100);
    }

    #[test]
    fn lamports_are_written_as_sol() {
        let texts = [0, 1, 5_000_000, 1_500_000_000, u64::MAX].map(sol_text);
        assert_eq!(texts, ["0.00", "0.000000001", "0.005", "1.50", "18446744073.709551615"]);
    }

    #[test]
    fn what_a_date_picker_sends_is_a_moment_in_utc() {
        for (text, moment) in [
            ("2027-01-15T08:00", "2027-01-15 08:00:00 UTC"),
            ("2027-01-15T08:00:07", "2027-01-15 08:00:07 UTC"),
            ("2027-01-15T08:00:07.250", "2027-01-15 08:00:07 UTC"),
            ("2027-01-15", "2027-01-15 00:00:00 UTC"),
            ("2027-01-15T08:00:07Z", "2027-01-15 08:00:07 UTC"),
            ("2027-01-15T08:00:07+01:00", "2027-01-15 07:00:07 UTC"),
        ] {
            assert_eq!(moment_of("since", text).map(moment_text).as_deref(), Ok(moment), "{text}");
            assert_eq!(moment_of("since", &picked(text)).map(moment_text).as_deref(), Ok(moment), "{text}");
        }
        for text in ["", "yesterday", "2027-13-01", "2027-01-15T25:00", "08:00"] {
            assert_eq!(moment_of("since", text).expect_err("refused").param(), "since", "{text}");
            assert_eq!(picked(text), "");
        }
    }

    #[test]
    fn moments_are_written_in_utc() {
        assert_eq!(moment_text(Timestamp::from_unix_seconds(1_800_000_000)), "2027-01-15 08:00:00 UTC");
    }
}
