//! The migrations are compiled in; without this, a new file among them would go unseen.

fn main() {
    println!("cargo:rerun-if-changed=migrations");
}
