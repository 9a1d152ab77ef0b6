//! No error, `Debug` or `Display` shows a password, in whatever shape it was given, where it does not belong too.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::Duration;

use quotalock::{Client, Options, Policy, redacted};

/// Passwords, each with the words by which it could be recognised.
const SECRETS: [(&str, &[&str]); 5] = [
    ("sw0rdfish", &["sw0rdfish", "w0rdf"]),
    ("correct7horse/battery", &["correct7", "battery"]),
    ("tuna?melt8#sandwich", &["tuna", "melt8", "sandwich"]),
    ("at@at:walk3r", &["walk3r"]),
    ("831415926535", &["31415", "26535"]),
];

/// How people get a URL wrong: the password stands for `S`.
const SHAPES: [&str; 70] = [
    "redis://user:S%40host",
    "redis://user:S%40host:6379",
    "redis://user:S%40host:6379/0",
    "redis://:S%40host:6379",
    "redis://S%40host",
    "redis://user%3AS%40host:6379",
    "redis://user%3AS@host:x",
    "redis://user:Shost",
    "redis://user:Shost:6379",
    "redis://user:Shost:6379/1",
    "redis://user:S",
    "redis://:S",
    "redis://:S/0",
    "redis://user:S/0",
    "redis://user:S?db=1",
    "redis://user:S@",
    "redis://user:S@/0",
    "redis://user:S@host:99999",
    "redis://user:S@host:port",
    "redis://user:S@host:S",
    "redis://user:S@h/x",
    "redis://user:S@h/x/y",
    "redis://user:S@ho st",
    "redis://user:S@host,other",
    "redis://user:S@[::1",
    "redis://[::1:S@",
    "redis://[S",
    "redis://[::1]S",
    "redis://user:S%zz@host",
    "redis://user:S%ff@host",
    "redis://user:S%40h,ost",
    "redis://S@host",
    "redis://user:S@host@",
    "redis://user:1234/S",
    "redis://user:1/S%40host",
    "redis://user:6379/S@host:x",
    "redis://host?password=S",
    "redis://host?password_file=S",
    "redis://S@host?password_file=/nowhere",
    "redis://:S@host?password_file=/nowhere",
    "redis://:S@host?client_name=a b",
    "redis://host?client_name=S S",
    "redis://:S@host?cert=/c&key=/k",
    "rediss://:S@host?cert=S",
    "rediss://:S@host?key=S",
    "redis://host?S",
    "redis://host?S=1",
    "redis://user?S%40host",
    "redis://user:S@host?S=S",
    "redis://user:S@host?tls=S",
    "rediss://user:S@host?ca=/nowhere&S",
    "rediss://:S%40host?ca=/nowhere",
    "unix://:S/run/redis.sock",
    "unix://S",
    "unix://user:S@run/redis.sock",
    "unix:///run/redis.sock?db=S",
    "unix:///run/redis.sock?S",
    "memory://user:S@x",
    "memory://:S",
    "redis+cluster://:S@h:1,h:2",
    "redis+cluster://user:S%40h:1,h:2",
    "redis+sentinel://:S@h:1/m/0",
    "http://user:S@host",
    "REDIS://user:S@host",
    " redis://user:S@host",
    "user:S@host:6379",
    "S",
    "redis:S@host",
    "redis:/user:S@host",
    ":S@host://",
];

fn encoded(secret: &str) -> String {
    secret
        .bytes()
        .map(|b| if b.is_ascii_alphanumeric() { char::from(b).to_string() } else { format!("%{b:02X}") })
        .collect()
}

fn client(options: Options) -> Result<Client, quotalock::Error> {
    Client::new(options)
}

fn check(forms: &[String], words: &[&str], what: &str) {
    for form in forms {
        for word in words {
            assert!(!form.contains(word), "{what} tells {word}: {form}");
        }
    }
}

fn forms_of<T>(result: Result<T, quotalock::Error>) -> Vec<String> {
    result
        .err()
        .map(|error| vec![error.to_string(), format!("{error:?}"), error.message().to_owned()])
        .unwrap_or_default()
}

