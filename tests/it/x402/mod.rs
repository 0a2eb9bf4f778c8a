//! x402 with third-party software: shops, facilitators and clients from npm's `@x402` packages, on the test network.
//! `PURSER_NODE_MODULES` names a folder that has them; `.ci/run` installs them. Without it the tests say so and skip.

mod buying;
mod offers;
mod paying;
mod receiving;
pub mod road;
pub mod shop;
