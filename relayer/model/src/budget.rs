use serde::Deserialize;
use serde::de::{Deserializer, Error};
use utoipa::ToSchema;

use super::amount::given_limit;
use super::wire::schema::UsdcNumber;
use super::{Invalid, Limit, UsdcAmount};

/// Other caps of a budget. What is left out stays as it is, and what waited is dropped, unless nothing is given.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateBudget {
    /// Most in any 24 hours.
    #[serde(default, deserialize_with = "given_cap")]
    #[schema(value_type = UsdcNumber)]
    pub max_daily_spend: Option<UsdcAmount>,
    /// Most in any 30 days; `null` for no limit.
    #[serde(default, deserialize_with = "given_limit")]
    #[schema(value_type = Option<UsdcNumber>)]
    pub max_30_day_spend: Option<Limit>,
}

fn given_cap<'de, D: Deserializer<'de>>(json: D) -> Result<Option<UsdcAmount>, D::Error> {
    let unlimited = || Invalid::new("", "must be an amount: a budget has a limit for 24 hours");
    match given_limit(json)? {
        Some(Limit::AtMost(cap)) => Ok(Some(cap)),
        Some(Limit::Unlimited) => Err(D::Error::custom(unlimited())),
        None => Ok(None),
    }
}
