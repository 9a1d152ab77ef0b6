//! `Quotalock\Reservation`.

use std::rc::Rc;

use ext_php_rs::boxed::ZBox;
use ext_php_rs::prelude::*;
use ext_php_rs::types::{ZendClassObject, Zval};
use quotalock::{Decision, Op};

use crate::advice;
use crate::argument::Int;
use crate::call::{self, Stop};
use crate::exception::Outcome;
use crate::property::{self, Property, Type};
use crate::record::Recorded;
use crate::registry::Handle;
use crate::unkept;

/// The properties of the class.
pub const PROPERTIES: &[Property] =
    &[("key", Type::Text), ("id", Type::Text), ("decision", Type::MaybeObject("Quotalock\\Decision"))];

/// The slot of the property `decision`.
const DECISION: usize = 2;

/// A reservation; it works for as long as the client of its limiter is open.
#[php_class]
#[php(name = "Quotalock\\Reservation")]
pub struct Reservation {
    reservation: quotalock::Reservation,
    handle: Rc<Handle>,
}

impl Reservation {
    /// The PHP object of a reservation that nobody decided here.
    pub fn object(reservation: quotalock::Reservation, handle: Rc<Handle>) -> ZBox<ZendClassObject<Reservation>> {
        let properties = [property::text(reservation.key()), property::text(reservation.id()), Zval::null()];
        let mut object = ZendClassObject::new(Reservation { reservation, handle });
        property::fill(&mut object.std, 0, properties);
        object
    }

    /// Makes the call that reserves `key`, puts its decision into the object, and tells of it.
    pub fn decided(
        object: ZBox<ZendClassObject<Reservation>>,
        op: Op<Decision>,
        key: &Zval,
    ) -> Outcome<ZBox<ZendClassObject<Reservation>>> {
        // Out of Rust's hands while the call runs: if that is left by a jump, PHP frees the object with the request.
        let object = object.into_raw();
        let decision = advice::after(call::run(op));
        // SAFETY: it comes from a box, which was given up for this one, and nobody else knows the object yet.
        let mut object = unsafe { ZBox::from_raw(object) };
        let decision = decision?;
        let (allowed, shown) = (decision.allowed, decision.shown());
        drop(decision);
        property::fill(&mut object.std, DECISION, [shown.shallow_clone()]);
        // A reservation is of something: it was charged or denied.
        if let Some(hook) = object.handle.on_decision() {
            hook.tell(shown, key).map_err(Stop::follow)?;
        }
        if allowed && unkept::is_returned() {
            return unkept::warn(object.reservation.unkept(), object);
        }
        Ok(object)
    }
}

#[php_impl]
impl Reservation {
    /// Puts the `actual` amount in the place of the estimate; false if the reservation had ended before.
    pub fn settle(&self, actual: Int) -> Outcome<bool> {
        self.handle.check()?;
        let op = self.reservation.settle(actual.unsigned(1, "actual")?)?;
        call::run(op)
    }

    /// Gives the whole estimate back; false if the reservation had ended before.
    pub fn cancel(&self) -> Outcome<bool> {
        self.handle.check()?;
        let op = self.reservation.cancel()?;
        call::run(op)
    }
}
