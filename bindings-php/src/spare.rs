//! The list of rules of a decision that is dropped, kept for the next decision of the request: most are dropped before the
//! next one is made, and nearly all policies have one rule.

use std::cell::Cell;
use std::sync::OnceLock;

use ext_php_rs::ffi::{
    IS_ARRAY_EX, IS_OBJECT_EX, IS_UNDEF, std_object_handlers, zend_object, zend_object_handlers, zend_object_std_dtor,
    zend_refcounted_h,
};
use ext_php_rs::types::{ZendHashTable, Zval};

use crate::property;

/// Of a counter, as Zend/zend_types.h has them: `IS_OBJ_WEAKLY_REFERENCED`, and what is above `GC_INFO_SHIFT`, by which the
/// collector of cycles notes what it may free.
const NOTED: u32 = 1 << 7 | u32::MAX << 10;

/// A list of one object, which nobody else has.
pub struct Spare {
    list: *mut ZendHashTable,
    object: *mut zend_object,
}

impl Spare {
    /// Its object, whose properties may be written anew.
    pub fn object(&self) -> *mut zend_object {
        self.object
    }

    /// The list, for whoever owns it from now on.
    pub fn into_list(self) -> *mut ZendHashTable {
        self.list
    }
}

thread_local! {
    static KEPT: Cell<Option<Spare>> = const { Cell::new(None) };
    /// Only during a request: what is kept is of its memory.
    static OPEN: Cell<bool> = const { Cell::new(false) };
}

/// Begins to keep, with a request.
pub fn open() {
    // What an earlier request left was its memory's.
    KEPT.set(None);
    OPEN.set(true);
}

/// Ends it, with the request.
pub fn close() {
    OPEN.set(false);
    drop(take().map(|spare| property::array(spare.into_list())));
}

/// What is kept, if anything is.
pub fn take() -> Option<Spare> {
    KEPT.take()
}

static HANDLERS: OnceLock<zend_object_handlers> = OnceLock::new();

/// The handlers of decisions: the engine's own, but for `free`.
pub fn handlers() -> &'static zend_object_handlers {
    // SAFETY: the engine fills them before it starts any module, and never changes them.
    HANDLERS.get_or_init(|| zend_object_handlers { free_obj: Some(free), ..unsafe { std_object_handlers } })
}

/// Frees a decision, and keeps its list of rules if nobody else has it.
unsafe extern "C" fn free(decision: *mut zend_object) {
    // SAFETY: the engine gives an object of ours that nobody has any more, with a slot per property of its class, the last
    // of which is the list. What is kept is taken out of its slot, with its count of one.
    unsafe {
        let count = usize::try_from((*(*decision).ce).default_properties_count).unwrap_or_default();
        let last = (*decision).properties_table.as_mut_ptr().add(count.saturating_sub(1));
        if let Some(spare) = lonely(&*last).filter(|_| OPEN.get()) {
            (*last).u1.type_info = IS_UNDEF;
            if let Some(other) = KEPT.replace(Some(spare)) {
                drop(property::array(other.into_list()));
            }
        }
        zend_object_std_dtor(decision);
    }
}

/// The list in a slot if it has one object, and nobody else has the list or the object.
///
/// # Safety
/// The value must be live.
unsafe fn lonely(value: &Zval) -> Option<Spare> {
    // SAFETY: the types say which fields of the unions they are, and what a live value refers to is alive; a list that the
    // collector of cycles has destroyed already is noted by it.
    unsafe {
        if value.u1.type_info != IS_ARRAY_EX || !is_alone(&(*value.value.arr).gc) {
            return None;
        }
        let list = value.value.arr;
        let first = (*list).get_index(0).filter(|first| first.u1.type_info == IS_OBJECT_EX)?;
        let object = first.value.obj;
        let is_lonely = (*list).len() == 1 && is_alone(&(*object).gc) && (*object).properties.is_null();
        is_lonely.then_some(Spare { list, object })
    }
}

/// Whether a counted value has one owner, and nobody else has noted it.
unsafe fn is_alone(counter: &zend_refcounted_h) -> bool {
    // SAFETY: the union has this one field.
    counter.refcount == 1 && unsafe { counter.u.type_info } & NOTED == 0
}
