//! Stocks on a server without memory.

use quotalock::{Code, Opening, Stock, StockOptions, StockPhase, StockReservation, TakeOutcome, testing};
use quotalock_tests::own_server::OwnServer;
use quotalock_tests::{client, fresh_prefix};

const HOLD: u64 = 600_000_000;

fn take(stock: &Stock, buyer: &str) -> StockReservation {
    stock.take(buyer.as_bytes(), 1, HOLD, None).unwrap().run().unwrap().reservation.unwrap()
}

#[test]
fn a_full_server_refuses_takes_but_lets_reservations_be_settled() {
    for server in OwnServer::each() {
        let (name, client) = (server.name(), client(server.url(), &fresh_prefix("full")));
        // It stands still, so no hold ends before it is to.
        testing::advance(&client, 0).unwrap();
        let stock = client.stock(b"sale", StockOptions::default()).unwrap();
        stock.open(10, Opening::default()).unwrap().run().unwrap();
        let held: Vec<_> = (0..4).map(|n| take(&stock, &format!("b{n}"))).collect();
        // Its buyer has another hold: there is a count to be written.
        let short = stock.take(b"b3", 1, 20_000, None).unwrap().run().unwrap();
        assert_eq!(short.outcome, TakeOutcome::Held);
        server.command(&["CONFIG", "SET", "maxmemory", "1"]);
        let refused = stock.take(b"z", 1, HOLD, None).unwrap().run();
        let other = client.stock(b"other", StockOptions::default()).unwrap();
        let not_opened = other.open(10, Opening::default()).unwrap().run();
        let confirmed = stock.confirm(&held[0].id).unwrap().run();
        let cancelled = stock.cancel(&held[1].id).unwrap().run();
        testing::advance(&client, 30_000).unwrap();
        let status = stock.status().run();
        let closed = stock.close().unwrap().run();
        server.command(&["CONFIG", "SET", "maxmemory", "0"]);
        assert_eq!(refused.unwrap_err().code(), Code::Unavailable, "{name}");
        assert_eq!(not_opened.unwrap_err().code(), Code::Unavailable, "{name}");
        assert_eq!(other.status().run().unwrap().phase, StockPhase::NotOpen, "{name}");
        assert!(confirmed.unwrap() && cancelled.unwrap() && closed.unwrap(), "{name}");
        let status = status.unwrap();
        assert_eq!((status.available, status.held, status.sold), (7, 2, 1), "{name}");
        let numbers: Vec<u64> = stock.ledger(None, 100).unwrap().run().unwrap().iter().map(|e| e.number).collect();
        assert_eq!(numbers, (1..=10).collect::<Vec<_>>(), "{name}");
    }
}
