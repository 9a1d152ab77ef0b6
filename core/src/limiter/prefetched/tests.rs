use super::*;
use crate::client::{Client, Options};
use crate::limiter::LimiterOptions;
use crate::limiter::prefetch::PrefetchCall;

const START: u64 = 1_700_000_000_000_000;

fn call(limiter: &Limiter) -> LimiterCall {
    let prefetch = Some(PrefetchCall::new(&limiter.client));
    let (spec, key) = (limiter.spec.clone(), limiter.redis_key(b"k").unwrap());
    LimiterCall { spec, verb: Verb::Consume, key, amount: 1, memory: None, recall: None, prefetch }
}

/// How much a call takes beside its cost; none if that was spent here.
fn begun(call: &LimiterCall) -> Option<u64> {
    call.begin().is_none().then(|| call.prefetch.as_ref().unwrap().more())
}

fn admitted(call: &LimiterCall) {
    call.took(&Answer::new(call.spec.fallback(1, Source::Open, 0)), Source::Redis);
}

#[test]
fn a_call_that_is_given_up_lets_the_next_one_take() {
    let client = Client::new(Options { url: Some("redis://server".into()), ..Options::default() }).unwrap();
    client.session.test_time.set(Some(START));
    let options = LimiterOptions { prefetch: Some(100), ..LimiterOptions::default() };
    let limiter = client.limiter_with("n", "token-bucket 100/s".parse().unwrap(), options).unwrap();
    let first = call(&limiter);
    assert_eq!(begun(&first), Some(0));
    admitted(&first);
    let given_up = call(&limiter);
    assert_eq!(begun(&given_up), Some(1));
    assert_eq!(begun(&call(&limiter)), Some(0), "one takes at a time");
    drop(given_up);
    let next = call(&limiter);
    assert_eq!(begun(&next), Some(3));
    // What was answered stays when its call goes.
    admitted(&next);
    drop((first, next));
    assert_eq!(begun(&call(&limiter)), None);
}
