/// Which build this is. The program says it, not this crate, which would be built anew after each commit.
#[derive(Debug, Clone, Copy)]
pub struct Version {
    pub number: &'static str,
    /// The commit that was checked out as it was built; `unknown` outside a clone.
    pub commit: &'static str,
    /// Both, for `--version`.
    pub text: &'static str,
}
