//! An answer that was prepared beforehand and is given even when the process crashes, panics or runs out of time.
//!
//! A hook that dies without a word lets the call run on most hosts. So the answer "no" is laid ready first, as bytes, and
//! the handlers of deadly signals write it and end the process. They run on a stack of their own, allocate nothing and
//! take no lock.
#![expect(unsafe_code, reason = "signal handlers, their stack and `_exit` have no safe counterpart")]

use std::borrow::Cow;
use std::cell::UnsafeCell;
use std::io;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::time::Duration;

/// Answer of a process that cannot continue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastWords {
    /// Written to stdout, byte for byte.
    pub stdout: Cow<'static, [u8]>,
    /// Written to stderr, byte for byte.
    pub stderr: Cow<'static, [u8]>,
    /// The exit code.
    pub code: u8,
}

/// The words in force. Never freed: a handler may be reading them.
static WORDS: AtomicPtr<LastWords> = AtomicPtr::new(ptr::null_mut());
/// Set once the one answer on stdout has been given or begun.
static ANSWERED: AtomicBool = AtomicBool::new(false);

/// Signals that end a process which did not expect them, and the one of the deadline.
const SIGNALS: [libc::c_int; 8] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGABRT,
    libc::SIGALRM,
    libc::SIGILL,
    libc::SIGFPE,
    libc::SIGSYS,
    libc::SIGTRAP,
];

/// Enough for a handler that writes and ends, with the widest registers that a kernel saves below it.
const STACK_BYTES: usize = 64 * 1024;

/// The handlers' stack. It is not touched before a signal comes, so it costs no page.
#[repr(align(16))]
struct HandlerStack(UnsafeCell<[u8; STACK_BYTES]>);

// SAFETY: only the kernel uses it, for one handler at a time of the one thread that it is given to, and the handler never returns.
unsafe impl Sync for HandlerStack {}

static STACK: HandlerStack = HandlerStack(UnsafeCell::new([0; STACK_BYTES]));

/// Lays `words` ready for every end that this process does not choose, and lets them be said after `time`: SIGSEGV (a stack
/// that overflows, too), SIGBUS, SIGABRT, SIGALRM, SIGILL, SIGFPE, SIGSYS, SIGTRAP, and a panic on any thread.
///
/// Call it first of all, on the main thread. It allocates nothing, and the deadline comes before everything that could wait.
/// Calling it again replaces the words and the deadline.
pub fn arm_words(words: &'static LastWords, time: Duration) -> io::Result<()> {
    WORDS.store(ptr::from_ref(words).cast_mut(), Ordering::Release);
    install_handler(&[libc::SIGALRM])?;
    set_deadline(time)?;
    let stack = libc::stack_t { ss_sp: STACK.0.get().cast(), ss_flags: 0, ss_size: STACK_BYTES };
    // SAFETY: the memory is static, so that it outlives the process's last signal; the old stack is not asked for.
    check_result(unsafe { libc::sigaltstack(&raw const stack, ptr::null_mut()) })?;
    install_handler(&SIGNALS)?;
    survive_size_limit()?;
    std::panic::set_hook(Box::new(|_| say_last_words()));
    Ok(())
}

/// Makes a write beyond the limit of file sizes (`ulimit -f`) an error, "file too large", instead of a signal that ends this process.
///
/// Programs that this process starts have the signal's default action: a handler does not outlive `exec`.
///
/// # Errors
/// The system does not let the handler be installed.
pub fn survive_size_limit() -> io::Result<()> {
    // SAFETY: all zeros is a valid value of the structure, without flags or masked signals but for what is set below.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = on_size_limit as extern "C" fn(libc::c_int) as usize;
    action.sa_flags = libc::SA_RESTART;
    // SAFETY: the handler does nothing, and the old action is not asked for.
    check_result(unsafe { libc::sigaction(libc::SIGXFSZ, &raw const action, ptr::null_mut()) })
}

/// Does nothing: the write that met the limit fails.
extern "C" fn on_size_limit(_: libc::c_int) {}

