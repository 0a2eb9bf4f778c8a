//! Whom to tell of a weakness: the text of neodyme's security.txt standard, which explorers find in the program's bytes.
//!
//! Whoever deploys a program of their own writes their own contacts here, where they write its address into `declare_id!`.

solana_security_txt::security_txt! {
    name: "Purser",
    project_url: "private",
    contacts: "other:the holder of this program's upgrade authority",
    policy: "Tell the holder of the upgrade authority in private, and give time for an upgrade before you publish.",
    preferred_languages: "en"
}
