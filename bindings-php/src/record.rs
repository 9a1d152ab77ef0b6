//! Classes of plain PHP objects: readonly properties, a private constructor and nothing of Rust within, so they can be
//! cloned, serialized, compared and dumped.

use std::sync::atomic::{AtomicPtr, Ordering};

use ext_php_rs::args::ArgInfoTables;
use ext_php_rs::boxed::ZBox;
use ext_php_rs::builders::{ClassBuilder, FunctionBuilder};
use ext_php_rs::convert::IntoZval;
use ext_php_rs::error::Result;
use ext_php_rs::exception::PhpException;
use ext_php_rs::ffi::{IS_UNDEF, zend_objects_new};
use ext_php_rs::flags::{ClassFlags, DataType, MethodFlags};
use ext_php_rs::types::{ZendHashTable, ZendObject, Zval};
use ext_php_rs::zend::{ClassEntry, ExecuteData, ce};

use crate::property::{self, Property, Type};

/// What the engine calls when it has made the class.
type Keep = fn(&'static mut ClassEntry, ArgInfoTables);

/// A property of a record's class: its name, its type, and its value.
pub type Field<T> = (&'static str, Type, fn(&T) -> Zval);

/// A method of a record's class.
pub type Method = (FunctionBuilder<'static>, MethodFlags);

/// One such class, whose objects show what the core answers.
pub struct Record<T: 'static> {
    fields: &'static [Field<T>],
    keep: Keep,
    class: AtomicPtr<ClassEntry>,
}

/// What a record shows.
pub trait Recorded: Sized + 'static {
    /// The name of the class.
    const NAME: &'static str;

    /// The class.
    fn record() -> &'static Record<Self>;

    /// Its public methods.
    fn methods() -> Vec<Method> {
        Vec::new()
    }

    /// The PHP object of it.
    fn shown(&self) -> Zval {
        let record = Self::record();
        property::object(record.object([], record.fields, self))
    }
}

impl<T: Recorded> Record<T> {
    /// A class that is not registered yet; `keep` calls [`Record::keep`] of this one.
    pub const fn new(fields: &'static [Field<T>], keep: Keep) -> Record<T> {
        Record { fields, keep, class: AtomicPtr::new(std::ptr::null_mut()) }
    }

    /// Takes what the engine made.
    pub fn keep(&self, class: &'static mut ClassEntry, arguments: ArgInfoTables) {
        self.class.store(class, Ordering::Release);
        // The engine reads the tables for as long as the process lives.
        std::mem::forget(arguments);
    }

    /// Registers the class.
    pub fn register(&self) -> Result<()> {
        let class = ClassBuilder::new(T::NAME)
            .flags(ClassFlags::Final | ClassFlags::NoDynamicProperties)
            .method(FunctionBuilder::new("__construct", constructor), MethodFlags::Private);
        let class = T::methods().into_iter().fold(class, |class, (method, flags)| class.method(method, flags));
        class.registration(self.keep).register()?;
        let properties: Vec<Property> = self.fields.iter().map(|(name, kind, _)| (*name, *kind)).collect();
        property::declare_public(self.class.load(Ordering::Acquire), &properties);
        Ok(())
    }

    /// The PHP object of it; the values of its first properties may be `given`. Where `fields` is known to the compiler, it
    /// writes each value where it belongs.
    #[inline(always)]
    pub fn object<const GIVEN: usize>(&self, given: [Zval; GIVEN], fields: &[Field<T>], of: &T) -> ZBox<ZendObject> {
        let class = self.class.load(Ordering::Acquire);
        // SAFETY: stored at start-up and alive for as long as the module; a start-up that failed leaves no PHP to call
        // this. The engine allocates a slot per property of the class, and these are its properties.
        unsafe {
            let object = zend_objects_new(class);
            let slots = (*object).properties_table.as_mut_ptr();
            let object = ZBox::from_raw(object);
            // Until a value is made its property is unset.
            (0..fields.len()).for_each(|at| (*slots.add(at)).u1.type_info = IS_UNDEF);
            given.into_iter().enumerate().for_each(|(at, value)| slots.add(at).write(value));
            for (at, (_, _, value)) in fields.iter().enumerate().skip(GIVEN) {
                slots.add(at).write(value(of));
            }
            object
        }
    }
}

/// What a method that answers such an object returns.
pub struct Shown<T>(pub T);

impl<T: Recorded> IntoZval for Shown<T> {
    const TYPE: DataType = DataType::object(T::NAME);
    const NULLABLE: bool = false;

    fn set_zval(self, zval: &mut Zval, _persistent: bool) -> Result<()> {
        *zval = self.0.shown();
        Ok(())
    }
}

/// What a method that answers such an object or null returns.
pub struct MaybeShown<T>(pub Option<T>);

impl<T: Recorded> IntoZval for MaybeShown<T> {
    const TYPE: DataType = DataType::object(T::NAME);
    const NULLABLE: bool = true;

    fn set_zval(self, zval: &mut Zval, _persistent: bool) -> Result<()> {
        *zval = property::maybe(self.0, |it| it.shown());
        Ok(())
    }
}

/// Private: only calls make these objects.
extern "C" fn constructor(_frame: &mut ExecuteData, _answer: &mut Zval) {
    PhpException::new("only calls of Quotalock make objects of this class".into(), 0, ce::error()).throw();
}

/// A PHP list.
pub fn list<T>(items: &[T], shown: impl Fn(&T) -> Zval) -> Zval {
    property::array(table(items, shown))
}

/// The table of a PHP list, for whoever owns it from now on.
pub fn table<T>(items: &[T], shown: impl Fn(&T) -> Zval) -> *mut ZendHashTable {
    let mut table = ZendHashTable::with_capacity(u32::try_from(items.len()).unwrap_or_default());
    for each in items {
        // Cannot fail: the table is ours, and none of so few elements is full.
        let _ = table.push(shown(each));
    }
    table.into_raw()
}
