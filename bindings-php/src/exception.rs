//! The exceptions: one class per code, all of them `Quotalock\Exception\QuotalockException`.
//!
//! They are plain PHP classes without a Rust value, so that the engine fills in file, line and trace and PHP code can
//! make them too.

use std::ffi::c_char;
use std::sync::atomic::{AtomicPtr, Ordering};

use ext_php_rs::args::ArgInfoTables;
use ext_php_rs::builders::{ClassBuilder, FunctionBuilder};
use ext_php_rs::error::Result;
use ext_php_rs::exception::PhpException;
use ext_php_rs::ffi::{ZEND_ACC_PRIVATE, zend_class_entry};
use ext_php_rs::flags::{ClassFlags, DataType, MethodFlags};
use ext_php_rs::types::{ZendObject, Zval};
use ext_php_rs::zend::{ClassEntry, ExecuteData, ce};
use quotalock::{Code, Error};

use crate::property::{self, Type};
use crate::record::Recorded;

unsafe extern "C" {
    static spl_ce_RuntimeException: *mut zend_class_entry;
    static spl_ce_InvalidArgumentException: *mut zend_class_entry;
    fn zend_update_property_stringl(
        scope: *mut zend_class_entry,
        object: *mut ZendObject,
        name: *const c_char,
        name_length: usize,
        value: *const c_char,
        value_length: usize,
    );
}

/// Why a method of ours ends without a value.
pub enum Problem {
    /// To be thrown as the class of its code.
    Error(Error),
    /// An exception is on its way already.
    Thrown,
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        Problem::Error(error)
    }
}

impl From<Problem> for PhpException {
    fn from(problem: Problem) -> Self {
        match problem {
            // `PhpException` never throws over an exception that is on its way.
            Problem::Thrown => PhpException::from_message("an exception was lost".into()),
            Problem::Error(error) => {
                let exception = PhpException::new(error.message().to_owned(), 0, class_of(error.code()));
                match error.cause::<quotalock::Decision>() {
                    Some(decision) => exception.with_object(limited(error.message(), decision)),
                    None => exception,
                }
            }
        }
    }
}

/// The result of our methods.
pub type Outcome<T> = std::result::Result<T, Problem>;

/// One exception class.
struct Kind {
    code: Code,
    name: &'static str,
    parent: fn() -> &'static ClassEntry,
    code_method: extern "C" fn(&mut ExecuteData, &mut Zval),
    keep: fn(&'static mut ClassEntry, ArgInfoTables),
}

/// The classes in the order of [`KINDS`], and the interface as the last.
static CLASSES: [AtomicPtr<ClassEntry>; INTERFACE + 1] =
    [const { AtomicPtr::new(std::ptr::null_mut()) }; INTERFACE + 1];
const INTERFACE: usize = Code::ALL.len();

static KINDS: [Kind; Code::ALL.len()] = [
    kind::<0>("InvalidArgument", invalid_argument),
    kind::<1>("InvalidPolicy", invalid_argument),
    kind::<2>("Unavailable", runtime),
    kind::<3>("Timeout", runtime),
    kind::<4>("WrongType", runtime),
    kind::<5>("NewerVersion", runtime),
    kind::<6>("CrossSlot", runtime),
    kind::<7>("NotPermitted", runtime),
    kind::<8>("RateLimited", runtime),
    kind::<9>("NotAcquired", runtime),
    kind::<10>("Lost", runtime),
    kind::<11>("LoadFailed", runtime),
    kind::<12>("Closed", runtime),
    kind::<13>("Internal", runtime),
];

const fn kind<const N: usize>(name: &'static str, parent: fn() -> &'static ClassEntry) -> Kind {
    Kind { code: Code::ALL[N], name, parent, code_method: get_error_code::<N>, keep: keep::<N> }
}

fn keep<const N: usize>(class: &'static mut ClassEntry, arguments: ArgInfoTables) {
    CLASSES[N].store(class, Ordering::Release);
    // The engine reads the tables for as long as the process lives.
    std::mem::forget(arguments);
}

fn runtime() -> &'static ClassEntry {
    // SAFETY: the extension SPL is built into PHP and starts before us.
    unsafe { spl_ce_RuntimeException.as_ref() }.unwrap_or_else(ce::exception)
}

