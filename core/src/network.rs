words! {
    /// The Solana network a key works on. A process may serve both.
    pub enum Network {
        Test = "test",
        Live = "live",
    }
}
