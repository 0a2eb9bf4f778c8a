//! Every list of the API and every page of the dashboard, as the benchmark requests them.

use purser_tests::random::Random;

use crate::fill::{Moments, Owner, owner_of};

/// Who serves the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extension {
    Api,
    Dashboard,
}

/// How one request follows another.
pub enum Way {
    /// The pages of a list, by its cursors; after the last, the first again.
    List(String),
    /// Each path in turn; after the last, the first again.
    Each(Vec<String>),
    /// Likewise a form, with its fields.
    Form(&'static str, Vec<Vec<(&'static str, String)>>),
}

/// A line of the table.
pub struct Asked {
    pub extension: Extension,
    /// The name in the OpenAPI document.
    pub name: &'static str,
    pub way: Way,
}

/// What requests can refer to.
pub struct Ground<'a> {
    pub owners: &'a [Owner],
    pub moments: &'a Moments,
    pub rows: u64,
    pub asks: u32,
}

impl Ground<'_> {
    /// Random rows of the first operator.
    fn rows_of_first(&self) -> Vec<u64> {
        let first = &self.owners[0].operator_id;
        let mut random = Random::from(7);
        let chosen = std::iter::repeat_with(|| random.below(self.rows));
        let count = self.owners.len() as u64;
        let is_own = |row: &u64| {
            let owner = usize::try_from(owner_of(*row, count)).expect("few");
            self.owners[owner].operator_id == *first
        };
        chosen.filter(is_own).take(self.asks as usize).collect()
    }

    /// The first operator's account for each of those rows.
    fn account_of(&self, row: u64) -> &Owner {
        &self.owners[usize::try_from(owner_of(row, self.owners.len() as u64)).expect("few")]
    }

    /// All requests, with keys of the first operator. Its first account has a tenth of all rows.
    pub fn everything(&self) -> Vec<Asked> {
        let Owner { account_id: busy, webhook_id: webhook, .. } = &self.owners[0];
        let rows = self.rows_of_first();
        let of_accounts = |below: &str| {
            let paths = rows.iter().map(|row| format!("/{}{below}", self.account_of(*row).account_id));
            paths.collect::<Vec<_>>()
        };
        let under = |prefix: &str, paths: Vec<String>| {
            Way::Each(paths.iter().map(|path| format!("{prefix}{path}")).collect())
        };
        let transfers: Vec<_> =
            rows.iter().map(|row| format!("/{}", self.moments.id("txn_", *row, *row))).collect();
        let events: Vec<_> =
            rows.iter().map(|row| format!("/{}", self.moments.id("evt_", *row, 2 * row + 1))).collect();
        let keys = rows.iter().map(|row| format!("?idempotency_key=invoice-{row}")).collect();
        let searches = rows.iter().map(|row| format!("/{busy}/history?search=invoice+{row}")).collect();
        // An account does not pay itself.
        let payee_of = |from: &str| self.owners[if from == busy { 2 } else { 0 }].account_id.clone();
        let preview = |row: &u64| {
            let from = self.account_of(*row).account_id.clone();
            vec![("to", payee_of(&from)), ("from", from), ("amount", "1".to_owned())]
        };
        let previews = rows.iter().map(preview).collect();
        let list = |path: &str| Way::List(path.to_owned());
        let each = |path: &str| Way::Each(vec![path.to_owned()]);
        let api = |name, way| Asked { extension: Extension::Api, name, way };
        let page = |name, way| Asked { extension: Extension::Dashboard, name, way };
        vec![
            api("/v1/accounts", list("/v1/accounts?limit=100")),
            api("/v1/accounts?status", list("/v1/accounts?limit=100&status=active")),
            api("/v1/accounts/{id}", under("/v1/accounts", of_accounts(""))),
            api(
                "/v1/accounts/{id}/transactions",
                under("/v1/accounts", of_accounts("/transactions?limit=100")),
            ),
            api("... of the busiest", list(&format!("/v1/accounts/{busy}/transactions?limit=100"))),
            api("... ?type", list(&format!("/v1/accounts/{busy}/transactions?limit=100&type=transfer"))),
            api(
                "... ?status=rejected",
                list(&format!("/v1/accounts/{busy}/transactions?limit=100&status=rejected")),
            ),
            api(
                "/v1/accounts/{id}/policy/versions",
                list(&format!("/v1/accounts/{busy}/policy/versions?limit=100")),
            ),
            api("/v1/accounts/{id}/keys", under("/v1/accounts", of_accounts("/keys?limit=100"))),
            api("/v1/transfers", list("/v1/transfers?limit=100")),
            api("... ?status=settled", list("/v1/transfers?limit=100&status=settled")),
            api("... ?status=rejected", list("/v1/transfers?limit=100&status=rejected")),
            api("... ?account_id", list(&format!("/v1/transfers?limit=100&account_id={busy}"))),
            api(
                "... ?account_id&status=rejected",
                list(&format!("/v1/transfers?limit=100&account_id={busy}&status=rejected")),
            ),
            api("... ?idempotency_key", under("/v1/transfers", keys)),
            api("/v1/transfers/{id}", under("/v1/transfers", transfers.clone())),
            api("/v1/events", list("/v1/events?limit=100")),
            api("... ?type", list("/v1/events?limit=100&type=transfer.rejected")),
            api("/v1/events/{id}", under("/v1/events", events.clone())),
            api("/v1/webhooks", list("/v1/webhooks?limit=100")),
            api(
                "/v1/webhooks/{id}/deliveries",
                list(&format!("/v1/webhooks/{webhook}/deliveries?limit=100")),
            ),
            api(
                "... ?status=undelivered",
                list(&format!("/v1/webhooks/{webhook}/deliveries?limit=100&status=undelivered")),
            ),
            page("/dashboard", each("/dashboard")),
            page("... ?days=30", each("/dashboard?days=30")),
            page("/dashboard/accounts", list("/dashboard/accounts")),
            page("... ?search", each("/dashboard/accounts?search=account+1")),
            page("... ?sort=balance", each("/dashboard/accounts?sort=balance&page=3")),
            page("... ?sort=spent", each("/dashboard/accounts?sort=spent&page=2")),
            page("... ?sort=refused", each("/dashboard/accounts?sort=refused")),
            page("/dashboard/accounts/{id}", under("/dashboard/accounts", of_accounts(""))),
            page("... the busiest", Way::Each(vec![format!("/dashboard/accounts/{busy}")])),
            page("... /policy", under("/dashboard/accounts", of_accounts("/policy"))),
            page("... /policy/versions", list(&format!("/dashboard/accounts/{busy}/policy/versions"))),
            page("... /history", list(&format!("/dashboard/accounts/{busy}/history"))),
            page("... /history?search", under("/dashboard/accounts", searches)),
            page("/dashboard/transfers", list("/dashboard/transfers")),
            page("... ?status=rejected", list("/dashboard/transfers?status=rejected")),
            page("... ?reason", list("/dashboard/transfers?status=rejected&reason=single_limit_exceeded")),
            page("/dashboard/transfers/{id}", under("/dashboard/transfers", transfers)),
            page("/dashboard/preview, answered", Way::Form("/dashboard/preview", previews)),
            page("/dashboard/approvals", each("/dashboard/approvals")),
            page("/dashboard/pending", each("/dashboard/pending")),
            page("/dashboard/budgets", each("/dashboard/budgets")),
            page("/dashboard/keys", each("/dashboard/keys")),
            page("/dashboard/actions", list("/dashboard/actions")),
            page("/dashboard/stop-all", each("/dashboard/stop-all")),
            page("/dashboard/webhooks", each("/dashboard/webhooks")),
            page("/dashboard/webhooks/{id}", list(&format!("/dashboard/webhooks/{webhook}"))),
            page(
                "... /deliveries/{event}",
                under(&format!("/dashboard/webhooks/{webhook}/deliveries"), events),
            ),
        ]
    }
}
