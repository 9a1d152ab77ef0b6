//! Calls on the loop that JavaScript runs on: its thread writes what a tick has asked for when that tick ends, and reads the
//! answers itself.
//!
//! The core's [`LoopLink`] does the work and says what to watch. A prepare handle flushes before the loop waits (an idle handle keeps it
//! from waiting where prepare handles were called already), poll handles hear the
//! sockets and what other threads ring for, a timer the deadlines. None of them holds the process, but the first while something
//! is to be flushed; calls under way do that by their bell.
//!
//! Every handle keeps what it is for alive until libuv has closed it. The environment waits for that at its end.

use std::cell::{Cell, RefCell};
use std::ffi::{c_int, c_void};
use std::os::fd::RawFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{null, null_mut};
use std::rc::Rc;
use std::time::Instant;

use napi::bindgen_prelude::{Function, JsValue, Unknown};
use napi::{Env, sys};
use quotalock::driver::{Change, Interest, LoopLink};
use quotalock::{Answer, Code, Error, Op, Result};

use crate::uv::{self, Handle, Loop, READABLE, Uv, WRITABLE};

/// The calls of one environment on its loop.
pub struct OwnLoop {
    env: sys::napi_env,
    uv: &'static Uv,
    uv_loop: Loop,
    /// What carries them, under their numbers. Not borrowed while JavaScript runs.
    link: RefCell<LoopLink<u64>>,
    /// What was answered, and is not collected yet.
    done: RefCell<Vec<(u64, Result<Answer>)>>,
    /// JavaScript's functions that collect, and that flush.
    answered: Cell<sys::napi_ref>,
    due: Cell<sys::napi_ref>,
    prepare: Cell<Handle>,
    idle: Cell<Handle>,
    timer: Cell<Handle>,
    wake: Cell<Handle>,
    sockets: RefCell<Vec<Socket>>,
    /// Whether JavaScript has something to flush.
    is_due: Cell<bool>,
    rings_at: Cell<Option<Instant>>,
    /// How many handles libuv has.
    open: Cell<usize>,
    has_ended: Cell<bool>,
    hook: Cell<sys::napi_async_cleanup_hook_handle>,
}

/// A socket that is watched.
struct Socket {
    descriptor: RawFd,
    handle: Handle,
    events: c_int,
}

impl OwnLoop {
    /// Begins to work on the loop of this environment; none if it has none that we know.
    pub fn new(
        env: Env,
        answered: &Function<(), Unknown<'static>>,
        due: &Function<(), Unknown<'static>>,
    ) -> Option<Rc<OwnLoop>> {
        let (uv, env) = (uv::uv()?, env.raw());
        let mut uv_loop = null_mut();
        // SAFETY: the environment is alive, and this is its thread.
        let status = unsafe { sys::napi_get_uv_event_loop(env, &mut uv_loop) };
        if status != sys::Status::napi_ok || uv_loop.is_null() {
            return None;
        }
        let link = LoopLink::new(|_| true).ok()?;
        link.follow_clients();
        let wake_fd = link.wake_fd();
        let this = Rc::new(OwnLoop {
            env,
            uv,
            uv_loop: uv_loop.cast(),
            link: RefCell::new(link),
            done: RefCell::default(),
            answered: Cell::new(reference(env, answered)),
            due: Cell::new(reference(env, due)),
            prepare: Cell::new(null_mut()),
            idle: Cell::new(null_mut()),
            timer: Cell::new(null_mut()),
            wake: Cell::new(null_mut()),
            sockets: RefCell::default(),
            is_due: Cell::new(false),
            rings_at: Cell::new(None),
            open: Cell::new(0),
            has_ended: Cell::new(false),
            hook: Cell::new(null_mut()),
        });
        let begun = this.begin(wake_fd);
        if begun.is_none() {
            this.end();
        }
        begun.map(|()| this)
    }

