//! The vectors of stocks.

use std::collections::BTreeMap;

use quotalock::testing::{self, TestValueKind};
use quotalock::{Client, Opening, Result, Stock, StockOptions, StockReservation, convert};
use quotalock_tests::{client, fresh_prefix, spec};
use serde_json::{Value, json};

use super::assert_error;

/// What the steps of one case share.
struct Case {
    client: Client,
    prefix: String,
    stocks: BTreeMap<String, Stock>,
    /// The ids of reservations by label, with their stocks.
    reservations: BTreeMap<String, (String, String)>,
}

/// A case of stocks and steps.
pub fn steps(case: &Value, store: &str, url: &str) {
    let id = spec::id(case);
    let prefix = fresh_prefix("stock");
    let client = client(url, &prefix);
    let make = |(label, spec): (&String, &Value)| {
        let options = StockOptions { scope: spec::bytes(spec, "scope"), ..StockOptions::default() };
        (label.clone(), client.stock(&spec::bytes(spec, "name").unwrap(), options).unwrap())
    };
    let stocks = case["stocks"].as_object().unwrap().iter().map(make).collect();
    let mut all = Case { client, prefix, stocks, reservations: BTreeMap::new() };
    for (i, step) in case["steps"].as_array().unwrap().iter().enumerate() {
        let place = format!("{id} step {i} on {store}");
        testing::set_time(&all.client, Some(step["at"].as_u64().unwrap())).unwrap();
        match (all.perform(step), &step["error"]) {
            (Err(error), expected) if !expected.is_null() => assert_error(&place, expected, &error),
            (Err(error), _) => panic!("{place}: {error}"),
            (Ok(found), expected) if !expected.is_null() => panic!("{place}: did not fail with {expected}: {found}"),
            (Ok(found), _) => assert_eq!(found, step["expect"], "{place}"),
        }
    }
}

fn list(spec: &Value, name: &str) -> Vec<Vec<u8>> {
    spec::list_of_bytes(spec, name).unwrap_or_default()
}

fn texts(bytes: &[Vec<u8>]) -> Vec<String> {
    bytes.iter().map(|each| String::from_utf8(each.clone()).unwrap()).collect()
}

impl Case {
    fn stock(&self, spec: &Value) -> &Stock {
        spec["stock"].as_str().map_or_else(|| self.stocks.values().next().unwrap(), |label| &self.stocks[label])
    }

    fn label(&self, spec: &Value) -> String {
        spec["stock"].as_str().map_or_else(|| self.stocks.keys().next().unwrap().clone(), str::to_owned)
    }