fn invalid_argument() -> &'static ClassEntry {
    // SAFETY: as in `runtime`.
    unsafe { spl_ce_InvalidArgumentException.as_ref() }.unwrap_or_else(ce::exception)
}

fn registered(at: usize) -> &'static ClassEntry {
    // SAFETY: null, or stored at start-up and alive for as long as the module.
    unsafe { CLASSES[at].load(Ordering::Acquire).as_ref() }.unwrap_or_else(ce::exception)
}

fn interface() -> &'static ClassEntry {
    registered(INTERFACE)
}

fn class_of(code: Code) -> &'static ClassEntry {
    KINDS.iter().position(|kind| kind.code == code).map_or_else(ce::exception, registered)
}

/// Registers the interface and the classes.
pub fn register() -> Result<()> {
    ClassBuilder::new("Quotalock\\Exception\\QuotalockException")
        .flags(ClassFlags::Interface)
        .implements((ce::throwable, "\\Throwable"))
        .method(
            FunctionBuilder::new_abstract("getErrorCode").returns(DataType::String, false, false),
            MethodFlags::Public | MethodFlags::Abstract,
        )
        .registration(keep::<INTERFACE>)
        .register()?;
    for kind in &KINDS {
        let mut builder = ClassBuilder::new(format!("Quotalock\\Exception\\{}Exception", kind.name))
            .flags(ClassFlags::Final)
            .extends((kind.parent, "\\RuntimeException"))
            .implements((interface, "QuotalockException"))
            .method(
                FunctionBuilder::new("getErrorCode", kind.code_method).returns(DataType::String, false, false),
                MethodFlags::Public,
            )
            .registration(kind.keep);
        if kind.code == Code::Limited {
            let method = FunctionBuilder::new("getDecision", get_decision);
            builder = builder
                .method(method.returns(DataType::object("Quotalock\\Decision"), false, false), MethodFlags::Public);
        }
        builder.register()?;
    }
    let limited = std::ptr::from_ref(class_of(Code::Limited)).cast_mut();
    property::declare(limited, &[("decision", Type::Object("Quotalock\\Decision"))], ZEND_ACC_PRIVATE);
    Ok(())
}

/// The slot of `decision`, which comes after all that `Exception` has.
fn decision_slot(class: &ClassEntry) -> usize {
    usize::try_from(class.default_properties_count).unwrap_or_default().saturating_sub(1)
}

/// The exception of a `require` that was denied.
fn limited(message: &str, decision: &quotalock::Decision) -> Zval {
    let class = class_of(Code::Limited);
    let mut object = ZendObject::new(class);
    // SAFETY: the object is ours alone, and `message` is a property that `Exception` declares.
    unsafe {
        let (name, scope) = ("message", std::ptr::from_ref(ce::exception()).cast_mut());
        let (text, length) = (message.as_ptr().cast(), message.len());
        zend_update_property_stringl(scope, &raw mut *object, name.as_ptr().cast(), name.len(), text, length);
    }
    property::fill(&mut object, decision_slot(class), [decision.shown()]);
    property::object(object)
}

extern "C" fn get_error_code<const N: usize>(_frame: &mut ExecuteData, answer: &mut Zval) {
    *answer = property::text(Code::ALL[N].as_str());
}

extern "C" fn get_decision(frame: &mut ExecuteData, answer: &mut Zval) {
    let decision = frame.This.object().and_then(|this| property::read(this, decision_slot(class_of(Code::Limited))));
    match decision.filter(|decision| decision.is_object()) {
        Some(decision) => *answer = decision.shallow_clone(),
        None => PhpException::new("this exception was made without a decision".into(), 0, ce::error()).throw(),
    }
}