    fn begin(self: &Rc<OwnLoop>, wake_fd: RawFd) -> Option<()> {
        let uv = self.uv;
        // SAFETY: each is called with a handle of its kind, on the thread of the loop.
        unsafe {
            self.prepare.set(self.handle(|handle| (uv.prepare_init)(self.uv_loop, handle))?);
            self.idle.set(self.handle(|handle| (uv.idle_init)(self.uv_loop, handle))?);
            self.timer.set(self.handle(|handle| (uv.timer_init)(self.uv_loop, handle))?);
            self.wake.set(self.handle(|handle| (uv.poll_init)(self.uv_loop, handle, wake_fd))?);
            (uv.unref)(self.timer.get());
            (uv.unref)(self.wake.get());
            (uv.poll_start)(self.wake.get(), READABLE, on_wake);
        }
        let (mut hook, kept) = (null_mut(), Rc::into_raw(self.clone()));
        // SAFETY: the environment is alive; what it is given lives until the hook is removed.
        let status =
            unsafe { sys::napi_add_async_cleanup_hook(self.env, Some(on_end), kept.cast_mut().cast(), &mut hook) };
        if status != sys::Status::napi_ok {
            // SAFETY: it came from `into_raw`, and nobody else has it.
            drop(unsafe { Rc::from_raw(kept) });
            return None;
        }
        self.hook.set(hook);
        Some(())
    }

    /// Makes a handle, which keeps this alive until it is closed.
    fn handle(self: &Rc<OwnLoop>, init: impl FnOnce(Handle) -> c_int) -> Option<Handle> {
        let handle = self.uv.room();
        if init(handle) != 0 {
            // SAFETY: no loop knows it.
            unsafe { self.uv.free(handle) };
            return None;
        }
        // SAFETY: the handle was just made.
        unsafe { (self.uv.set_data)(handle, Rc::into_raw(self.clone()).cast_mut().cast()) };
        self.open.set(self.open.get() + 1);
        Some(handle)
    }

    /// Has JavaScript flush before the loop waits next.
    pub fn remind(&self) {
        self.is_due.set(true);
        self.flush_soon();
    }

    /// Writes what was submitted, before the loop waits next.
    pub fn flush_soon(&self) {
        if !self.has_ended.get() {
            // SAFETY: the handles are open.
            unsafe {
                (self.uv.prepare_start)(self.prepare.get(), on_prepare);
                (self.uv.idle_start)(self.idle.get(), on_idle);
            }
        }
    }

    /// Takes calls under numbers of the caller's, and writes them. What was answered at once is to be collected.
    pub fn submit(self: &Rc<OwnLoop>, calls: Vec<(u64, Op<Answer>)>) {
        let mut link = self.link.borrow_mut();
        calls.into_iter().for_each(|(id, op)| link.submit(op, id));
        drop(link);
        self.flush();
    }

    /// Takes back a call, which is still answered, and soon; false if it is not on this loop.
    pub fn cancel(&self, id: u64) -> bool {
        let is_here = self.link.borrow_mut().cancel(|each| *each == id).is_some();
        if is_here {
            let given_up = Error::new(Code::Closed, "the caller gave up the call");
            self.done.borrow_mut().push((id, Err(given_up)));
            self.flush_soon();
        }
        is_here
    }

    /// Writes what was submitted. What was answered is to be collected.
    pub fn flush(self: &Rc<OwnLoop>) {
        if self.has_ended.get() {
            return;
        }
        let interest = self.link.borrow_mut().flush();
        self.watch(interest);
    }

    /// What was answered since the last time.
    pub fn take_done(&self) -> Vec<(u64, Result<Answer>)> {
        let mut done = self.done.take();
        done.append(&mut self.link.borrow_mut().take_done());
        done
    }

