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
const ASSETS: [Asset; 22] = [
    ("actions.js", SCRIPT, include_bytes!("page/actions.js")),
    ("caches.js", SCRIPT, include_bytes!("page/caches.js")),
    ("decisions.js", SCRIPT, include_bytes!("page/decisions.js")),
    ("dom.js", SCRIPT, include_bytes!("page/dom.js")),
    ("findings.js", SCRIPT, include_bytes!("page/findings.js")),
    ("format.js", SCRIPT, include_bytes!("page/format.js")),
    ("histories.js", SCRIPT, include_bytes!("page/histories.js")),
    ("hold.js", SCRIPT, include_bytes!("page/hold.js")),
    ("list.js", SCRIPT, include_bytes!("page/list.js")),
    ("locks.js", SCRIPT, include_bytes!("page/locks.js")),
    ("login.js", SCRIPT, include_bytes!("page/login.js")),
    ("main.js", SCRIPT, include_bytes!("page/main.js")),
    ("page.css", STYLE, include_bytes!("page/page.css")),
    ("pages.js", SCRIPT, include_bytes!("page/pages.js")),
    ("plot.js", SCRIPT, include_bytes!("page/plot.js")),
    ("refused.js", SCRIPT, include_bytes!("page/refused.js")),
    ("servers.js", SCRIPT, include_bytes!("page/servers.js")),
    ("stocks.js", SCRIPT, include_bytes!("page/stocks.js")),
    ("stream.js", SCRIPT, include_bytes!("page/stream.js")),
    ("theme.js", SCRIPT, include_bytes!("page/theme.js")),
    ("verdict.js", SCRIPT, include_bytes!("page/verdict.js")),
    ("without-ttl.js", SCRIPT, include_bytes!("page/without-ttl.js")),
];

/// The file of this name.
pub fn find(name: &str) -> Option<&'static Asset> {
    ASSETS.iter().find(|(known, ..)| *known == name)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{ASSETS, find};

    #[test]
    fn every_file_of_the_page_is_served() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/serve/page");
        let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
        let served: Vec<_> = files.filter(|name| name.ends_with(".js") || name.ends_with(".css")).collect();
        assert_eq!(served.len(), ASSETS.len());
        assert!(served.iter().all(|name| find(name).is_some()), "{served:?}");
    }
}
