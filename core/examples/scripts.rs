//! Writes every script as the server gets it into a folder, and removes what is no script any more: for luacheck, and for
//! reading. `make scripts` renews those that are committed.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let folder = PathBuf::from(env::args().nth(1).unwrap_or_else(|| "target/lua".into()));
    fs::create_dir_all(&folder)?;
    let scripts: BTreeMap<String, String> =
        quotalock::scripts().into_iter().map(|(name, text)| (format!("{name}.lua"), text)).collect();
    for entry in fs::read_dir(&folder)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.ends_with(".lua") && !scripts.contains_key(&name) {
            fs::remove_file(folder.join(name))?;
        }
    }
    scripts.iter().try_for_each(|(name, text)| fs::write(folder.join(name), text))
}