    /// Does something with the link. Then JavaScript collects what was answered.
    fn work(self: &Rc<OwnLoop>, how: impl FnOnce(&mut LoopLink<u64>) -> Interest) {
        if self.has_ended.get() {
            return;
        }
        let interest = how(&mut self.link.borrow_mut());
        self.watch(interest);
        let done = self.take_done();
        if !done.is_empty() {
            self.done.replace(done);
            self.call(self.answered.get());
        }
    }

    /// Watches what is to be watched from now on.
    fn watch(self: &Rc<OwnLoop>, interest: Interest) {
        if self.has_ended.get() {
            return;
        }
        interest.changes.into_iter().for_each(|change| self.change(change));
        let Some(wait) = interest.next_turn else { return };
        let rings_at = Instant::now() + wait;
        // One timer, which may ring early: a turn for nothing now and then costs less than a timer for each call.
        if self.rings_at.get().is_none_or(|earlier| earlier > rings_at) {
            self.rings_at.set(Some(rings_at));
            // SAFETY: the handle is open.
            unsafe { (self.uv.timer_start)(self.timer.get(), on_timer, wait.as_micros().div_ceil(1_000) as u64, 0) };
        }
    }

    fn change(self: &Rc<OwnLoop>, change: Change) {
        let (descriptor, writing, wanted) = match change {
            Change::Watch { descriptor, writing } => (descriptor, writing, true),
            Change::Leave { descriptor, writing } => (descriptor, writing, false),
        };
        let mut sockets = self.sockets.borrow_mut();
        let at = sockets.iter().position(|socket| socket.descriptor == descriptor);
        match (at, writing, wanted) {
            (Some(at), true, _) => {
                sockets[at].events = if wanted { READABLE | WRITABLE } else { READABLE };
                // SAFETY: the handle is open.
                unsafe { (self.uv.poll_start)(sockets[at].handle, sockets[at].events, on_socket) };
            }
            (Some(at), false, false) => self.close(sockets.swap_remove(at).handle),
            (None, false, true) => {
                // SAFETY: called with a handle of its kind, on the thread of the loop.
                let made = self.handle(|handle| unsafe { (self.uv.poll_init)(self.uv_loop, handle, descriptor) });
                let Some(handle) = made else { return };
                // SAFETY: the handle was just made.
                unsafe {
                    (self.uv.unref)(handle);
                    (self.uv.poll_start)(handle, READABLE, on_socket);
                }
                sockets.push(Socket { descriptor, handle, events: READABLE });
            }
            (Some(_), false, true) | (None, _, _) => {}
        }
    }

    /// Calls JavaScript, and then what waits for promises that it settles.
    fn call(&self, function: sys::napi_ref) {
        let (mut scope, mut found, mut global, mut result) = (null_mut(), null_mut(), null_mut(), null_mut());
        let mut has_thrown = false;
        // SAFETY: the environment is alive, for it has not ended, and this is its thread; what is read was written before.
        unsafe {
            sys::napi_open_handle_scope(self.env, &mut scope);
            sys::napi_get_reference_value(self.env, function, &mut found);
            sys::napi_get_global(self.env, &mut global);
            sys::napi_make_callback(self.env, null_mut(), global, found, 0, null(), &mut result);
            // None where nothing may run any more, as in a worker that is terminated.
            sys::napi_is_exception_pending(self.env, &mut has_thrown);
            if has_thrown && sys::napi_get_and_clear_last_exception(self.env, &mut result) == sys::Status::napi_ok {
                sys::napi_fatal_exception(self.env, result);
            }
            sys::napi_close_handle_scope(self.env, scope);
        }
    }

    fn close(&self, handle: Handle) {
        if !handle.is_null() {
            // SAFETY: the handle is open, and is closed once.
            unsafe { (self.uv.close)(handle, Some(on_closed)) };
        }
    }

