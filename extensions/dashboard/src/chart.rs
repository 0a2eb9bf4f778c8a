//! What left an account over time, as bars.

use std::time::Duration;

use purser_model::{AccountId, OperatorId, Timestamp, UsdcAmount, usdc_text};
use purser_service::{ServiceError, Services};

use super::text::moment_text;

const HOUR: Duration = Duration::from_secs(60 * 60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// How many payments and withdrawals are summed at most.
const ENTRIES: u32 = 2_000;
/// The height of the highest bar, and the width of each bar with its gap.
const HEIGHT: u64 = 120;
const STEP: u64 = 12;

/// Bars from the oldest to the newest.
pub struct Chart {
    pub title: &'static str,
    /// Where the time axis begins.
    pub from: &'static str,
    pub bars: Vec<Bar>,
    pub total: UsdcAmount,
    /// Whether the sums are partial because there were too many entries.
    pub is_partial: bool,
}

pub struct Bar {
    pub spent: UsdcAmount,
    pub x: u64,
    pub y: u64,
    pub height: u64,
    pub label: String,
}

impl Chart {
    /// The last 24 hours by the hour, and the last 30 days by the day.
    pub async fn of_account(
        services: &Services,
        (operator, account): (OperatorId, AccountId),
        now: Timestamp,
    ) -> Result<[Self; 2], ServiceError> {
        let month = now.before(DAY * 30);
        let spending = services.inside.store.history.list_spending(operator, account, month, ENTRIES).await?;
        Ok([
            Self::new(("Spent in 24 hours", "24 h ago"), &spending, now, HOUR, 24),
            Self::new(("Spent in 30 days", "30 days ago"), &spending, now, DAY, 30),
        ])
    }

    fn new(
        (title, from): (&'static str, &'static str),
        spending: &[(Timestamp, UsdcAmount)],
        now: Timestamp,
        span: Duration,
        count: usize,
    ) -> Self {
        let mut spent = vec![UsdcAmount::ZERO; count];
        for (created_at, amount) in spending {
            let ago = created_at.until(now).as_secs().checked_div(span.as_secs()).unwrap_or_default();
            let at = usize::try_from(ago).ok().and_then(|ago| count.checked_sub(ago + 1));
            if let Some(sum) = at.and_then(|at| spent.get_mut(at)) {
                *sum = sum.saturating_add(*amount);
            }
        }
        let most = spent.iter().copied().max().unwrap_or_default().micros().max(1);
        let total = spent.iter().fold(UsdcAmount::ZERO, |sum, spent| sum.saturating_add(*spent));
        let bars = spent.into_iter().enumerate().map(|(index, spent)| {
            let height = u128::from(spent.micros()) * u128::from(HEIGHT) / u128::from(most);
            let height = u64::try_from(height).unwrap_or(HEIGHT).max(u64::from(!spent.is_zero()) * 2);
            let ago = u32::try_from(count - index).unwrap_or_default();
            let label = format!("{} USDC from {}", usdc_text(spent), moment_text(now.before(span * ago)));
            Bar { spent, x: index as u64 * STEP, y: HEIGHT - height, height, label }
        });
        Self { title, from, bars: bars.collect(), total, is_partial: spending.len() >= ENTRIES as usize }
    }

    /// The values beside the grid lines, from the top.
    pub fn axis(&self) -> [UsdcAmount; 3] {
        axis(self.bars.iter().map(|bar| bar.spent).max().unwrap_or_default())
    }

    /// The alternative text.
    pub fn description(&self) -> String {
        let most = self.bars.iter().max_by_key(|bar| bar.spent).map_or("", |bar| &bar.label);
        format!("{}: {} USDC in all; most: {most}", self.title, usdc_text(self.total))
    }

    pub fn width(&self) -> u64 {
        self.bars.len() as u64 * STEP
    }
}

/// The values beside three grid lines: of the highest bar, half of it, and nothing.
pub fn axis(most: UsdcAmount) -> [UsdcAmount; 3] {
    [most, to_cents(UsdcAmount::from_micros(most.micros() / 2)), UsdcAmount::ZERO]
}

/// Down to whole cents, unless that is nothing: for values that only orient.
pub fn to_cents(amount: UsdcAmount) -> UsdcAmount {
    const CENT: u64 = 10_000;
    match amount.micros() {
        0..CENT => amount,
        micros => UsdcAmount::from_micros(micros - micros % CENT),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_800_000_000;

    fn chart(spending: &[(i64, u64)]) -> Chart {
        let now = Timestamp::from_unix_seconds(NOW);
        let spending = spending.iter().map(|(ago, usdc)| {
            (Timestamp::from_unix_seconds(NOW - ago), UsdcAmount::from_micros(usdc * 1_000_000))
        });
        Chart::new(("Spent", "24 h ago"), &spending.collect::<Vec<_>>(), now, HOUR, 24)
    }

    #[test]
    fn each_payment_is_in_the_bar_of_its_hour_and_none_of_before() {
        let chart = chart(&[(0, 1), (3_599, 2), (3_600, 4), (86_399, 8), (86_400, 16), (-5, 32)]);
        let spent: Vec<u64> = chart.bars.iter().map(|bar| bar.spent.micros() / 1_000_000).collect();
        let mut expected = [0; 24];
        // What the chain dates a little later than we read it was spent now.
        (expected[0], expected[22], expected[23]) = (8, 4, 1 + 2 + 32);
        assert_eq!(spent, expected);
        assert_eq!((chart.total, chart.is_partial), (UsdcAmount::from_micros(47_000_000), false));
        assert_eq!(chart.bars[0].label, "8.00 USDC from 2027-01-14 08:00:00 UTC");
        assert_eq!(
            chart.description(),
            "Spent: 47.00 USDC in all; most: 35.00 USDC from 2027-01-15 07:00:00 UTC"
        );
    }

    #[test]
    fn bars_are_as_high_as_their_share_of_the_highest_and_what_was_spent_is_always_seen() {
        let chart = chart(&[(0, 1_000), (3_600, 500), (7_200, 1)]);
        let shape = |index: usize| (chart.bars[index].y, chart.bars[index].height);
        assert_eq!([shape(23), shape(22), shape(21), shape(20)], [(0, 120), (60, 60), (118, 2), (120, 0)]);
        assert_eq!((chart.bars[23].x, chart.width()), (23 * STEP, 24 * STEP));
    }

    #[test]
    fn values_beside_the_grid_are_the_highest_bar_and_its_half_in_whole_cents() {
        for (most, half) in
            [(55_750_000, 27_870_000), (3, 1), (19_999, 9_999), (0, 0), (u64::MAX, 9_223_372_036_854_770_000)]
        {
            let beside = axis(UsdcAmount::from_micros(most)).map(UsdcAmount::micros);
            assert_eq!(beside, [most, half, 0]);
        }
    }

    #[test]
    fn nothing_spent_is_a_flat_chart_and_too_many_payments_are_said_to_be_a_part() {
        let nothing = chart(&[]);
        assert!(nothing.bars.iter().all(|bar| bar.height == 0) && nothing.bars.len() == 24);
        assert_eq!(nothing.total, UsdcAmount::ZERO);
        let many = chart(&vec![(60, 1); ENTRIES as usize]);
        assert_eq!((many.is_partial, many.total), (true, UsdcAmount::from_micros(2_000_000_000)));
    }
}
