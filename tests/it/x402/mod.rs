//! x402 with what other people wrote: shops, facilitators and clients of npm's `@x402` packages, against the test network.
//! `PURSER_NODE_MODULES` names a folder that has them; `.ci/run` installs them. Without it there is nobody to trade with, and
//! the tests say so.

mod buying;
mod paying;
mod receiving;
pub mod road;
mod shop;
