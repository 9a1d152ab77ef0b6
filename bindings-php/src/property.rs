//! Public readonly properties that PHP itself knows as such: typed, and no assignment gets through.

use std::ffi::c_int;

use ext_php_rs::boxed::ZBox;
use ext_php_rs::convert::{FromZval, IntoZval};
use ext_php_rs::error::Result;
use ext_php_rs::exception::PhpException;
use ext_php_rs::ffi::{
    _ZEND_TYPE_NAME_BIT, _ZEND_TYPE_NULLABLE_BIT, IS_ARRAY, IS_ARRAY_EX, IS_FALSE, IS_LONG, IS_OBJECT_EX, IS_STRING,
    IS_TRUE, IS_UNDEF, MAY_BE_BOOL, ZEND_ACC_PUBLIC, zend_class_entry, zend_property_info, zend_string, zend_type,
};
use ext_php_rs::flags::DataType;
use ext_php_rs::types::{ZendHashTable, ZendObject, ZendStr, Zval};
use ext_php_rs::zend::ce;
use quotalock::convert;

/// `ZEND_ACC_READONLY` of Zend/zend_compile.h.
const READONLY: u32 = 1 << 7;

unsafe extern "C" {
    fn zend_declare_typed_property(
        class: *mut zend_class_entry,
        name: *mut zend_string,
        default: *mut Zval,
        access: c_int,
        comment: *mut zend_string,
        r#type: zend_type,
    ) -> *mut zend_property_info;
}

