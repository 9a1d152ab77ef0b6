use std::sync::mpsc;
use std::time::Duration;

use super::super::options::{CacheOptions, WhenAway};
use super::*;
use crate::cache::single_flight::Looked;
use crate::client::{Client, Options};

const CHANNEL: Channel = *b"0123456789abcdef";

struct Teller(mpsc::Sender<(u64, Result<Answer>)>);

impl Sink for Teller {
    fn complete(&self, answers: Vec<(u64, Result<Answer>)>) {
        answers.into_iter().for_each(|answer| drop(self.0.send(answer)));
    }
}

/// Lookups of one entry, of which the first was told that another loads, and how they are told.
struct Bench {
    queue: CacheQueue,
    told: mpsc::Receiver<(u64, Result<Answer>)>,
    topic: Channel,
}

impl Bench {
    fn new(count: u64, when_away: WhenAway) -> Bench {
        // Nothing is sent there.
        let client = Client::new(Options { url: Some("redis://127.0.0.1:1".into()), ..Options::default() }).unwrap();
        let cache = client.cache("home", CacheOptions { when_away, ..CacheOptions::default() }).unwrap();
        let (tell, told) = mpsc::channel();
        let sink: Arc<dyn Sink> = Arc::new(Teller(tell));
        let mut bench = Bench { queue: CacheQueue::default(), told, topic: Channel::default() };
        bench.queue.on_subscribed(0, HintChannel { channel: CHANNEL, node: None });
        for number in 1..=count {
            let lookup = cache.spec.lookup(b"x", Some(Duration::from_secs(60))).unwrap();
            bench.topic = lookup.target.topic();
            bench.queue.enter(lookup, Tag::new(number, &sink));
        }
        bench
    }

    /// The numbers of those who ask now.
    fn asking(&mut self) -> Vec<u64> {
        let asks = |action| if let Action::Ask(number, _) = action { Some(number) } else { None };
        self.queue.take_actions().into_iter().filter_map(asks).collect()
    }

    fn busy(&mut self, number: u64) {
        self.queue.on_answer(number, Ok(Answer::new(vec![Looked::Busy { left: 60_000_000 }])));
    }

    fn be_late(&mut self, number: u64) {
        if let Some(waiter) = self.queue.all.get_mut(&number) {
            waiter.lookup.until = Instant::now();
        }
    }

    /// Gives all answers, and returns them.
    fn answers(&mut self) -> Vec<Result<Answer>> {
        for action in self.queue.take_actions() {
            if let Action::Answer(tag, answer) = action {
                tag.answer(answer);
            }
        }
        self.told.try_iter().map(|(_, answer)| answer).collect()
    }

    /// All rest, and a hint has one of them ask.
    fn told(count: u64, when_away: WhenAway) -> Bench {
        let mut bench = Bench::new(count, when_away);
        bench.asking().into_iter().for_each(|number| bench.busy(number));
        bench.queue.on_hint(&bench.topic.clone());
        assert_eq!(bench.asking(), [1]);
        bench
    }
}

#[test]
fn a_hint_that_overtakes_an_answer_is_not_lost() {
    let mut bench = Bench::new(1, WhenAway::Raise);
    assert_eq!(bench.asking(), [1]);
    bench.queue.on_hint(&bench.topic.clone());
    bench.busy(1);
    assert_eq!(bench.asking(), [1], "it asks again, and does not rest");
    bench.busy(1);
    assert!(bench.asking().is_empty());
}

#[test]
fn what_redis_cannot_say_to_one_it_cannot_say_to_all() {
    let away = || Error::new(Code::Unavailable, "away");
    let raises = |answer: &Result<Answer>| answer.as_ref().is_err_and(|error| error.message() == "away");
    let loads = |answer: &Result<Answer>| matches!(answer.as_ref().ok().and_then(Answer::get), Some(Got::Load(ticket)) if ticket.token() == 0);
    for when_away in [WhenAway::Raise, WhenAway::Load] {
        let mut bench = Bench::told(3, when_away);
        bench.queue.on_answer(1, Err(away()));
        assert!(bench.asking().is_empty() && bench.answers().is_empty(), "they outlast it for a while");
        assert!(bench.queue.all.values().all(|waiter| waiter.lookup.outage().error().is_some()), "all know");
        bench.queue.turn(Instant::now() + Duration::from_millis(100));
        assert_eq!(bench.asking(), [1]);
        bench.be_late(1);
        bench.queue.on_answer(1, Err(away()));
        let answers = bench.answers();
        let is_told = |answer| if when_away == WhenAway::Load { loads(answer) } else { raises(answer) };
        assert!(answers.len() == 3 && answers.iter().all(is_told), "{answers:?}");
        assert!(bench.asking().is_empty());
    }
}

#[test]
fn who_lost_its_subscription_makes_another() {
    let mut bench = Bench::new(1, WhenAway::Raise);
    assert_eq!(bench.asking(), [1]);
    bench.busy(1);
    bench.queue.on_not_subscribed(0, &Error::new(Code::Unavailable, "away"));
    bench.queue.turn(Instant::now() + Duration::from_secs(1));
    assert_eq!(bench.asking(), [1]);
    bench.busy(1);
    assert_eq!(bench.queue.unsubscribed().len(), 1, "else no hint would reach it");
}

#[test]
fn closing_takes_back_what_a_question_may_bring() {
    let mut bench = Bench::new(2, WhenAway::Raise);
    assert_eq!(bench.asking(), [1, 2]);
    bench.busy(2);
    bench.queue.close();
    let cleanups = bench.queue.actions.iter().filter(|action| matches!(action, Action::CleanUp(..))).count();
    assert_eq!(cleanups, 1);
    let answers = bench.answers();
    let closed = |answer: &Result<Answer>| answer.as_ref().is_err_and(|error| error.code() == Code::Closed);
    assert!(answers.len() == 2 && answers.iter().all(closed), "{answers:?}");
}

#[test]
fn who_is_late_speaks_for_nobody_else() {
    let mut bench = Bench::told(2, WhenAway::Raise);
    bench.be_late(1);
    bench.busy(1);
    assert_eq!(bench.asking(), [2]);
}
