//! Writes every script as the server gets it into a folder: for luacheck, and for reading.

use std::io;

fn main() -> io::Result<()> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| "target/lua".into());
    std::fs::create_dir_all(&folder)?;
    for (name, text) in quotalock::scripts() {
        std::fs::write(format!("{folder}/{name}.lua"), text)?;
    }
    Ok(())
}
