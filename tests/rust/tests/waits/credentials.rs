//! A function that tells the password: when it is asked, and what becomes of one that fails, hangs or panics.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use quotalock::{Client, Code, Error, Options, PasswordProvider, Policy};
use quotalock_tests::operator::command;
use quotalock_tests::stalls::Stalls;
use quotalock_tests::{fresh_prefix, servers};

fn client(url: &str, prefix: &str, timeout: Duration, password: PasswordProvider) -> Client {
    let options = Options {
        url: Some(url.into()),
        prefix: prefix.into(),
        timeout,
        password: Some(password),
        ..Options::default()
    };
    assert!(format!("{options:?}").contains("***"));
    Client::new(options).unwrap()
}

fn consume(client: &Client) -> Result<u64, Error> {
    let limiter = client.limiter("n", Policy::parse("100/hour").unwrap()).unwrap();
    limiter.consume(b"k", 1).unwrap().run().map(|decision| decision.remaining)
}

#[test]
fn it_is_asked_once_and_again_when_the_server_refuses_what_it_told() {
    for (_, url) in servers() {
        let user = fresh_prefix("asked");
        let right =
            |password: &str| command(&url, &["ACL", "SETUSER", &user, "on", "resetpass", password, "~*", "+@all"]);
        right(">first");
        let (asked, of_provider) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (count, of_count) = (asked.clone(), of_provider.clone());
        let provider = PasswordProvider::new(move || {
            count.fetch_add(1, Ordering::SeqCst);
            Ok(["first", "second"][of_count.load(Ordering::SeqCst)].to_owned())
        });
        let place = url.replace("redis://", &format!("redis://{user}@"));
        let client = client(&place, &user, Duration::from_secs(10), provider);
        // Many at once, and each with a connection of its own: one asks, the others wait for what it hears.
        std::thread::scope(|scope| {
            (0..8).for_each(|_| drop(scope.spawn(|| consume(&client).unwrap())));
        });
        assert_eq!(asked.load(Ordering::SeqCst), 1);
        right(">second");
        of_provider.store(1, Ordering::SeqCst);
        command(&url, &["CLIENT", "KILL", "USER", &user]);
        std::thread::sleep(Duration::from_millis(20));
        std::thread::scope(|scope| {
            (0..8).for_each(|_| drop(scope.spawn(|| consume(&client).unwrap())));
        });
        assert_eq!(asked.load(Ordering::SeqCst), 2);
        assert_eq!(consume(&client).unwrap(), 83);
    }
}

#[test]
fn one_that_is_refused_is_asked_no_more_than_once_again() {
    let (_, url) = servers().remove(0);
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let provider = PasswordProvider::new(move || Ok(format!("wr0ng-{}", count.fetch_add(1, Ordering::SeqCst))));
    let place = url.replace("redis://", "redis://nobody@");
    let error = consume(&client(&place, "x", Duration::from_secs(10), provider)).unwrap_err();
    assert_eq!((error.code(), asked.load(Ordering::SeqCst)), (Code::NotPermitted, 2), "{error}");
    assert!(error.message().contains("the password function") && !error.message().contains("wr0ng"), "{error}");
}

#[test]
fn one_that_fails_or_panics_says_so() {
    let (_, url) = servers().remove(0);
    let failing: [(PasswordProvider, &str); 3] = [
        (PasswordProvider::new(|| Err("the vault is closed".into())), "the vault is closed"),
        (PasswordProvider::new(|| Ok(String::new())), "it is empty"),
        (PasswordProvider::new(|| panic!("sw0rdfish")), "it panicked"),
    ];
    for (provider, why) in failing {
        let client = client(&url, "x", Duration::from_secs(10), provider);
        for _ in 0..2 {
            let error = consume(&client).unwrap_err();
            assert_eq!(error.code(), Code::NotPermitted, "{error}");
            assert!(error.message().contains(why) && !error.message().contains("sw0rdfish"), "{error}");
        }
    }
}

#[test]
fn one_that_hangs_costs_the_timeout() {
    let (_, url) = servers().remove(0);
    let (end, ended) = channel::<()>();
    let ended = std::sync::Mutex::new(ended);
    let provider = PasswordProvider::new(move || {
        let _ = ended.lock().unwrap().recv();
        Err("too late".into())
    });
    let client = client(&url, "x", Duration::from_millis(200), provider);
    let stalls = Stalls::watch();
    let began = Instant::now();
    let error = consume(&client).unwrap_err();
    assert_eq!(error.code(), Code::Timeout, "{error}");
    assert!(began.elapsed() < Duration::from_millis(250) + stalls.lost(), "{:?}", began.elapsed());
    drop(end);
}

#[test]
fn one_password_comes_from_one_place() {
    let provider = || Some(PasswordProvider::new(|| Ok("p".into())));
    for url in ["redis://:sw0rdfish@h", "redis://h?password_file=/run/x", "memory://"] {
        let error = Client::new(Options { url: Some(url.into()), password: provider(), ..Options::default() });
        let Err(error) = error else { panic!("{url}") };
        assert_eq!(error.code(), Code::InvalidArgument, "{error}");
        assert!(error.message().contains("function") && !error.message().contains("sw0rdfish"), "{error}");
    }
}