    /// Performs a step: what it answers, in the form of `expect`; null if nothing.
    fn perform(&mut self, step: &Value) -> Result<Value> {
        let number = |name: &str| step[name].as_u64();
        let request = step["request"].as_str().map(str::as_bytes);
        let (label, stock) = (self.label(step), self.stock(step).clone());
        Ok(match step["op"].as_str().unwrap() {
            "open" => {
                let opening =
                    Opening { per_buyer: number("per_buyer"), ends: number("ends"), prizes: list(step, "prizes") };
                json!({"opened": stock.open(number("quantity").unwrap(), opening)?.run()?})
            }
            "close" => json!({"closed": stock.close()?.run()?}),
            "restock" => {
                let quantity = stock.restock(number("quantity").unwrap(), &list(step, "prizes"), request)?.run()?;
                json!({"quantity": quantity})
            }
            "take" => {
                let (quantity, hold) = (number("quantity").unwrap(), number("hold").unwrap());
                let taken = stock.take(&spec::bytes(step, "buyer").unwrap(), quantity, hold, request)?.run()?;
                let wanted = &step["expect"]["reservation"];
                let reservation = taken.reservation.map(|of| self.shown(&label, of, wanted));
                json!({"outcome": taken.outcome.as_str(), "available": taken.available, "reservation": reservation})
            }
            "take_all" => {
                let items = step["items"].as_array().unwrap();
                let asked: Vec<(&Stock, u64)> =
                    items.iter().map(|item| (self.stock(item), item["quantity"].as_u64().unwrap())).collect();
                let buyer = spec::bytes(step, "buyer").unwrap();
                let taken = self.client.take_all(&asked, &buyer, number("hold").unwrap(), request)?.run()?;
                let wanted = &step["expect"]["reservations"];
                let mut reservations = Vec::new();
                for (at, of) in taken.reservations.into_iter().enumerate() {
                    reservations.push(self.shown(&self.label(&items[at]), of, &wanted[at]));
                }
                let refused = taken.refused.map(|at| items[at]["stock"].clone());
                json!({"outcome": taken.outcome.as_str(), "refused": refused, "available": taken.available,
                    "reservations": reservations})
            }
            "confirm" | "cancel" | "extend" => json!({"done": self.settle(step)?}),
            "status" => {
                let status = stock.status().run()?;
                json!({"phase": status.phase.as_str(), "quantity": status.quantity, "available": status.available,
                    "held": status.held, "sold": status.sold, "buyers": status.buyers, "per_buyer": status.per_buyer,
                    "ends": status.ends})
            }
            "reservations" => {
                let (mut pages, mut cursor) = (Vec::new(), None);
                loop {
                    let page = stock.reservations(cursor.as_deref(), number("count").unwrap())?.run()?;
                    let shown = page.reservations.into_iter().map(|of| self.shown(&label, of, &Value::Null));
                    pages.push(shown.collect::<Vec<_>>());
                    cursor = page.next;
                    if cursor.is_none() {
                        break json!({"pages": pages});
                    }
                }
            }
            "ledger" => {
                let all = stock.ledger(None, 1_000)?.run()?;
                let after = number("after").map(|number| all.iter().find(|entry| entry.number == number).unwrap());
                let entries =
                    stock.ledger(after.map(|entry| entry.id.as_str()), number("count").unwrap_or(100))?.run()?;
                let shown = entries.into_iter().map(|entry| {
                    let known = entry.reservation.map(|id| self.known(&id));
                    let buyer = entry.buyer.map(|buyer| String::from_utf8(buyer).unwrap());
                    json!({"number": entry.number, "kind": entry.kind.as_str(), "reservation": known, "buyer": buyer,
                        "quantity": entry.quantity, "time": entry.time, "available": entry.available,
                        "held": entry.held, "sold": entry.sold, "prizes": texts(&entry.prizes)})
                });
                json!({"entries": shown.collect::<Vec<_>>()})
            }
            "redis_keys" => {
                let stem = format!("{}:", self.prefix);
                let ours = |key: &Vec<u8>| key.strip_prefix(stem.as_bytes()).unwrap().to_vec();
                json!({"redis_keys": texts(&stock.redis_keys().iter().map(ours).collect::<Vec<_>>())})
            }
            "plant" => {
                let kind = TestValueKind::parse(step["type"].as_str().unwrap_or("string"))?;
                let value = spec::bytes(step, "value").unwrap_or_else(|| b"x".to_vec());
                testing::put(&self.client, self.key(step), kind, &value).run()?;
                Value::Null
            }
            "persist" => {
                testing::put(&self.client, self.key(step), TestValueKind::Persist, b"").run()?;
                Value::Null
            }
            "raw" => match testing::get(&self.client, self.key(step)).run()? {
                Some(stored) => json!({"exists": true, "ttl": stored.ttl_ms.is_some()}),
                None => json!({"exists": false, "ttl": false}),
            },
            other => panic!("unknown op {other}"),
        })
    }

    fn key(&self, step: &Value) -> &[u8] {
        &self.stock(step).redis_keys()[step["key"].as_u64().unwrap() as usize]
    }

    fn settle(&self, step: &Value) -> Result<bool> {
        let (op, hold) = (step["op"].as_str().unwrap(), step["hold"].as_u64().unwrap_or(0));
        if let Some(labels) = step["reservations"].as_array() {
            let items: Vec<(&Stock, &str)> = labels
                .iter()
                .map(|label| &self.reservations[label.as_str().unwrap()])
                .map(|(stock, id)| (&self.stocks[stock], id.as_str()))
                .collect();
            return match op {
                "confirm" => self.client.confirm_all(&items),
                "cancel" => self.client.cancel_all(&items),
                _ => self.client.extend_all(&items, hold),
            }?
            .run();
        }
        let (mut stock, mut id) = (self.stock(step), step["id"].as_str().unwrap_or_default());
        if let Some(label) = step["reservation"].as_str() {
            let known = &self.reservations[label];
            id = &known.1;
            if step["stock"].is_null() {
                stock = &self.stocks[&known.0];
            }
        }
        match op {
            "confirm" => stock.confirm(id),
            "cancel" => stock.cancel(id),
            _ => stock.extend(id, hold),
        }?
        .run()
    }

