//! The files of the page, which are parts of the program: a path names one of them, or nothing.

/// A file: its name below `/assets/`, its type, what is in it.
pub type Asset = (&'static str, &'static str, &'static [u8]);

const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";

/// The page.
pub const PAGE: &str = include_str!("page/index.html");
/// The page that asks for the token.
pub const LOGIN: &str = include_str!("page/login.html");

/// All others. Whoever asks gets them: they are the same everywhere.
const ASSETS: [Asset; 3] = [
    ("page.css", STYLE, include_bytes!("page/page.css")),
    ("page.js", SCRIPT, include_bytes!("page/page.js")),
    ("login.js", SCRIPT, include_bytes!("page/login.js")),
];

/// The file of this name.
pub fn find(name: &str) -> Option<&'static Asset> {
    ASSETS.iter().find(|(known, ..)| *known == name)
}