#[test]
fn a_url_that_cannot_be_does_not_tell_its_password() {
    let mut refused = 0;
    for (secret, words) in SECRETS {
        for given in [secret.to_owned(), encoded(secret)] {
            for shape in SHAPES {
                let url = shape.replace('S', &given);
                let options =
                    || Options { url: Some(url.clone()), timeout: Duration::from_millis(50), ..Options::default() };
                let made = client(options());
                refused += usize::from(made.is_err());
                let mut forms = vec![redacted(&url), format!("{:?}", options())];
                forms.extend(made.as_ref().map(Client::server).ok());
                forms.extend(forms_of(made));
                check(&forms, words, &url);
            }
        }
    }
    // The others can be, and are somebody's host or path.
    assert!(refused > SECRETS.len() * SHAPES.len(), "{refused}");
}

#[test]
fn a_url_in_another_place_does_not_tell_its_password() {
    let good = client(Options { url: Some("memory://".into()), ..Options::default() }).unwrap();
    let policy = || Policy::parse("5/1h").unwrap();
    for (secret, words) in SECRETS {
        for shape in ["redis://user:S@host:6379/0", "rediss://:S@host", "redis://user:S%40host", "http://user:S@host"] {
            let url = shape.replace('S', &encoded(secret));
            let with_brace = format!("{url}{{");
            let mut forms = Vec::new();
            for prefix in [&url, &with_brace, &url.repeat(100)] {
                let options =
                    || Options { url: Some("memory://".into()), prefix: prefix.clone(), ..Options::default() };
                let made = client(options());
                assert!(made.is_err(), "{prefix} is no prefix");
                forms.push(format!("{:?}", options()));
                forms.extend(forms_of(made));
            }
            forms.extend(forms_of(quotalock::OnError::parse(&url)));
            forms.extend(forms_of(Policy::parse(&url)));
            forms.extend(forms_of(good.limiter(&url.repeat(100), policy())));
            let limiter = good.limiter("n", policy()).unwrap();
            forms.extend(forms_of(limiter.consume(url.repeat(100).as_bytes(), 1)));
            let spent = good.limiter("spent", Policy::parse("1/1h").unwrap()).unwrap();
            forms.extend(forms_of(spent.require(url.as_bytes(), 1).and_then(quotalock::Op::run)));
            forms.extend(forms_of(spent.require(url.as_bytes(), 1).and_then(quotalock::Op::run)));
            assert!(forms.len() > 12, "each of these is an error");
            check(&forms, words, &url);
        }
    }
}

/// What a sick peer says to a login of which it knows these bytes.
type Says = fn(&[u8], &str) -> Vec<u8>;

const SAYINGS: [Says; 7] = [
    // Itself.
    |heard, _| heard.to_vec(),
    |_, secret| format!("-ERR unknown command `AUTH`, with args beginning with: '{secret}', \r\n").into_bytes(),
    |_, secret| format!("-{secret} is wrong\r\n").into_bytes(),
    |_, secret| format!("-ERR no {secret}\r\n").into_bytes(),
    |_, secret| format!("+OK\r\n+OK\r\n-ERR SELECT: what is {secret}?\r\n").into_bytes(),
    |_, secret| format!("500 {secret} is unknown\r\n").into_bytes(),
    |_, secret| format!("*2\r\n$4\r\nAUTH\r\n${}\r\n{secret}\r\n", secret.len()).into_bytes(),
];

#[test]
fn a_peer_that_quotes_the_login_is_not_quoted() {
    for says in SAYINGS {
        for (secret, words) in SECRETS {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let port = listener.local_addr().unwrap().port();
            let peer = std::thread::spawn(move || {
                let (mut connection, _) = listener.accept().unwrap();
                let mut buffer = [0; 4_096];
                let heard = connection.read(&mut buffer).unwrap();
                connection.write_all(&says(&buffer[..heard], secret)).unwrap();
            });
            let url = format!("redis://user:{}@127.0.0.1:{port}/3", encoded(secret));
            let client =
                client(Options { url: Some(url), timeout: Duration::from_secs(5), ..Options::default() }).unwrap();
            let limiter = client.limiter("n", Policy::parse("5/1h").unwrap()).unwrap();
            let result = limiter.consume(b"k", 1).unwrap().run();
            assert!(result.is_err());
            check(&forms_of(result), words, "a peer");
            peer.join().unwrap();
        }
    }
}
