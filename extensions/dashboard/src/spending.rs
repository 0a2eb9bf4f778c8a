//! Who spent how much over days, as stacked bars; and what was refused today, and why.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use purser_model::{AccountId, Operator, PaidInDay, RejectionReason, Timestamp, UsdcAmount, usdc_text};
use purser_service::{AccountView, ServiceError, Services};

use super::chart::{axis, to_cents};
use super::days::{day_text, total};
use super::text::reason_text;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// How many payments of a day, and how many refusals, are counted at most.
const PAYMENTS: u32 = 50_000;
const REFUSALS: u32 = 100_000;
/// How many accounts have a colour of their own.
const APART: usize = 5;
const HEIGHT: u64 = 160;
const WIDTH: u64 = 600;

/// A bar for each day, the oldest first, in parts for those that spent the most and for all others.
pub struct Stack {
    pub days: u64,
    pub pieces: Vec<Piece>,
    pub legend: Vec<Share>,
    pub total: UsdcAmount,
    /// The most that was spent in one day.
    pub most: UsdcAmount,
    pub first_day: String,
    pub last_day: String,
    /// Whether the sums are partial because there were too many payments.
    pub is_partial: bool,
}

/// A part of a bar.
pub struct Piece {
    pub x: u64,
    pub y: u64,
    pub width: u64,
    pub height: u64,
    /// Which share it belongs to.
    pub share: usize,
    pub label: String,
}

/// What one account spent over all days, or all others did.
pub struct Share {
    pub account: Option<AccountId>,
    pub name: String,
    pub spent: UsdcAmount,
}

impl Stack {
    pub async fn of_operator(
        services: &Services,
        operator: &Operator,
        is_month: bool,
        accounts: &[AccountView],
    ) -> Result<Self, ServiceError> {
        let days: u32 = if is_month { 30 } else { 7 };
        let today = today(services);
        let all: Vec<Timestamp> = (0..days).map(|ago| today.before(DAY * ago)).collect();
        let paid = services.inside.store.transfers.list_paid_by_day(operator.id, &all, PAYMENTS).await?;
        let names = accounts.iter().map(|view| (view.account.id, view.account.name.as_str())).collect();
        Ok(Self::new(&paid, today, days.into(), &names))
    }

    fn new(paid: &[PaidInDay], today: Timestamp, days: u64, names: &HashMap<AccountId, &str>) -> Self {
        let mut of_accounts: BTreeMap<AccountId, UsdcAmount> = BTreeMap::new();
        for one in paid {
            let sum = of_accounts.entry(one.account_id).or_default();
            *sum = sum.saturating_add(one.amount);
        }
        let mut ranked: Vec<_> = of_accounts.into_iter().collect();
        ranked.sort_by_key(|(_, spent)| Reverse(*spent));
        let of_others = total(ranked.iter().skip(APART).map(|(_, spent)| *spent));
        let others = ranked.len().saturating_sub(APART);
        ranked.truncate(APART);
        let place: HashMap<AccountId, usize> =
            ranked.iter().enumerate().map(|(place, (id, _))| (*id, place)).collect();
        let mut legend: Vec<Share> = ranked
            .into_iter()
            .map(|(id, spent)| Share {
                account: Some(id),
                name: names.get(&id).map_or_else(|| id.to_string(), |name| (*name).to_owned()),
                spent,
            })
            .collect();
        if others > 0 {
            let name = if others == 1 { "1 other".to_owned() } else { format!("{others} others") };
            legend.push(Share { account: None, name, spent: of_others });
        }
        let (mut bars, mut is_partial) = (Vec::new(), false);
        for ago in (0..days).rev() {
            let day = day_before(today, ago);
            let mut bar = [UsdcAmount::ZERO; APART + 1];
            let mut payments = 0;
            for one in paid.iter().filter(|one| one.day == day) {
                payments += one.payments;
                let part = &mut bar[place.get(&one.account_id).copied().unwrap_or(APART)];
                *part = part.saturating_add(one.amount);
            }
            is_partial |= payments >= u64::from(PAYMENTS);
            bars.push(bar);
        }
        let most = bars.iter().map(|bar| total(bar.iter().copied())).max().unwrap_or_default();
        let mut stack = Self {
            days,
            pieces: Vec::new(),
            total: total(legend.iter().map(|share| share.spent)),
            legend,
            most,
            first_day: day_text(day_before(today, days.saturating_sub(1))),
            last_day: day_text(today),
            is_partial,
        };
        let step = WIDTH / days.max(1);
        for (index, bar) in (0..).zip(&bars) {
            let day = day_text(day_before(today, days - 1 - index));
            let mut y = HEIGHT;
            for (share, spent) in bar.iter().enumerate().filter(|(_, spent)| !spent.is_zero()) {
                let height =
                    u128::from(spent.micros()) * u128::from(HEIGHT) / u128::from(most.micros().max(1));
                let height = u64::try_from(height).unwrap_or(HEIGHT).max(1).min(y);
                y -= height;
                let name = stack.legend.get(share).map_or("", |share| &share.name);
                let label = format!("{day}: {name}, {} USDC", usdc_text(*spent));
                let width = step - (step / 5).max(2);
                stack.pieces.push(Piece { x: index * step, y, width, height, share, label });
            }
        }
        stack
    }

