//! What people and programs change: written before the change begins, and announced with how it ended.

use futures::FutureExt;
use serde_json::Value;
use serde_json::value::RawValue;

use super::due::Due;
use super::events::announce;
use super::query::{Each, Piece, Place, Query, Sql, columns, merged, sql, text};
use super::row::{Listed, row};
use super::stored::Below;
use super::{Actions, Result, Transaction};
use purser_model::{
    ACTIONS_OF_LIMITS, Action, ActionFilter, ActionId, ActionOutcome, Event, KeyId, ListedAction, Network,
    OperatorId, SentTransaction, Timestamp,
};

/// The columns of a [`ListedAction`] beside those of its action.
const BESIDE: Sql<&str> = Sql("CASE WHEN is_unchanged THEN 'unchanged' ELSE outcome END AS outcome,
    api_keys.name AS key_name, api_keys.hint,
    (SELECT passkeys.name FROM actions AS signed
         JOIN passkeys ON passkeys.passkey_id = signed.object_id
     WHERE signed.operator_id = actions.operator_id AND signed.made_id = actions.session_id
         AND signed.name = 'sign_in') AS passkey_name,
    (SELECT added.after_json FROM actions AS signed
         JOIN actions AS added ON added.operator_id = signed.operator_id AND added.made_id = signed.object_id
     WHERE signed.operator_id = actions.operator_id AND signed.made_id = actions.session_id
         AND signed.name = 'sign_in' AND added.name = 'add_passkey') AS added_passkey");
const TABLES: Sql<&str> = Sql("actions LEFT JOIN api_keys ON api_keys.key_id = actions.key_id");

row! { Action of actions from row {
    id: action_id, operator_id, name as action_name, key_id, session_id, address, object_id, made_id,
    after: after_json, outcome = row.get("outcome")?, tx_signature, request_id, created_at,
}}

row! { SentTransaction { signature: tx_signature, last_valid_block_height, is_step, sent_at } }

row! { ListedAction from row {
    action = row.record()?, key_name, key_hint: hint,
    passkey_name(passkey_name, added_passkey) = match (passkey_name, added_passkey) {
        (None, Some(added)) => name_in(Box::as_ref(&added)),
        (name, _) => name,
    },
}}

/// The name that a passkey was added with, as its record has it: it outlives the passkey.
fn name_in(added: &RawValue) -> Option<String> {
    let added: Value = serde_json::from_str(added.get()).ok()?;
    Some(added.get("name")?.as_str()?.to_owned())
}

/// Inserts an action.
pub(super) fn insert(action: &Action) -> Query {
    sql! {"INSERT INTO actions {row}", row = columns! { ..action, action.outcome }}
}

/// Announces how an action ended, in the transaction that writes it, if the action is on record.
pub(super) async fn announce_end(
    tx: &mut Transaction<'_>,
    (operator, id): (OperatorId, ActionId),
    now: Timestamp,
) -> Result<()> {
    let listed: Option<ListedAction> = sql! {
        "SELECT {columns}, {beside} FROM {tables} WHERE actions.operator_id = {operator} AND action_id = {id}",
        columns = Action::COLUMNS, beside = BESIDE, tables = TABLES, operator, id
    }
    .fetch_optional(&mut *tx)
    .await?;
    let events: Vec<Event> = listed.map(|listed| Event::action_recorded(listed, now)).into_iter().collect();
    announce(tx, &events).await
}

/// Forgets the transactions of an action that is over. A pause or a halt stays until it is final.
fn close(action: ActionId) -> Query {
    sql! {"DELETE FROM action_transactions WHERE action_id = {action} AND stop IS NULL", action}
}

impl Actions {
    /// Stores an action, before its change begins.
    pub async fn insert_action(&self, action: &Action) -> Result<()> {
        insert(action).run(self.writer()).await
    }

    /// How many changes of limits, or how many other actions, the key made since then, as far as they are on record.
    pub async fn count_actions(
        &self,
        (operator, key): (OperatorId, KeyId),
        are_of_limits: bool,
        since: Timestamp,
    ) -> Result<u64> {
        sql! {
            "SELECT COUNT(*) FROM actions
             WHERE operator_id = {operator} AND key_id = {key} AND action_id >= {first}
                 AND CASE WHEN name IN ({limits}) THEN 1 ELSE 0 END = {are_of_limits}",
            operator, key, first = ActionId::new(since, 0), limits = Each(&ACTIONS_OF_LIMITS),
            are_of_limits = i64::from(are_of_limits)
        }
        .count(self.lister())
        .await
    }

    /// Stores how an action ended, as its process knows it, and announces it. An action that is done is open no more.
    pub async fn mark_action_ended(&self, action: &Action, now: Timestamp) -> Result<()> {
        let is_done = action.outcome == ActionOutcome::Done;
        let ended = sql! {
            "UPDATE actions SET outcome = CASE WHEN {is_done} THEN 'done' ELSE outcome END,
                 is_unchanged = is_unchanged AND NOT {is_done}, object_id = {object_id}, made_id = {made_id},
                 tx_signature = COALESCE({tx_signature}, tx_signature)
             WHERE operator_id = {operator_id} AND action_id = {id}",
            is_done, action.object_id, action.made_id, action.tx_signature,
            action.operator_id, action.id
        };
        let of = (action.operator_id, action.id);
        let closed = is_done.then(|| close(of.1));
        self.write_events(move |tx| {
            async move {
                ended.run(&mut *tx).await?;
                if let Some(closed) = closed {
                    closed.run(&mut *tx).await?;
                }
                announce_end(tx, of, now).await
            }
            .boxed()
        })
        .await
    }

    /// Deletes an action that changed nothing.
    pub async fn delete_action(&self, action: &Action) -> Result<()> {
        let closed = close(action.id);
        let deleted = sql! {
            "DELETE FROM actions
             WHERE operator_id = {operator_id} AND action_id = {id} AND outcome = 'unknown'",
            action.operator_id, action.id
        };
        self.write(move |tx| {
            async move {
                closed.run(&mut *tx).await?;
                deleted.run(tx).await
            }
            .boxed()
        })
        .await
    }

    /// Stores a transaction of an action that is about to be sent.
    pub async fn insert_action_transaction(
        &self,
        (operator, action): (OperatorId, ActionId),
        sent: &SentTransaction,
    ) -> Result<()> {
        sql! {
            "INSERT INTO action_transactions {row} ON CONFLICT (tx_signature) DO NOTHING",
            row = columns! { ..sent, operator_id = operator, action_id = action }
        }
        .run(self.writer())
        .await
    }

    /// For a worker: up to `rows_max` open actions on this network whose last transaction is `due`, the oldest first. Not those of pauses
    /// and halts that landed: see `list_stops`.
    pub async fn list_open_actions(
        &self,
        network: Network,
        due: Due,
        rows_max: u32,
    ) -> Result<Vec<(OperatorId, ActionId)>> {
        sql! {
            "SELECT sent.operator_id, sent.action_id FROM action_transactions AS sent
             JOIN operators ON operators.operator_id = sent.operator_id
             WHERE sent.action_id IS NOT NULL AND operators.network = {network}
             GROUP BY sent.operator_id, sent.action_id
             HAVING {is_due} AND COUNT(sent.stop) = 0
             ORDER BY sent.action_id LIMIT {rows_max}",
            network, is_due = due.has_come("MAX(sent.sent_at)"), rows_max
        }
        .fetch_all(self.lister())
        .await
    }

    /// The transactions of an open action, in the order in which they were sent.
    pub async fn list_action_transactions(&self, action: ActionId) -> Result<Vec<SentTransaction>> {
        sql! {
            "SELECT {columns} FROM action_transactions
             WHERE action_id = {action} AND stop IS NULL ORDER BY sent_at, tx_signature",
            columns = SentTransaction::COLUMNS, action
        }
        .fetch_all(self.lister())
        .await
    }

    /// Stores how an open action ended, as the chain shows it by these transactions, and announces it. Returns whether that is news: its
    /// process, or another one, may have been faster. `Unknown`: the chain does not show it, and never will.
    pub async fn mark_action_found(
        &self,
        (operator, action): (OperatorId, ActionId),
        outcome: ActionOutcome,
        tx_signature: Option<&str>,
        looked_up: &[String],
        now: Timestamp,
    ) -> Result<bool> {
        let found = match outcome {
            ActionOutcome::Unknown => None,
            ActionOutcome::Done => Some(sql! {
                "UPDATE actions SET outcome = 'done', is_unchanged = FALSE, tx_signature = {tx_signature}
                 WHERE operator_id = {operator} AND action_id = {action} AND outcome = 'unknown'",
                tx_signature, operator, action
            }),
            ActionOutcome::Unchanged => Some(sql! {
                "UPDATE actions SET is_unchanged = TRUE
                 WHERE operator_id = {operator} AND action_id = {action} AND outcome = 'unknown' AND NOT is_unchanged",
                operator, action
            }),
        };
        // Not what was sent meanwhile.
        let closed = sql! {
            "DELETE FROM action_transactions WHERE action_id = {action} AND tx_signature IN ({signatures})",
            action, signatures = Each(looked_up)
        };
        self.write_events(move |tx| {
            async move {
                closed.run(&mut *tx).await?;
                let Some(found) = found else { return Ok(false) };
                if !found.touches(&mut *tx).await? {
                    return Ok(false);
                }
                announce_end(tx, (operator, action), now).await?;
                Ok(true)
            }
            .boxed()
        })
        .await
    }

    /// The actions that these transactions belong to, as far as there are any.
    pub async fn find_actions_of(
        &self,
        operator: OperatorId,
        signatures: &[String],
    ) -> Result<Vec<(String, ActionId)>> {
        if signatures.is_empty() {
            return Ok(Vec::new());
        }
        sql! {
            "SELECT tx_signature, MIN(action_id) FROM actions
             WHERE operator_id = {operator} AND tx_signature IN ({signatures}) GROUP BY tx_signature",
            operator, signatures = Each(signatures)
        }
        .fetch_all(self.lister())
        .await
    }

    /// Up to `rows_max` actions of the operator, newest first, starting after `after`.
    pub async fn list_actions(
        &self,
        operator: OperatorId,
        filter: &ActionFilter,
        after: Option<ActionId>,
        rows_max: u32,
    ) -> Result<Vec<ListedAction>> {
        let pages = Piece(|values: &mut Vec<_>| {
            let (Sql(columns), Sql(beside), Sql(tables)) = (Action::COLUMNS, BESIDE, TABLES);
            let below = Below(after);
            let mut of =
                text! { values, "actions.operator_id = {operator} AND action_id < {below}", operator, below };
            if let Some(id) = filter.id {
                of.push_str(&text! { values, " AND action_id = {id}", id });
            }
            if let Some(key_id) = filter.key_id {
                of.push_str(&text! { values, " AND actions.key_id = {key_id}", key_id });
            }
            if let Some(name) = &filter.name {
                of.push_str(&text! { values, " AND actions.name = {name}", name });
            }
            // Ids begin with the time of their actions, so that they bound a span in any index.
            if let Some(since) = filter.since {
                of.push_str(&text! {
                    values, " AND action_id >= {first} AND actions.created_at > {since}",
                    first = ActionId::new(since, 0), since
                });
            }
            if let Some(until) = filter.until {
                of.push_str(&text! {
                    values, " AND action_id <= {last} AND actions.created_at <= {until}",
                    last = ActionId::new(until, u128::MAX), until
                });
            }
            let ending = format!("ORDER BY action_id DESC LIMIT {}", rows_max.place(values));
            let page =
                |part: &str| format!("SELECT {columns}, {beside} FROM {tables} WHERE {of} {part} {ending}");
            match &filter.object_id {
                None => page(""),
                Some(object_id) => {
                    let object = object_id.place(values);
                    // What was changed and made at once is in the first alone.
                    let parts = [
                        format!("AND object_id = {object}"),
                        format!("AND made_id = {object} AND COALESCE(object_id, '') <> {object}"),
                    ];
                    merged(parts.iter().map(|part| page(part)), &ending)
                }
            }
        });
        sql! {"{pages}", pages}.fetch_all(self.lister()).await
    }
}
