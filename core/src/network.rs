words! {
    /// The Solana network a key works on. A process may serve both.
    pub enum Network = "Network": "Which network the account is on." {
        Test = "test",
        Live = "live",
    }
}
