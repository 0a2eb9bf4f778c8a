//! Which action halted an account: the one whose transaction the account's latest halt was announced with.

use super::AccountView;
use crate::{Inside, ServiceError};
use purser_model::wire::events::AnnouncedHalt;
use purser_model::{AccountId, OperatorId, Subject};

/// Fills in the actions of those that are halted. All are looked up at once.
pub async fn name_halt_actions(
    inside: &Inside,
    operator: OperatorId,
    views: &mut [AccountView],
) -> Result<(), ServiceError> {
    let halted: Vec<AccountId> =
        views.iter().filter(|view| view.halt.is_some()).map(|view| view.account.id).collect();
    if halted.is_empty() {
        return Ok(());
    }
    let events = inside.store.events.list_latest_halts(operator, &halted).await?;
    let halts: Vec<(Subject, AnnouncedHalt)> =
        events.iter().filter_map(|event| Some((event.subject, event.halt()?))).collect();
    let signatures: Vec<String> = halts.iter().map(|(_, halt)| halt.tx_signature.clone()).collect();
    let actions = inside.store.actions.find_actions_of(operator, &signatures).await?;
    for view in views {
        let Some(halt) = view.halt else { continue };
        let subject = Subject::Account { account_id: view.account.id };
        let its = halts.iter().find(|(of, announced)| *of == subject && announced.scope == halt.scope);
        let action =
            its.and_then(|(_, its)| actions.iter().find(|(signature, _)| *signature == its.tx_signature));
        view.halt_action = action.map(|(_, id)| *id);
    }
    Ok(())
}