    /// Ends: what was submitted is written, and every handle closed.
    pub fn end(&self) {
        if self.has_ended.replace(true) {
            return;
        }
        let mut link = self.link.borrow_mut();
        link.flush();
        link.leave();
        let sockets = self.sockets.take().into_iter().map(|socket| socket.handle);
        let own = [&self.prepare, &self.idle, &self.timer, &self.wake].map(|handle| handle.replace(null_mut()));
        sockets.chain(own).for_each(|handle| self.close(handle));
        for function in [&self.answered, &self.due] {
            // SAFETY: it was made in this environment, and is deleted once.
            unsafe { sys::napi_delete_reference(self.env, function.replace(null_mut())) };
        }
    }
}

fn reference(env: sys::napi_env, function: &Function<(), Unknown<'static>>) -> sys::napi_ref {
    let mut made = null_mut();
    // SAFETY: the environment is alive, and the function is one of its values.
    unsafe { sys::napi_create_reference(env, function.raw(), 1, &mut made) };
    made
}

/// Does what a handle is for. No panic gets into libuv.
fn with(handle: Handle, work: impl FnOnce(&Rc<OwnLoop>)) {
    let Some(uv) = uv::uv() else { return };
    // SAFETY: each handle keeps one count of its owner until it is closed; it gets one more for as long as this works.
    let this = unsafe {
        let this: *const OwnLoop = (uv.get_data)(handle).cast();
        Rc::increment_strong_count(this);
        Rc::from_raw(this)
    };
    let _ = catch_unwind(AssertUnwindSafe(|| work(&this)));
}

extern "C" fn on_prepare(handle: Handle) {
    with(handle, |this| {
        // SAFETY: the handles are open, for one was called. From now on they may be started again.
        unsafe {
            (this.uv.prepare_stop)(handle);
            (this.uv.idle_stop)(this.idle.get());
        }
        if this.is_due.replace(false) {
            this.call(this.due.get());
        }
        this.work(LoopLink::flush);
    });
}

extern "C" fn on_idle(_: Handle) {}

extern "C" fn on_socket(handle: Handle, status: c_int, _: c_int) {
    with(handle, |this| {
        let find =
            || this.sockets.borrow().iter().find(|socket| socket.handle == handle).map(|s| (s.descriptor, s.events));
        if let Some((descriptor, _)) = find() {
            this.work(|link| link.turn_ready(descriptor));
        }
        // libuv watches a socket with an error no more, but what the peer sent before may be only a part of what there is to read.
        if status < 0
            && let Some((_, events)) = find()
        {
            // SAFETY: the handle is open, for it is in the list.
            unsafe { (this.uv.poll_start)(handle, events, on_socket) };
        }
    });
}

extern "C" fn on_wake(handle: Handle, _: c_int, _: c_int) {
    with(handle, |this| this.work(LoopLink::wake));
}

extern "C" fn on_timer(handle: Handle) {
    with(handle, |this| {
        this.rings_at.set(None);
        this.work(LoopLink::turn);
    });
}

extern "C" fn on_closed(handle: Handle) {
    with(handle, |this| {
        // SAFETY: libuv knows the handle no more; its count goes with it.
        unsafe {
            Rc::decrement_strong_count(Rc::as_ptr(this));
            this.uv.free(handle);
        }
        this.open.set(this.open.get() - 1);
        let hook = if this.open.get() == 0 { this.hook.replace(null_mut()) } else { null_mut() };
        if !hook.is_null() {
            // SAFETY: it was added once and is removed once; so its count is given back.
            unsafe {
                sys::napi_remove_async_cleanup_hook(hook);
                Rc::decrement_strong_count(Rc::as_ptr(this));
            }
        }
    });
}

/// The environment ends, and waits until the hook is removed.
unsafe extern "C" fn on_end(_: sys::napi_async_cleanup_hook_handle, this: *mut c_void) {
    // SAFETY: the hook has a count of its own until it is removed.
    let this = unsafe { &*this.cast::<OwnLoop>() };
    let _ = catch_unwind(AssertUnwindSafe(|| this.end()));
}
