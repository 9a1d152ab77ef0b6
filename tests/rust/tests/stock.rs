//! Stocks on every store, as a shop uses them.

use quotalock::{
    Client, Code, LedgerKind, Opening, Stock, StockOptions, StockPhase, StockReservation, TakeOutcome, testing,
};
use quotalock_tests::{client, fresh_prefix, stores};

const START: u64 = 1_700_000_000_000_000;
const SECOND: u64 = 1_000_000;
const HOLD: u64 = 600 * SECOND;

/// A sale on one store, in a time of its own.
struct Shop {
    client: Client,
    stock: Stock,
}

impl Shop {
    fn at(&self, time: u64) -> &Stock {
        testing::set_time(&self.client, Some(time)).unwrap();
        &self.stock
    }

    fn numbers(&self) -> (u64, u64, u64, u64) {
        let status = self.stock.status().run().unwrap();
        assert_eq!(status.available + status.held + status.sold, status.quantity);
        (status.available, status.held, status.sold, status.buyers)
    }

    fn kinds(&self) -> Vec<LedgerKind> {
        let entries = self.stock.ledger(None, 1_000).unwrap().run().unwrap();
        for (at, entry) in entries.iter().enumerate() {
            assert_eq!(entry.number, at as u64 + 1);
        }
        entries.into_iter().map(|entry| entry.kind).collect()
    }
}

fn in_every_shop(test: impl Fn(&Shop)) {
    for (name, url) in stores() {
        println!("{name}");
        let client = client(&url, &fresh_prefix("stock"));
        let stock = client.stock(b"sale:42", StockOptions::default()).unwrap();
        let shop = Shop { client, stock };
        shop.at(START);
        test(&shop);
    }
}

fn take(stock: &Stock, buyer: &str, quantity: u64) -> Result<StockReservation, TakeOutcome> {
    let taken = stock.take(buyer.as_bytes(), quantity, HOLD, None).unwrap().run().unwrap();
    taken.reservation.ok_or(taken.outcome)
}

fn limited(per_buyer: u64) -> Opening {
    Opening { per_buyer: Some(per_buyer), ..Opening::default() }
}

#[test]
fn units_are_held_sold_and_returned() {
    in_every_shop(|shop| {
        let stock = shop.at(START);
        assert_eq!(stock.status().run().unwrap().phase, StockPhase::NotOpen);
        assert_eq!(take(stock, "a", 1), Err(TakeOutcome::NotOpen));
        assert!(stock.open(5, limited(3)).unwrap().run().unwrap());
        assert!(!stock.open(5, limited(3)).unwrap().run().unwrap());
        let error = stock.open(6, limited(3)).unwrap().run().unwrap_err();
        assert_eq!(error.code(), Code::InvalidArgument);
        assert!(error.message().contains("quantity 5, per_buyer 3, ends none"), "{error}");

        let first = take(stock, "a", 2).unwrap();
        assert_eq!((first.quantity, first.until, first.buyer.as_slice()), (2, START + HOLD, b"a".as_slice()));
        assert_eq!(take(stock, "a", 2), Err(TakeOutcome::BuyerLimit));
        let second = take(stock, "a", 1).unwrap();
        let third = take(stock, "b", 2).unwrap();
        assert_eq!(take(stock, "c", 1), Err(TakeOutcome::SoldOut));
        assert_eq!(shop.numbers(), (0, 5, 0, 2));
        assert!(stock.confirm(&first.id).unwrap().run().unwrap());
        assert!(stock.confirm(&first.id).unwrap().run().unwrap(), "again");
        assert!(!stock.cancel(&first.id).unwrap().run().unwrap());
        assert!(stock.cancel(&second.id).unwrap().run().unwrap());
        assert!(stock.cancel(&second.id).unwrap().run().unwrap(), "again");
        assert!(!stock.confirm(&second.id).unwrap().run().unwrap());
        assert_eq!(shop.numbers(), (1, 2, 2, 2));
        let listed = stock.reservations(None, 10).unwrap().run().unwrap();
        assert_eq!((listed.reservations, listed.next), (vec![third.clone()], None));

        let stock = shop.at(START + HOLD - 1);
        assert!(stock.extend(&third.id, 2 * SECOND).unwrap().run().unwrap());
        let stock = shop.at(START + HOLD);
        assert_eq!(shop.numbers(), (1, 2, 2, 2));
        let stock = {
            let _ = stock;
            shop.at(START + HOLD + 2 * SECOND - 1)
        };
        assert!(!stock.confirm(&third.id).unwrap().run().unwrap(), "its hold is over");
        assert_eq!(shop.numbers(), (3, 0, 2, 1));
        assert_eq!(stock.restock(4, &[], None).unwrap().run().unwrap(), 9);
        assert_eq!(shop.numbers(), (7, 0, 2, 1));
        use LedgerKind::{Cancelled, Confirmed, Expired, Extended, Held, Opened, Restocked};
        let kinds = [Opened, Held, Held, Held, Confirmed, Cancelled, Extended, Expired, Restocked];
        assert_eq!(shop.kinds(), kinds);
    });
}
