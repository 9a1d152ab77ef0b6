//! Completions for shells and pages for `man`, from the declaration that the help comes from.
//!
//! A test writes them, so that the program carries neither them nor what makes them. `make dist` names the folder.

use std::path::{Path, PathBuf};

use clap::CommandFactory;
use clap_complete::Shell;

use crate::arguments::CommandLine;

/// Shells that a release has completions for.
const SHELLS: [Shell; 3] = [Shell::Bash, Shell::Zsh, Shell::Fish];

/// Writes the files of all shells, and a page for the program and each command.
fn write(folder: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    for shell in SHELLS {
        clap_complete::generate_to(shell, &mut CommandLine::command(), "quotalock", folder)?;
    }
    clap_mangen::generate_to(CommandLine::command(), folder)
}

#[test]
fn every_command_has_a_page_and_a_completion() {
    let given = std::env::var_os("QUOTALOCK_MANUAL").map(PathBuf::from);
    let own = std::env::temp_dir().join(format!("quotalock-manual-{}", std::process::id()));
    let folder = given.clone().unwrap_or_else(|| own.clone());
    write(&folder).unwrap();
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    assert!(read("quotalock.1").contains("Exit codes"));
    let command = CommandLine::command();
    let names: Vec<_> = command.get_subcommands().map(clap::Command::get_name).collect();
    assert!(names.len() > 10);
    for name in names {
        let page = read(&format!("quotalock-{name}.1"));
        assert!(page.contains(".SH SYNOPSIS"), "{name} in {page}");
        for file in ["quotalock.bash", "_quotalock", "quotalock.fish"] {
            assert!(read(file).contains(name), "{name} in {file}");
        }
    }
    if given.is_none() {
        std::fs::remove_dir_all(own).unwrap();
    }
}
