//! The answers of rules as a list.

use super::*;

fn rule(remaining: u64) -> RuleDecision {
    RuleDecision {
        allowed: true,
        limit: 9,
        remaining,
        retry_after: Some(0),
        reset_after: 1,
        algorithm: "fixed-window",
        quota: 9,
        period: 1,
        capacity: 9,
    }
}

#[test]
fn it_reads_as_the_list_that_it_was_made_of() {
    for count in 0..4 {
        let list: Vec<RuleDecision> = (0..count).map(rule).collect();
        let mut rules: RuleDecisions = list.iter().copied().collect();
        assert_eq!((&*rules, rules.clone().into_iter().collect::<Vec<_>>()), (&*list, list.clone()));
        assert_eq!(format!("{rules:?}"), format!("{list:?}"));
        assert_eq!(rules, list.iter().copied().collect());
        rules.iter_mut().for_each(|rule| rule.remaining += 1);
        assert_eq!(rules.iter().map(|rule| rule.remaining).collect::<Vec<_>>(), (1..=count).collect::<Vec<_>>());
        assert_eq!(rules == list.into_iter().collect(), count == 0);
    }
}

#[test]
fn one_rule_lies_within() {
    let decided: RuleDecisions = [rule(7)].into_iter().collect();
    assert!(matches!((decided.0, RuleDecisions::from([rule(7)]).0), (RuleStorage::One(_), RuleStorage::One(_))));
    assert_eq!(&*RuleDecisions::from([rule(7), rule(8)]), [rule(7), rule(8)]);
    assert_eq!(size_of::<RuleDecisions>(), size_of::<RuleDecision>(), "and no more than that");
}
