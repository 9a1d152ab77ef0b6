//! What several servers say of their cluster, and which of them is believed.
//!
//! A server knows whether it sees the majority of primaries: where it does not, it says `cluster_state:fail`, and its map is
//! that of the moment in which it was cut off. A server that forgot the others sees a majority of itself alone, so one word is
//! not enough for a client that knows nothing yet.

use std::collections::HashMap;

use super::layout::{ClusterLayout, SlotOwner};
use crate::call::resp::Reply;

/// What a server says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Health {
    /// It does not serve.
    Fails,
    /// It does not say, as one whose user may not ask.
    Unknown,
    /// It sees the majority of the primaries.
    Serves,
}

/// What one server says.
#[derive(Clone, Debug)]
pub(super) struct ClusterView {
    /// The number of the server.
    pub(crate) from: u64,
    pub(crate) health: Health,
    /// The epoch of its cluster: it grows with each promotion; 0 if it does not say.
    pub(crate) epoch: u64,
    pub(crate) layout: ClusterLayout,
}

/// Reads the reply to `CLUSTER INFO`.
pub(super) fn health(reply: &Reply) -> (Health, u64) {
    let Reply::Bytes(bytes) = reply else { return (Health::Unknown, 0) };
    let text = String::from_utf8_lossy(bytes);
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim);
    let health = match field("cluster_state") {
        Some("ok") => Health::Serves,
        Some("fail") => Health::Fails,
        _ => Health::Unknown,
    };
    (health, field("cluster_current_epoch").and_then(|epoch| epoch.parse().ok()).unwrap_or(0))
}

/// What was said so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Survey(Vec<ClusterView>);

impl Survey {
    /// Takes what a server says, in place of what it said before.
    pub(crate) fn add(&mut self, view: ClusterView) {
        self.0.retain(|other| other.from != view.from);
        self.0.push(view);
    }

    pub(crate) fn views(&self) -> impl Iterator<Item = &ClusterView> {
        self.0.iter()
    }

    /// Whether asking on is of no use: a server that serves says what another one says as well, or, if `known` is the epoch of
    /// the map so far, that this is not older.
    pub(crate) fn is_settled(&self, known: Option<u64>) -> bool {
        let is_newer =
            |view: &ClusterView| view.health > Health::Fails && known.is_some_and(|known| view.epoch >= known);
        self.0.iter().any(is_newer)
            || self.choice().is_some_and(|(view, agree)| view.health > Health::Fails && agree > 1)
    }

    /// What is believed: of servers that serve, if any does, what most of them say, and of that what has the highest epoch.
    pub(crate) fn best(&self) -> Option<&ClusterView> {
        self.choice().map(|(view, _)| view)
    }

    /// The best, and how many say so.
    fn choice(&self) -> Option<(&ClusterView, usize)> {
        let serves = self.0.iter().any(|view| view.health > Health::Fails);
        let heard = self.0.iter().filter(|view| !serves || view.health > Health::Fails);
        let mut groups: HashMap<Vec<SlotOwner>, (&ClusterView, usize)> = HashMap::new();
        for view in heard {
            let (best, count) = groups.entry(view.layout.owners()).or_insert((view, 0));
            *count += 1;
            if (view.health, view.epoch) > (best.health, best.epoch) {
                *best = view;
            }
        }
        groups.into_values().max_by_key(|(view, count)| (*count, view.epoch, view.health, u64::MAX - view.from))
    }
}

#[cfg(test)]
mod tests {
    use super::super::layout::Range;
    use super::*;

    fn view(from: u64, health: Health, epoch: u64, owner: &str) -> ClusterView {
        let range = Range { first: 0, last: 99, places: vec![("h".to_owned(), 1)], primary: owner.as_bytes().to_vec() };
        ClusterView { from, health, epoch, layout: ClusterLayout { ranges: vec![range], ..ClusterLayout::default() } }
    }

    fn survey(views: &[(Health, u64, &str)]) -> Survey {
        let mut survey = Survey::default();
        (1..).zip(views).for_each(|(from, (health, epoch, owner))| survey.add(view(from, *health, *epoch, owner)));
        survey
    }

    fn believed(views: &[(Health, u64, &str)]) -> String {
        let survey = survey(views);
        String::from_utf8(survey.best().unwrap().layout.ranges[0].primary.clone()).unwrap()
    }

    #[test]
    fn what_a_server_says_of_itself_is_read() {
        let says = |text: &str| health(&Reply::Bytes(text.as_bytes().to_vec()));
        let whole = "cluster_enabled:1\r\ncluster_state:ok\r\ncluster_current_epoch:7\r\ncluster_my_epoch:2\r\n";
        assert_eq!(says(whole), (Health::Serves, 7));
        assert_eq!(says("cluster_state:fail\r\ncluster_current_epoch:6\r\n"), (Health::Fails, 6));
        assert_eq!(says("cluster_state:odd\r\ncluster_current_epoch:-1"), (Health::Unknown, 0));
        assert_eq!(health(&Reply::Error("NOPERM".into())), (Health::Unknown, 0));
    }

    #[test]
    fn who_does_not_serve_is_not_believed_where_another_does() {
        use Health::{Fails, Serves, Unknown};
        assert_eq!(believed(&[(Fails, 9, "old"), (Fails, 9, "old"), (Serves, 7, "new")]), "new");
        assert_eq!(believed(&[(Fails, 9, "old"), (Unknown, 0, "new")]), "new");
        assert_eq!(believed(&[(Fails, 6, "old"), (Fails, 7, "new")]), "new", "of those that fail, the latest");
    }

    #[test]
    fn most_are_believed_and_of_as_many_the_latest() {
        use Health::{Serves, Unknown};
        assert_eq!(believed(&[(Serves, 9, "stray"), (Serves, 7, "new"), (Serves, 7, "new")]), "new");
        assert_eq!(believed(&[(Serves, 6, "old"), (Serves, 7, "new")]), "new");
        assert_eq!(believed(&[(Unknown, 0, "old"), (Unknown, 0, "new"), (Unknown, 0, "new")]), "new");
    }

    #[test]
    fn one_word_is_enough_for_whom_knows_an_older_map_alone() {
        use Health::{Fails, Serves};
        let settled = |views: &[(Health, u64, &str)], known| survey(views).is_settled(known);
        assert!(!settled(&[(Serves, 7, "new")], None), "a new client asks another one too");
        assert!(settled(&[(Serves, 7, "new"), (Serves, 7, "new")], None));
        assert!(!settled(&[(Serves, 7, "new"), (Serves, 6, "old")], None), "and a third where they disagree");
        assert!(settled(&[(Serves, 7, "new")], Some(7)) && !settled(&[(Serves, 6, "old")], Some(7)));
        assert!(settled(&[(Serves, 6, "reset"), (Serves, 6, "reset")], Some(7)), "two outweigh what was known");
        assert!(!settled(&[(Fails, 9, "old"), (Fails, 9, "old")], Some(7)));
        let mut twice = survey(&[(Serves, 7, "new")]);
        twice.add(view(1, Serves, 7, "new"));
        assert!(!twice.is_settled(None), "one server is one word, however often it is heard");
    }
}
