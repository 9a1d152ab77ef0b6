//! Classes of plain PHP objects: readonly properties, a private constructor and nothing of Rust within, so they can be
//! cloned, serialized, compared and dumped.

use std::sync::atomic::{AtomicPtr, Ordering};

use ext_php_rs::args::ArgInfoTables;
use ext_php_rs::boxed::ZBox;
use ext_php_rs::builders::{ClassBuilder, FunctionBuilder};
use ext_php_rs::error::Result;
use ext_php_rs::exception::PhpException;
use ext_php_rs::flags::{ClassFlags, MethodFlags};
use ext_php_rs::types::{ZendHashTable, ZendObject, Zval};
use ext_php_rs::zend::{ClassEntry, ExecuteData, ce};

use crate::property::{self, Property};

/// What the engine calls when it has made the class.
type Keep = fn(&'static mut ClassEntry, ArgInfoTables);

/// One such class.
pub struct Record {
    name: &'static str,
    properties: &'static [Property],
    keep: Keep,
    class: AtomicPtr<ClassEntry>,
}

impl Record {
    /// A class that is not registered yet; `keep` calls [`Record::keep`] of this one.
    pub const fn new(name: &'static str, properties: &'static [Property], keep: Keep) -> Record {
        Record { name, properties, keep, class: AtomicPtr::new(std::ptr::null_mut()) }
    }

    /// Takes what the engine made.
    pub fn keep(&self, class: &'static mut ClassEntry, arguments: ArgInfoTables) {
        self.class.store(class, Ordering::Release);
        // The engine reads the tables for as long as the process lives.
        std::mem::forget(arguments);
    }

    /// Registers the class.
    pub fn register(&self) -> Result<()> {
        ClassBuilder::new(self.name)
            .flags(ClassFlags::Final | ClassFlags::NoDynamicProperties)
            .method(FunctionBuilder::new("__construct", constructor), MethodFlags::Private)
            .registration(self.keep)
            .register()?;
        property::declare_public(self.class.load(Ordering::Acquire), self.properties);
        Ok(())
    }

    /// A PHP value with a new object of these properties.
    pub fn value<const N: usize>(&self, values: [Zval; N]) -> Zval {
        property::object(self.object(values))
    }

    fn object<const N: usize>(&self, values: [Zval; N]) -> ZBox<ZendObject> {
        // SAFETY: stored at start-up and alive for as long as the module; a start-up that failed leaves no PHP to call
        // this.
        let class = unsafe { self.class.load(Ordering::Acquire).as_ref() };
        let mut object = ZendObject::new(class.unwrap_or_else(ce::stdclass));
        property::fill(&mut object, 0, values);
        object
    }
}

/// Private: only calls make these objects.
extern "C" fn constructor(_frame: &mut ExecuteData, _answer: &mut Zval) {
    PhpException::new("only calls of Quotalock make objects of this class".into(), 0, ce::error()).throw();
}

/// A PHP list.
pub fn list<T>(items: &[T], shown: impl Fn(&T) -> Zval) -> Zval {
    let mut table = ZendHashTable::with_capacity(u32::try_from(items.len()).unwrap_or_default());
    for each in items {
        // Cannot fail: the table is ours, and none of so few elements is full.
        let _ = table.push(shown(each));
    }
    let mut list = Zval::new();
    list.set_hashtable(table);
    list
}
