//! Deliveries over a real database, with a receiver and a clock that the test controls.

mod client;
mod crossing;
mod queues;
mod schedule;
mod support;
mod verifiers;
