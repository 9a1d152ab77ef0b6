//! Rust, one call at a time: Quotalock, or a bare socket to which bytes made beforehand are written, and the reply read.
//! No client that writes and reads once per call can do with less, so this is the floor under every language's figures.
//! See serve.py for the protocol.

use std::fs::read_to_string;
use std::io::{BufRead, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use quotalock::{Client, Options, Policy, Result};
use serde_json::{Value, json};

type Call = Box<dyn FnMut(usize) -> bool>;

fn quotalock(setup: &Value) -> Result<Call> {
    let client = Client::new(Options {
        url: Some(format!("redis://127.0.0.1:{}", setup["port"])),
        prefix: text(&setup["prefix"]).into(),
        timeout: Duration::from_secs(5),
        ..Options::default()
    })?;
    let limiter = client.limiter("bench", Policy::parse(text(&setup["policy"]))?)?;
    let keys: Vec<String> = numbers(setup).map(|number| format!("user:{number}")).collect();
    Ok(Box::new(move |call| limiter.consume(keys[call % keys.len()].as_bytes(), 1).unwrap().run().unwrap().allowed))
}

fn bare_socket(setup: &Value) -> Call {
    let mut socket = TcpStream::connect(("127.0.0.1", setup["port"].as_u64().unwrap() as u16)).unwrap();
    socket.set_nodelay(true).unwrap();
    let mut reply = [0; 4096];
    let script = read_to_string(text(&setup["script"])).unwrap();
    socket.write_all(&command(&["SCRIPT", "LOAD", &script])).unwrap();
    let length = socket.read(&mut reply).unwrap();
    let sha = String::from_utf8_lossy(&reply[..length]).split("\r\n").nth(1).unwrap().to_owned();
    let argv: Vec<&str> = setup["argv"].as_array().unwrap().iter().map(text).collect();
    let commands: Vec<Vec<u8>> = numbers(setup)
        .map(|number| format!("{}:limit:bench:{{user:{number}}}", text(&setup["prefix"])))
        .map(|key| command(&[&["EVALSHA", &sha, "1", &key], argv.as_slice()].concat()))
        .collect();
    Box::new(move |call| {
        socket.write_all(&commands[call % commands.len()]).unwrap();
        let length = socket.read(&mut reply).unwrap();
        // Whether it was admitted: a text of numbers, of 8 bytes each, after `$56\r\n`; the fourth and fifth are waits.
        reply[..length].get(5 + 24..5 + 40) == Some(&[0; 16])
    })
}

fn main() {
    let setup: Value = serde_json::from_str(&std::env::args().nth(1).unwrap()).unwrap();
    let (mut call, versions) = match text(&setup["client"]) {
        "quotalock" => (quotalock(&setup).unwrap(), concat!("quotalock ", env!("CARGO_PKG_VERSION"))),
        _ => (bare_socket(&setup), "std::net"),
    };
    println!("{}", json!({ "versions": format!("Rust, {versions}") }));
    for line in std::io::stdin().lock().lines() {
        let (begun, used) = (Instant::now(), cpu_us());
        let stop = begun + Duration::from_secs_f64(line.unwrap().trim().parse().unwrap());
        let (mut took, mut admitted, mut before) = (Vec::with_capacity(1 << 18), 0, begun);
        while before < stop {
            admitted += usize::from(call(took.len()));
            let after = Instant::now();
            took.push((after - before).as_nanos() as f64 / 1000.0);
            before = after;
        }
        let (seconds, used, calls) = (begun.elapsed().as_secs_f64(), cpu_us() - used, took.len());
        took.sort_by(f64::total_cmp);
        let figures = json!({
            "calls": calls, "admitted": admitted, "seconds": seconds, "cpu_us": used,
            "p50_us": took[calls / 2], "p99_us": took[calls * 99 / 100],
        });
        println!("{figures}");
    }
}

fn command(parts: &[&str]) -> Vec<u8> {
    let head = format!("*{}\r\n", parts.len());
    let parts = parts.iter().map(|part| format!("${}\r\n{part}\r\n", part.len()));
    std::iter::once(head).chain(parts).collect::<String>().into_bytes()
}

fn numbers(setup: &Value) -> std::ops::Range<u64> {
    0..setup["keys"].as_u64().unwrap()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

/// The CPU that this thread, the only one, has used.
fn cpu_us() -> f64 {
    let spent = read_to_string("/proc/thread-self/schedstat").unwrap();
    spent.split(' ').next().unwrap().parse::<f64>().unwrap() / 1000.0
}
