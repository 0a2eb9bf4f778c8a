//! Sessions, and the passkeys that open them, over the services. The pages are elsewhere.

mod passkeys;
mod sessions;

pub use self::passkeys::{NewPasskey, PasskeyView, Passkeys};
pub use self::sessions::{SessionView, Sessions};
