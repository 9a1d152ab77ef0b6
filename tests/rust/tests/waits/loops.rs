//! A link on somebody else's loop reads in pieces, and never takes its own delay for the server's.

use std::thread;
use std::time::Duration;

use quotalock::driver::LoopLink;
use quotalock::{Client, OnError, Options, Policy};
use quotalock_tests::{fresh_prefix, servers};

const CALLS: usize = 200;
const TIMEOUT: Duration = Duration::from_secs(2);

/// A link with that many calls written to the server, each under its number.
fn under_way(url: &str, prefix: &str) -> LoopLink<usize> {
    let options = Options {
        url: Some(url.into()),
        prefix: prefix.into(),
        timeout: TIMEOUT,
        on_error: OnError::Raise,
        ..Options::default()
    };
    let limiter = Client::new(options).unwrap().limiter("loops", Policy::parse("1000/hour").unwrap()).unwrap();
    let mut link = LoopLink::new(|_| true).unwrap();
    let submit = |link: &mut LoopLink<usize>, count| {
        (0..count).for_each(|number| link.submit(limiter.consume(b"k", 1).unwrap().erased(), number));
        link.flush();
    };
    // Then the server knows the script.
    submit(&mut link, 10);
    while link.is_busy() {
        thread::sleep(Duration::from_millis(1));
        link.wake();
    }
    link.take_done();
    submit(&mut link, CALLS);
    link
}

#[test]
fn a_turn_reads_a_piece_and_leaves_the_rest_to_the_next() {
    for (name, url) in servers() {
        let mut link = under_way(&url, &fresh_prefix("pieces"));
        // All answers lie here, or nearly: how many turns they take is then up to the link.
        thread::sleep(TIMEOUT / 4);
        let mut answered = Vec::new();
        let mut turns = 0;
        while link.is_busy() {
            link.turn();
            answered.extend(link.take_done().into_iter().map(|(number, answer)| answer.map(|_| number).unwrap()));
            turns += 1;
        }
        assert_eq!(answered, Vec::from_iter(0..CALLS), "{name}");
        assert!(turns >= 3, "{name}: {turns} turns");
    }
}

#[test]
fn an_answer_that_came_in_time_counts_however_late_the_loop_reads_it() {
    for (name, url) in servers() {
        let mut link = under_way(&url, &fresh_prefix("asleep"));
        thread::sleep(TIMEOUT + TIMEOUT / 4);
        link.turn();
        let answered: Vec<usize> =
            link.take_done().into_iter().map(|(number, answer)| answer.map(|_| number).unwrap()).collect();
        assert_eq!(answered, Vec::from_iter(0..CALLS), "{name}");
    }
}
