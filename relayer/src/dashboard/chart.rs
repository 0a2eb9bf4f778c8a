//! What left an account over time, as bars.

use std::time::Duration;

use super::text::{moment_text, usdc_text};
use crate::domain::{AccountId, Principal, Timestamp, UsdcAmount};
use crate::service::{ServiceError, Services};

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
        principal: &Principal,
        id: AccountId,
        now: Timestamp,
    ) -> Result<[Self; 2], ServiceError> {
        let spending = services.history.spending(principal, id, now.before(DAY * 30), ENTRIES).await?;
        Ok([
            Self::new("Spent in 24 hours", &spending, now, HOUR, 24),
            Self::new("Spent in 30 days", &spending, now, DAY, 30),
        ])
    }

    fn new(
        title: &'static str,
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
        Self { title, bars: bars.collect(), total, is_partial: spending.len() >= ENTRIES as usize }
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
