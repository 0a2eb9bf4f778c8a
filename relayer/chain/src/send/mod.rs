//! From signed bytes to their outcome. `submit` is the one loop per network: it follows `flight`s, and a `cross_check` tests what
//! a single node reports. `fault` says why a transaction failed; `in_flight` counts what accounts do not show yet.

pub mod cross_check;
pub mod fault;
pub mod flight;
pub mod in_flight;
pub mod submit;