/// Reports whether words are in force.
pub fn is_armed() -> bool {
    !WORDS.load(Ordering::Acquire).is_null()
}

/// Gives `signals` the handler that says the words, and lets them through.
fn install_handler(signals: &[libc::c_int]) -> io::Result<()> {
    // SAFETY: all zeros is a valid value of these C structures, and each is filled by the call that follows.
    let (mut action, mut all): (libc::sigaction, libc::sigset_t) =
        unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
    // SAFETY: `all` is a signal set of this frame.
    check_result(unsafe { libc::sigemptyset(&raw mut all) })?;
    action.sa_sigaction = on_signal as extern "C" fn(libc::c_int) as usize;
    action.sa_flags = libc::SA_ONSTACK;
    action.sa_mask = all;
    for &signal in signals {
        // SAFETY: `on_signal` calls only async-signal-safe functions and never returns.
        check_result(unsafe { libc::sigaction(signal, &raw const action, ptr::null_mut()) })?;
        // SAFETY: `all` is a signal set of this frame.
        check_result(unsafe { libc::sigaddset(&raw mut all, signal) })?;
    }
    // A parent may have left them blocked; a blocked SIGALRM would be a deadline that never comes.
    // SAFETY: `all` is a valid set, and the old mask is not asked for.
    check_result(unsafe { libc::sigprocmask(libc::SIG_UNBLOCK, &raw const all, ptr::null_mut()) })
}

/// Replaces the words, once more is known of who listens. Does nothing to handlers and deadline.
pub fn replace_words(words: LastWords) {
    WORDS.store(Box::into_raw(Box::new(words)), Ordering::Release);
}

/// From now on the last words leave stdout alone: the real answer is about to be written there.
pub fn mark_answered() {
    ANSWERED.store(true, Ordering::Release);
}

/// Lets the last words be said after `time`, unless [`no_deadline`] comes first.
pub fn set_deadline(time: Duration) -> io::Result<()> {
    set_timer(time.max(Duration::from_micros(1)))
}

/// Takes the deadline back.
pub fn no_deadline() -> io::Result<()> {
    set_timer(Duration::ZERO)
}

fn set_timer(time: Duration) -> io::Result<()> {
    let invalid = |_| io::Error::from(io::ErrorKind::InvalidInput);
    let timer = libc::itimerval {
        it_interval: libc::timeval { tv_sec: 0, tv_usec: 0 },
        it_value: libc::timeval {
            tv_sec: time.as_secs().try_into().map_err(invalid)?,
            tv_usec: time.subsec_micros().into(),
        },
    };
    // SAFETY: `timer` is a valid value, and the old one is not asked for.
    check_result(unsafe { libc::setitimer(libc::ITIMER_REAL, &raw const timer, ptr::null_mut()) })
}

fn check_result(result: libc::c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

extern "C" fn on_signal(_signal: libc::c_int) {
    say_last_words();
}

/// Says the words in force and ends the process, without running anything else.
pub fn say_last_words() -> ! {
    let words = WORDS.load(Ordering::Acquire);
    let mut code = 2;
    if !words.is_null() {
        // SAFETY: a pointer in `WORDS` is of static words or comes from `Box::into_raw`; it is never freed or written to.
        let words = unsafe { &*words };
        if !ANSWERED.swap(true, Ordering::AcqRel) {
            write_all(libc::STDOUT_FILENO, &words.stdout);
        }
        write_all(libc::STDERR_FILENO, &words.stderr);
        code = words.code;
    }
    // SAFETY: `_exit` is async-signal-safe and does not return.
    unsafe { libc::_exit(code.into()) }
}

fn write_all(descriptor: libc::c_int, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        // SAFETY: the pointer and the length are those of a live slice.
        let written = unsafe { libc::write(descriptor, bytes.as_ptr().cast(), bytes.len()) };
        match usize::try_from(written) {
            Ok(written) if written > 0 => bytes = bytes.get(written..).unwrap_or_default(),
            Err(_) if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
            // Nobody reads: the exit code is what is left to tell.
            _ => return,
        }
    }
}
