use super::{By, ClientPlace, Parser};
use crate::simulate::pattern::Pattern;

const COMBINED: &str = r#"192.0.2.1 - jo smith [17/May/2015:10:05:03 +0000] "GET /a/b?c=d HTTP/1.1" 200 512 "http://ref/\"x\"" "Agent 1.0""#;
const TIME: u64 = 1_431_857_103_000_000;

fn read(by: &str, pattern: Option<&str>, line: &str) -> Option<(u64, Option<String>)> {
    let by = By::parse(by).unwrap();
    let pattern = pattern.map(|text| Pattern::parse(text, &by).unwrap());
    let mut parser = Parser::new(by, pattern);
    let parsed = parser.parse(line.as_bytes())?;
    let key = match parsed.key {
        ClientPlace::Line(range) => Some(line.as_bytes()[range].to_vec()),
        ClientPlace::Decoded => Some(parser.decoded.clone()),
        ClientPlace::Nowhere => None,
    };
    Some((parsed.time, key.map(|key| String::from_utf8(key).unwrap())))
}

fn key(by: &str, line: &str) -> Option<String> {
    let (time, key) = read(by, None, line).unwrap();
    assert_eq!(time, TIME);
    key
}

#[test]
fn every_field_of_a_combined_line() {
    let fields = [
        ("ip", "192.0.2.1"),
        ("user", "jo smith"),
        ("path", "/a/b"),
        ("field:method", "GET"),
        ("field:status", "200"),
        ("field:bytes", "512"),
        ("field:referer", r#"http://ref/\"x\""#),
        ("field:agent", "Agent 1.0"),
        ("field:request", "GET /a/b?c=d HTTP/1.1"),
    ];
    for (by, wanted) in fields {
        assert_eq!(key(by, COMBINED).as_deref(), Some(wanted), "{by}");
    }
    assert_eq!(key("field:cookie", COMBINED), None);
}

#[test]
fn odd_lines_that_can_be_read() {
    let line = |head: &str, request: &str| format!("{head} [17/May/2015:10:05:03 +0000] \"{request}\" 200 -");
    assert_eq!(key("user", &line("::1 - -", "GET / HTTP/1.1")), None);
    assert_eq!(key("user", &line("::1 - [x]y", "GET / HTTP/1.1")).as_deref(), Some("[x]y"));
    assert_eq!(key("ip", &line("2001:db8::1 - -", "-")).as_deref(), Some("2001:db8::1"));
    assert_eq!(key("ip", &line("192.0.2.1:5000 - -", "-")).as_deref(), Some("192.0.2.1"));
    assert_eq!(key("path", &line("a - -", "-")), None);
    assert_eq!(key("path", &line("a - -", r"\x16\x03\x01")), None);
    assert_eq!(key("path", &line("a - -", "GET /with space HTTP/1.0")).as_deref(), Some("/with space"));
    assert_eq!(key("path", &line("a - -", "GET http://h:80/x?y HTTP/1.1")).as_deref(), Some("/x"));
    assert_eq!(key("path", &line("a - -", r#"GET /q\"q HTTP/1.1"#)).as_deref(), Some(r#"/q\"q"#));
    assert_eq!(key("path", "a - - [17/May/2015:10:05:03 +0000]"), None);
}

#[test]
fn what_is_no_line_of_a_log() {
    for line in [
        "",
        " ",
        "a",
        "a - -",
        "a - - [",
        "a - - []",
        " - - [17/May/2015:10:05:03 +0000]",
        "{",
        "{}",
        "[]",
        "a [[[[",
        "\"",
        "\u{feff}",
    ] {
        assert_eq!(read("ip", None, line), None, "{line}");
    }
}

#[test]
fn json_of_several_servers() {
    let nginx = r#"{"time_local":"17/May/2015:10:05:03 +0000","remote_addr":"192.0.2.1","request":"GET /a?b HTTP/1.1","n":[{"x":"}"}],"remote_user":""}"#;
    let caddy = r#"{"level":"info","ts":1431857103.0,"request":{"remote_ip":"192.0.2.1","uri":"/a?b","headers":{"A":["b"]}},"user_id":"jo"}"#;
    let traefik =
        r#"{ "ClientAddr" : "192.0.2.1:5000", "RequestPath" : "/a", "time" : "2015-05-17T10:05:03Z", "user_id" : 42 }"#;
    for line in [nginx, caddy, traefik] {
        assert_eq!(key("ip", line).as_deref(), Some("192.0.2.1"), "{line}");
        assert_eq!(key("path", line).as_deref(), Some("/a"), "{line}");
    }
    assert_eq!(key("user", nginx), None);
    assert_eq!(key("user", traefik).as_deref(), Some("42"));
    assert_eq!(key("field:request.uri", caddy).as_deref(), Some("/a?b"));
    assert_eq!(key("field:level", caddy).as_deref(), Some("info"));
    let escaped = r#"{"ts":1431857103,"user":"caf\u00e9 \"\/\ud83d\ude00\n\ud800"}"#;
    assert_eq!(key("user", escaped).as_deref(), Some("café \"/😀\n\u{fffd}"));
    assert_eq!(key("user", r#"{"user":null,"ts":1431857103}"#), None);
    for broken in [
        r#"{"ts":1431857103,"ip":"a""#,
        r#"{"ts":"soon","ip":"a"}"#,
        r#"{"ip":"a"}"#,
        r#"{"ts":1431857103 "ip":"a"}"#,
        r#"["ts"]"#,
        r#"{"ts"}"#,
    ] {
        assert_eq!(read("ip", None, broken), None, "{broken}");
    }
}

#[test]
fn patterns() {
    let nginx = r#"$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "${http_user_agent}""#;
    assert_eq!(read("ip", Some(nginx), COMBINED), Some((TIME, Some("192.0.2.1".into()))));
    assert_eq!(read("user", Some(nginx), COMBINED), Some((TIME, Some("jo smith".into()))));
    assert_eq!(read("path", Some(nginx), COMBINED), Some((TIME, Some("/a/b".into()))));
    assert_eq!(read("field:http_user_agent", Some(nginx), COMBINED), Some((TIME, Some("Agent 1.0".into()))));
    let short = "$msec|$http_x_api_key";
    assert_eq!(read("field:http_x_api_key", Some(short), "1431857103.000|k1"), Some((TIME, Some("k1".into()))));
    assert_eq!(read("field:http_x_api_key", Some(short), "1431857103.000|-"), Some((TIME, None)));
    assert_eq!(read("field:http_x_api_key", Some(short), "1431857103.000"), None);
    let regex = r"^(?<time>\S+) (?P<ip>\S+)( user=(?<user>\S+))?";
    assert_eq!(read("ip", Some(regex), "2015-05-17T10:05:03Z 192.0.2.1"), Some((TIME, Some("192.0.2.1".into()))));
    assert_eq!(read("user", Some(regex), "2015-05-17T10:05:03Z 192.0.2.1"), Some((TIME, None)));
    assert_eq!(read("user", Some(regex), "2015-05-17T10:05:03Z a user=jo"), Some((TIME, Some("jo".into()))));
}

#[test]
fn patterns_that_cannot_be() {
    let told = |text: &str| Pattern::parse(text, &By::Ip).err().unwrap();
    assert!(told("$remote_addr $status").contains("time"));
    assert!(told("$time_local $status").contains("remote_addr"));
    assert!(told("$time_local$remote_addr").contains("between"));
    assert!(told("no variable").contains("$"));
    assert!(told("(?<time>x").contains("regular expression"));
    assert!(told("(?<ip>.)").contains("time"));
}

/// What a line of each form counts by its address; nothing where that is uncertain.
#[test]
fn the_client_in_logs_of_many_servers() {
    const REQUEST: &str = "[17/May/2015:10:05:03 +0000] \"GET / HTTP/1.1\" 200 5";
    let known = [
        "192.0.2.1 - - ",
        "192.0.2.1 - jo smith ",
        // vhost_combined, %v and %v:%p; IPv6; a virtual host that is an address; a client by its name.
        "www.example.com:443 192.0.2.1 - - ",
        "www.example.com 192.0.2.1 - jo ",
        "203.0.113.80:80 192.0.2.1 - - ",
        "default:80 192.0.2.1 - jo smith ",
        // lighttpd: %h %V %u; %h %v %l %u.
        "192.0.2.1 www.example.com - ",
        "192.0.2.1 www.example.com - jo ",
        // syslog, old and new, as rsyslog, nginx and journalctl write it.
        "May 17 10:05:03 web nginx: 192.0.2.1 - - ",
        "<190>May  7 10:05:03 web nginx[77]: 192.0.2.1 - - ",
        "<190>May 17 10:05:03 nginx: www.example.com:80 192.0.2.1 - - ",
        "<190>1 2015-05-17T10:05:03.25+00:00 web nginx 77 - - 192.0.2.1 - - ",
        "<190>1 2015-05-17T10:05:03Z web nginx 77 id [a b=\"c\"] 192.0.2.1 - - ",
        "2015-05-17T10:05:03+0000 web nginx[77]: 192.0.2.1 - - ",
        "2015-05-17T10:05:03.123456+02:00 web haproxy[7]: 192.0.2.1:5000 ",
    ];
    for head in known {
        assert_eq!(key("ip", &format!("{head}{REQUEST}")).as_deref(), Some("192.0.2.1"), "{head}");
    }
    for (head, user) in [
        ("www.example.com:443 192.0.2.1 - jo smith ", Some("jo smith")),
        ("192.0.2.1 www.example.com - jo ", Some("jo")),
        ("May 17 10:05:03 web nginx: 192.0.2.1 - jo ", Some("jo")),
        ("www.example.com:443 192.0.2.1 - - ", None),
    ] {
        assert_eq!(key("user", &format!("{head}{REQUEST}")).as_deref(), user, "{head}");
    }
    // Which of them is the client?
    for head in [
        "203.0.113.80 192.0.2.1 - - ",
        "192.0.2.1, 10.0.0.1 - - ",
        "www.example.com client.example.net ident jo ",
        "<190>web nginx: 192.0.2.1 - - ",
        "<190>1 web 192.0.2.1 - - ",
    ] {
        assert_eq!(read("ip", None, &format!("{head}{REQUEST}")), None, "{head}");
    }
    assert_eq!(key("ip", &format!("unix: - - {REQUEST}")), None);
    assert_eq!(read("ip", None, "2015-05-17 10:05:03 W3SVC1 192.0.2.80 GET / - 80 - 192.0.2.1 Mozilla 200"), None);
}

#[test]
fn the_client_in_json_of_many_servers() {
    let known = [
        r#"{"ts":1431857103,"request":{"remote_ip":"10.0.0.1","client_ip":"192.0.2.1","host":"www.example.com"}}"#,
        r#"{"ClientAddr":"192.0.2.1:5000","ClientHost":"192.0.2.1","StartUTC":"2015-05-17T10:05:03Z"}"#,
        r#"{"time":"17/May/2015:10:05:03 +0000","host":"192.0.2.1"}"#,
        r#"{"timestamp":1431857103000,"host":"web1","remote_addr":"192.0.2.1"}"#,
        r#"May 17 10:05:03 web nginx: {"time_iso8601":"2015-05-17T12:05:03+02:00","remote_addr":"192.0.2.1"}"#,
        r#"<190>1 2015-05-17T10:05:03Z web nginx 7 - - {"msec":"1431857103.000","remote_addr":"192.0.2.1"}"#,
    ];
    for line in known {
        assert_eq!(key("ip", line).as_deref(), Some("192.0.2.1"), "{line}");
    }
    for line in [r#"{"ts":1431857103,"host":"www.example.com"}"#, r#"{"ts":1431857103,"client":"android 12"}"#] {
        assert_eq!(key("ip", line), None, "{line}");
    }
}