    /// A reservation as the vectors write it; one that is not known gets the label that is wanted.
    fn shown(&mut self, stock: &str, of: StockReservation, wanted: &Value) -> Value {
        let label = wanted["reservation"].as_str();
        if let Some(label) = label.filter(|label| !self.reservations.contains_key(*label)) {
            self.reservations.insert(label.to_owned(), (stock.to_owned(), of.id.clone()));
        }
        let mut shown = json!({"reservation": self.known(&of.id), "quantity": of.quantity, "prizes": texts(&of.prizes),
            "until": of.until});
        if wanted["buyer_hex"].is_string() {
            shown["buyer_hex"] = of.buyer.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into();
        } else {
            shown["buyer"] = String::from_utf8_lossy(&of.buyer).into();
        }
        shown
    }

    /// The label of a reservation.
    fn known(&self, id: &str) -> String {
        let mut labels = self.reservations.iter().filter(|(_, (_, known))| known == id).map(|(label, _)| label);
        labels.next().unwrap_or_else(|| panic!("nobody took {id}")).clone()
    }
}

/// A call that fails before anything is asked.
pub fn error(case: &Value, url: &str) {
    let id = spec::id(case);
    let error = bad_call(case["op"].as_str().unwrap(), &case["args"], url).expect_err(&id);
    assert_error(&id, case, &error);
}

fn bad_call(op: &str, args: &Value, url: &str) -> Result<()> {
    let number = |name: &str, default: i64| convert::unsigned(name, args[name].as_i64().unwrap_or(default));
    let maybe = |name: &str| args[name].as_i64().map(|given| convert::unsigned(name, given)).transpose();
    let text = |name: &str, default: &str| args[name].as_str().unwrap_or(default).to_owned();
    let client = client(url, &fresh_prefix("stock"));
    let make = |name: &str| {
        let options = StockOptions {
            scope: spec::bytes(args, "scope"),
            ledger_cap: number("ledger_cap", 100_000)?,
            retention: number("retention", 2_592_000_000_000)?,
        };
        client.stock(name.as_bytes(), options)
    };
    let stock = make(&text("name", "stock"))?;
    let (quantity, hold, count) = (number("quantity", 1)?, number("hold", 1_000_000)?, number("count", 10)?);
    let (prizes, request) = (list(args, "prizes"), args["request"].as_str().map(str::as_bytes));
    let (buyer, id) = (text("buyer", "buyer"), text("id", ""));
    match op {
        "open" => {
            let opening = Opening { per_buyer: maybe("per_buyer")?, ends: maybe("ends")?, prizes };
            stock.open(quantity, opening).map(drop)
        }
        "restock" => stock.restock(quantity, &prizes, request).map(drop),
        "take" => stock.take(buyer.as_bytes(), quantity, hold, request).map(drop),
        "take_all" => {
            let items: Vec<(String, u64)> = serde_json::from_value(args["items"].clone()).unwrap();
            let stocks = items.iter().map(|(name, n)| Ok((make(name)?, *n))).collect::<Result<Vec<_>>>()?;
            let items: Vec<(&Stock, u64)> = stocks.iter().map(|(stock, n)| (stock, *n)).collect();
            client.take_all(&items, buyer.as_bytes(), hold, request).map(drop)
        }
        "confirm" => stock.confirm(&id).map(drop),
        "cancel" => stock.cancel(&id).map(drop),
        "extend" => stock.extend(&id, hold).map(drop),
        "confirm_all" => {
            let ids: Vec<String> = serde_json::from_value(args["ids"].clone()).unwrap();
            client.confirm_all(&ids.iter().map(|id| (&stock, id.as_str())).collect::<Vec<_>>()).map(drop)
        }
        "reservations" => stock.reservations(args["cursor"].as_str(), count).map(drop),
        "ledger" => stock.ledger(args["after"].as_str(), count).map(drop),
        _ => Ok(()),
    }
}
