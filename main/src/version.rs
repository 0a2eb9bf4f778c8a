use purser_api::Version;

/// What this program is, from its manifest and its build script.
pub const VERSION: Version = Version {
    number: env!("CARGO_PKG_VERSION"),
    commit: env!("PURSER_COMMIT"),
    text: concat!(env!("CARGO_PKG_VERSION"), " (", env!("PURSER_COMMIT"), ")"),
};