    /// The values beside the grid lines, from the top.
    pub fn axis(&self) -> [UsdcAmount; 3] {
        axis(self.most)
    }

    /// What was paid in a day, in the mean.
    pub fn mean(&self) -> UsdcAmount {
        to_cents(UsdcAmount::from_micros(self.total.micros() / self.days.max(1)))
    }

    /// The alternative text.
    pub fn description(&self) -> String {
        let shares = self.legend.iter().map(|share| format!("{}: {}", share.name, usdc_text(share.spent)));
        let shares = shares.collect::<Vec<_>>().join("; ");
        format!("Paid in {} days, USDC: {} in all. {shares}", self.days, usdc_text(self.total))
    }

    pub fn width(&self) -> u64 {
        WIDTH / self.days.max(1) * self.days
    }
}

fn day_before(today: Timestamp, days: u64) -> Timestamp {
    today.before(Duration::from_secs(DAY.as_secs() * days))
}

/// The beginning of this day in UTC.
pub fn today(services: &Services) -> Timestamp {
    let seconds = services.inside.clock.now().unix_seconds();
    Timestamp::from_unix_seconds(seconds - seconds.rem_euclid(24 * 60 * 60))
}

/// How many transfers of an account were refused for a reason.
pub type Refusals = (AccountId, RejectionReason, u64);

/// How many transfers of each account were refused today, for which reason.
pub async fn refused_today(services: &Services, operator: &Operator) -> Result<Vec<Refusals>, ServiceError> {
    Ok(services.inside.store.transfers.list_refusals(operator.id, today(services), REFUSALS).await?)
}

/// How many transfers of all accounts were refused since the day before began.
pub async fn refused_since_yesterday(services: &Services, operator: &Operator) -> Result<u64, ServiceError> {
    let yesterday = day_before(today(services), 1);
    let refusals = services.inside.store.transfers.list_refusals(operator.id, yesterday, REFUSALS).await?;
    Ok(refusals.iter().map(|(.., count)| count).sum())
}

/// The same by account alone.
pub fn by_account(refusals: &[Refusals]) -> HashMap<AccountId, u64> {
    let mut counts = HashMap::new();
    for (account, _, count) in refusals {
        *counts.entry(*account).or_default() += count;
    }
    counts
}

/// What was refused today, by reason, the most frequent first.
pub struct RefusedToday {
    pub total: u64,
    pub reasons: Vec<RefusedFor>,
}

pub struct RefusedFor {
    pub reason: String,
    pub count: u64,
    pub accounts: usize,
    /// The list of these transfers.
    pub link: String,
}

