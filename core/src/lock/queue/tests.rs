use super::*;
use crate::client::{Client, Options};
use crate::lock::LockOptions;
use crate::lock::spec::{LockKind, LockSpec};
use wire::base::error::{Code, Error};
use wire::call::answer::Sink;
use wire::reactor::Guest;

struct Nobody;

impl Sink for Nobody {
    fn complete(&self, _answers: Vec<(u64, Result<Answer>)>) {}
}

#[test]
fn who_has_gone_before_its_turn_asks_nothing() {
    let client = Client::new(Options { url: Some("memory://gone".into()), ..Options::default() }).unwrap();
    let lock = client.lock(b"x", LockOptions::default()).unwrap();
    let mut queue = LockQueue::default();
    for wait in [Duration::ZERO, Duration::from_secs(60)] {
        let attempt = lock.attempt(wait).unwrap();
        lock.abandon();
        let nobody: Arc<dyn Sink> = Arc::new(Nobody);
        queue.acquire(attempt, Tag::new(0, &nobody));
        assert!(matches!(std::mem::take(&mut queue.actions)[..], [Action::Answer(_, Err(_))]));
        assert!(queue.is_idle());
    }
}

#[test]
fn those_who_were_forgotten_while_they_held_are_not_remembered() {
    let client = Client::new(Options { url: Some("memory://".into()), ..Options::default() }).unwrap();
    let mut queue = LockQueue::default();
    let mut kept = Vec::new();
    for number in 0..2_000_u32 {
        let names = [&number.to_le_bytes()[..]];
        let spec = Arc::new(LockSpec::new(&client, LockKind::Mutex, &names, (1, 1), LockOptions::default()).unwrap());
        let held = Arc::new(HeldLock::new(spec.clone(), [0; 16], 1, spec.now()));
        queue.on_held(&spec.keys, held.clone());
        queue.actions.clear();
        if number % 100 == 0 {
            kept.push(held);
        }
    }
    assert!(kept.iter().all(|held| queue.holders.contains_key(&held.spec.keys)));
    assert!(queue.holders.len() < 200, "{}", queue.holders.len());
}

#[test]
fn what_a_key_of_another_type_refuses_is_not_taken_back() {
    let client = Client::new(Options { url: Some("memory://".into()), ..Options::default() }).unwrap();
    let lock = client.lock(b"x", LockOptions::default()).unwrap();
    for (code, leaves) in [(Code::WrongType, false), (Code::Timeout, true)] {
        let mut attempt = lock.attempt(Duration::ZERO).unwrap();
        attempt.ask_once();
        attempt.on_answer(Err(Error::new(code, "refused")));
        assert_eq!(attempt.cleanup().is_some(), leaves, "{code:?}");
    }
}
