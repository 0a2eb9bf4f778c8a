//! The account that a filter means, as a person types it: by its id, one of its addresses or its name, which may be that of several.

use purser_model::{AccountId, PageRequest};
use purser_service::{AccountView, ServiceError, Services, accounts};

use super::accounts::TOGETHER;
use super::page::QueryParams;
use super::session::Signed;

/// How many accounts are offered where a name means several.
const OFFERED: usize = 20;

/// What was typed, and which accounts that could be.
pub struct Unclear {
    pub typed: String,
    pub choices: Vec<Choice>,
    /// There are more than are offered.
    pub is_partial: bool,
}

pub struct Choice {
    pub account: AccountView,
    /// The same page for this account.
    pub address: String,
}

/// Which account a filter means.
pub enum Which {
    /// It is empty.
    Any,
    One(AccountId),
    /// Several accounts, or none.
    Unclear(Unclear),
}

impl Which {
    /// The account, or what the page says in place of its list.
    pub fn parts(self) -> (Option<AccountId>, Option<Unclear>) {
        match self {
            Self::Any => (None, None),
            Self::One(id) => (Some(id), None),
            Self::Unclear(unclear) => (None, Some(unclear)),
        }
    }
}

/// Reads the filter `field` of the page at `path`, whose other filters are `kept`. An id is taken as it is, whoever's it may be: the
/// list knows.
pub async fn which(
    services: &Services,
    signed: &Signed,
    asked: &QueryParams,
    (field, path, kept): (&str, &str, &[&str]),
) -> Result<Which, ServiceError> {
    let Some(typed) = asked.given(field) else { return Ok(Which::Any) };
    if let Ok(id) = typed.parse() {
        return Ok(Which::One(id));
    }
    let mut all =
        accounts::list(&services.inside, &signed.operator, None, PageRequest::first(TOGETHER)).await?.items;
    let wanted = typed.to_lowercase();
    // Who is called so, and only if nobody is, whose name has it in it.
    let is = all.iter().any(|view| is_called(view, typed, &wanted));
    all.retain(|view| if is { is_called(view, typed, &wanted) } else { name(view).contains(&wanted) });
    if let [one] = all.as_slice() {
        return Ok(Which::One(one.account.id));
    }
    let is_partial = all.len() > OFFERED;
    let choice = |account: AccountView| Choice {
        address: asked.with(path, kept, (field, &account.account.id.to_string())),
        account,
    };
    let choices = all.into_iter().take(OFFERED).map(choice).collect();
    Ok(Which::Unclear(Unclear { typed: typed.to_owned(), choices, is_partial }))
}

fn is_called(view: &AccountView, typed: &str, wanted: &str) -> bool {
    let account = &view.account;
    name(view) == wanted || [account.address, account.token_account].iter().any(|at| at.to_string() == typed)
}

fn name(view: &AccountView) -> String {
    view.account.name.as_str().to_lowercase()
}
