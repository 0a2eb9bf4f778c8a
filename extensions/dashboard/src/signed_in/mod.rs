//! Who is signed in: sessions, and the passkeys that open them, over the services. No page is here.

mod passkeys;
mod sessions;

pub use self::passkeys::{NewPasskey, PasskeyView, Passkeys};
pub use self::sessions::{SessionView, Sessions};