impl RefusedToday {
    pub fn of(refusals: &[Refusals], today: Timestamp) -> Self {
        let mut reasons: BTreeMap<RejectionReason, (u64, HashSet<AccountId>)> = BTreeMap::new();
        for (account, reason, count) in refusals {
            let (sum, accounts) = reasons.entry(*reason).or_default();
            *sum += count;
            accounts.insert(*account);
        }
        let since = super::text::picked(&today.to_string());
        let reasons = reasons.into_iter().map(|(reason, (count, accounts))| RefusedFor {
            reason: reason_text(reason),
            count,
            accounts: accounts.len(),
            link: format!("/dashboard/transfers?status=rejected&reason={}&since={since}", reason.as_str()),
        });
        let mut reasons: Vec<RefusedFor> = reasons.collect();
        reasons.sort_by_key(|one| Reverse(one.count));
        Self { total: reasons.iter().map(|one| one.count).sum(), reasons }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TODAY: i64 = 1_800_000_000 - 1_800_000_000 % 86_400;

    fn paid(account: u8, ago: i64, usdc: u64) -> PaidInDay {
        PaidInDay {
            account_id: AccountId::from_bytes([account; 16]),
            day: Timestamp::from_unix_seconds(TODAY - ago * 86_400),
            amount: UsdcAmount::from_micros(usdc.saturating_mul(1_000_000)),
            payments: 1,
        }
    }

    fn stack(paid: &[PaidInDay], days: u64) -> Stack {
        let names = HashMap::from([(AccountId::from_bytes([1; 16]), "Ada")]);
        Stack::new(paid, Timestamp::from_unix_seconds(TODAY), days, &names)
    }

    #[test]
    fn the_five_that_spent_the_most_stand_apart_and_all_others_together() {
        let mut all: Vec<PaidInDay> =
            (1..=8).map(|account| paid(account, 0, 100 - u64::from(account))).collect();
        all.push(paid(1, 6, 50));
        let stack = stack(&all, 7);
        let shares: Vec<_> = stack
            .legend
            .iter()
            .map(|share| (share.name.as_str(), share.spent.micros() / 1_000_000))
            .collect();
        assert_eq!(shares.len(), 6);
        assert_eq!((shares[0], shares[5]), (("Ada", 149), ("3 others", 94 + 93 + 92)));
        assert_eq!(stack.total.micros() / 1_000_000, (92..=99).sum::<u64>() + 50);
        assert_eq!(stack.most.micros() / 1_000_000, (92..=99).sum::<u64>());
        assert_eq!(stack.pieces.len(), 7, "one of the first day, six of the last");
        assert!(stack.pieces[0].label.ends_with("Ada, 50.00 USDC"), "{}", stack.pieces[0].label);
        let last = &stack.pieces[6];
        assert!(last.y <= 6 && last.x + last.width <= stack.width(), "{} {}", last.y, last.x);
    }

    #[test]
    fn sums_that_are_no_amount_any_more_stay_within_the_picture() {
        let stack = stack(&[paid(1, 0, u64::MAX), paid(2, 0, u64::MAX), paid(2, 29, 0)], 30);
        assert_eq!(stack.total, UsdcAmount::MAX);
        assert!(stack.pieces.iter().all(|piece| piece.y + piece.height <= HEIGHT));
        let nothing = self::stack(&[], 7);
        assert!(nothing.pieces.is_empty() && nothing.legend.is_empty() && nothing.total.is_zero());
    }

    #[test]
    fn refusals_are_listed_by_reason_the_most_frequent_first() {
        let one = |account, reason, count| (AccountId::from_bytes([account; 16]), reason, count);
        let refusals = [
            one(1, RejectionReason::Paused, 2),
            one(1, RejectionReason::SingleLimitExceeded, 3),
            one(2, RejectionReason::SingleLimitExceeded, 1),
        ];
        let today = RefusedToday::of(&refusals, Timestamp::from_unix_seconds(TODAY));
        let reasons: Vec<_> =
            today.reasons.iter().map(|one| (one.reason.as_str(), one.count, one.accounts)).collect();
        assert_eq!(reasons, [("single limit exceeded", 4, 2), ("paused", 2, 1)]);
        assert_eq!(today.total, 6);
        assert_eq!(
            today.reasons[1].link,
            "/dashboard/transfers?status=rejected&reason=paused&since=2027-01-15T00:00:00"
        );
        assert_eq!(by_account(&refusals).get(&AccountId::from_bytes([1; 16])), Some(&5));
    }
}
