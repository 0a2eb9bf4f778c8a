use purser_core::words;

words! {
    /// Whether a grant pays.
    pub enum GrantState {
        /// It waits for the operator's loosening delay.
        Pending = "pending",
        Open = "open",
        /// It pays nothing, though it is neither spent nor over.
        Void = "void",
        /// It has ended, or all of it was paid.
        Over = "over",
    }
}

words! {
    /// Whose key opened a grant.
    pub enum GrantOpener {
        Admin = "admin",
        PolicyAuthority = "policy_authority",
        Approver = "approver",
    }
}
