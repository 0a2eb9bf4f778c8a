//! From signed bytes to what became of them: `submit` is the one loop per network, over `flight`s, with a `cross_check` of what one
//! node alone says; `fault` is why a transaction failed, `own` what accounts do not show yet.

pub mod cross_check;
pub mod fault;
pub mod flight;
pub mod own;
pub mod submit;