/// The type of a property.
#[derive(Clone, Copy)]
pub enum Type {
    Bool,
    Int,
    /// `?int`
    MaybeInt,
    Text,
    /// `?string`
    MaybeText,
    Array,
    Object(&'static str),
    /// An object of this class, or null.
    MaybeObject(&'static str),
}

/// A property's name and type.
pub type Property = (&'static str, Type);

impl Type {
    fn to_zend(self) -> zend_type {
        let mask = match self {
            Type::Bool => MAY_BE_BOOL,
            Type::Int => 1 << IS_LONG,
            Type::MaybeInt => 1 << IS_LONG | _ZEND_TYPE_NULLABLE_BIT,
            Type::Text => 1 << IS_STRING,
            Type::MaybeText => 1 << IS_STRING | _ZEND_TYPE_NULLABLE_BIT,
            Type::Array => 1 << IS_ARRAY,
            Type::Object(class) => return class_type(class, 0),
            Type::MaybeObject(class) => return class_type(class, _ZEND_TYPE_NULLABLE_BIT),
        };
        zend_type { ptr: std::ptr::null_mut(), type_mask: mask }
    }
}

/// The type "an object of `class` or one of the simple types in `mask`".
pub fn class_type(class: &str, mask: u32) -> zend_type {
    let name = ZendStr::new_interned(class, true).into_raw();
    zend_type { ptr: name.cast(), type_mask: mask | _ZEND_TYPE_NAME_BIT }
}

/// Declares properties on a class that is being registered. Their slots follow in this order upon the parent's.
pub fn declare(class: *mut zend_class_entry, properties: &[Property], visibility: u32) {
    for (name, kind) in properties {
        let mut unset = Zval::new();
        unset.u1.type_info = IS_UNDEF;
        // SAFETY: `class` is being registered in this thread, at module start-up; the name is interned for good, the
        // default is no reference-counted value, and there is no comment.
        unsafe {
            zend_declare_typed_property(
                class,
                ZendStr::new_interned(name, true).into_raw(),
                &raw mut unset,
                (visibility | READONLY) as c_int,
                std::ptr::null_mut(),
                kind.to_zend(),
            );
        }
    }
}

/// As [`declare`], for anybody to read.
pub fn declare_public(class: *mut zend_class_entry, properties: &[Property]) {
    declare(class, properties, ZEND_ACC_PUBLIC);
}

/// Fills an object's properties, the first value into slot `first`.
pub fn fill(object: &mut ZendObject, first: usize, values: impl IntoIterator<Item = Zval>) {
    // SAFETY: the engine keeps the class of a live object.
    let slots = unsafe { (*object.ce).default_properties_count } as usize;
    let table = object.properties_table.as_mut_ptr();
    for (i, value) in values.into_iter().enumerate().take(slots.saturating_sub(first)) {
        // SAFETY: an object is allocated with a slot per property of its class, and `first + i` is below their number.
        // The slot holds a value or is unset; both may be dropped.
        unsafe { *table.add(first + i) = value };
    }
}

/// The value of a property by its slot.
pub fn read(object: &ZendObject, slot: usize) -> Option<&Zval> {
    // SAFETY: as in `fill`.
    unsafe {
        (slot < (*object.ce).default_properties_count as usize).then(|| &*object.properties_table.as_ptr().add(slot))
    }
}

/// A PHP integer, at most `PHP_INT_MAX`.
#[inline]
pub fn int(value: u64) -> Zval {
    let mut zval = Zval::new();
    zval.value.lval = i64::try_from(value).unwrap_or(i64::MAX);
    zval.u1.type_info = IS_LONG;
    zval
}

/// Microseconds as PHP shows them: milliseconds, rounded up.
pub fn milliseconds(micros: u64) -> Zval {
    int(convert::ms(micros))
}

/// A moment as PHP shows it: milliseconds since the epoch, rounded down.
pub fn moment(micros: u64) -> Zval {
    int(convert::moment(micros))
}

/// A PHP value of what may be none, which is null.
pub fn maybe<T>(value: Option<T>, shown: impl FnOnce(T) -> Zval) -> Zval {
    value.map_or_else(Zval::new, shown)
}

/// A PHP bool.
#[inline]
pub fn bool(value: bool) -> Zval {
    let mut zval = Zval::new();
    zval.u1.type_info = if value { IS_TRUE } else { IS_FALSE };
    zval
}

/// A PHP string of any bytes.
pub fn text(value: impl AsRef<[u8]>) -> Zval {
    let mut zval = Zval::new();
    zval.set_zend_string(ZendStr::new(value, false));
    zval
}

/// The same string once more: it is shared, and counted if it is.
#[inline]
pub fn again(text: &Zval) -> Zval {
    // SAFETY: what has the flag is counted, and the copy is one more that counts.
    unsafe {
        if text.u1.v.type_flags != 0 {
            (*text.value.counted).gc.refcount += 1;
        }
        std::ptr::read(text)
    }
}

/// A PHP value that owns the array.
pub fn array(array: *mut ZendHashTable) -> Zval {
    let mut zval = Zval::new();
    zval.value.arr = array;
    zval.u1.type_info = IS_ARRAY_EX;
    zval
}

/// A PHP value that owns the object.
#[inline]
pub fn object(object: ZBox<ZendObject>) -> Zval {
    let mut zval = Zval::new();
    zval.value.obj = object.into_raw();
    zval.u1.type_info = IS_OBJECT_EX;
    zval
}

/// Throws PHP's own error for writing to a readonly property.
pub fn refuse(property: &str) {
    PhpException::new(format!("Cannot modify readonly property {property}"), 0, ce::error()).throw();
}

/// What a getter answers, and a setter is given: any value. The property's declaration has its type.
pub struct Live(pub Zval);

impl IntoZval for Live {
    const TYPE: DataType = DataType::Mixed;
    const NULLABLE: bool = false;

    fn set_zval(self, zval: &mut Zval, _persistent: bool) -> Result<()> {
        *zval = self.0;
        Ok(())
    }
}

impl FromZval<'_> for Live {
    const TYPE: DataType = DataType::Mixed;

    fn from_zval(value: &Zval) -> Option<Self> {
        Some(Live(value.shallow_clone()))
    }
}

/// What a method that answers bytes returns.
pub struct Bytes(pub Vec<u8>);

impl IntoZval for Bytes {
    const TYPE: DataType = DataType::String;
    const NULLABLE: bool = false;

    fn set_zval(self, zval: &mut Zval, _persistent: bool) -> Result<()> {
        *zval = text(self.0);
        Ok(())
    }
}

/// What a method that answers bytes or null returns.
pub struct MaybeBytes(pub Zval);

impl IntoZval for MaybeBytes {
    const TYPE: DataType = DataType::String;
    const NULLABLE: bool = true;

    fn set_zval(self, zval: &mut Zval, _persistent: bool) -> Result<()> {
        *zval = self.0;
        Ok(())
    }
}

/// What a method that answers a PHP array returns.
pub struct Array(pub Zval);

impl IntoZval for Array {
    const TYPE: DataType = DataType::Array;
    const NULLABLE: bool = false;

    fn set_zval(self, zval: &mut Zval, _persistent: bool) -> Result<()> {
        *zval = self.0;
        Ok(())
    }
}
