//! A program as the kernel takes it: made before a process is cloned, so that the clone allocates nothing.
#![expect(unsafe_code, reason = "the kernel takes lists of pointers")]

use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::ptr::null;

use libc::c_char;
use rustix::io::Errno;

use super::raw;

/// Directories in which programs are looked for that have no `PATH`.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// Program with its arguments, its whole environment and its directory.
#[derive(Debug)]
pub(super) struct ProgramImage {
    /// Paths at which it may be: the first place where it is counts.
    places: Vec<CString>,
    /// Pointers into what follows, each list with a null pointer at its end.
    arguments: Vec<*const c_char>,
    environment: Vec<*const c_char>,
    directory: Option<CString>,
    _owned: [Vec<CString>; 2],
}

// SAFETY: the pointers are to memory that is its own.
unsafe impl Send for ProgramImage {}

impl ProgramImage {
    /// `program` is a path, or a name that is looked for in the `PATH` of `environment`.
    pub(super) fn new<'a>(
        program: &'a OsStr,
        arguments: impl Iterator<Item = &'a OsStr>,
        environment: impl Iterator<Item = (&'a OsStr, &'a OsStr)>,
        directory: Option<&OsStr>,
    ) -> io::Result<Self> {
        let text = |bytes: Vec<u8>| CString::new(bytes).map_err(io::Error::from);
        let mut path = OsStr::new(DEFAULT_PATH);
        let mut variables = Vec::new();
        for (name, value) in environment {
            if name == "PATH" {
                path = value;
            }
            variables.push(text([name.as_bytes(), b"=", value.as_bytes()].concat())?);
        }
        let places = if program.is_empty() {
            Vec::new()
        } else if program.as_bytes().contains(&b'/') {
            vec![text(program.as_bytes().to_vec())?]
        } else {
            std::env::split_paths(path)
                .map(|directory| text(directory.join(program).into_os_string().into_vec()))
                .collect::<io::Result<_>>()?
        };
        let arguments = std::iter::once(program)
            .chain(arguments)
            .map(|argument| text(argument.as_bytes().to_vec()))
            .collect::<io::Result<_>>()?;
        let directory = directory.map(|directory| text(directory.as_bytes().to_vec())).transpose()?;
        Ok(Self::from_texts(places, arguments, variables, directory))
    }

    fn from_texts(
        places: Vec<CString>,
        arguments: Vec<CString>,
        environment: Vec<CString>,
        directory: Option<CString>,
    ) -> Self {
        // What a `CString` points to stays where it is when the string is moved.
        let pointers = |texts: &[CString]| texts.iter().map(|text| text.as_ptr()).collect::<Vec<_>>();
        let list = [pointers(&arguments), vec![null()]].concat();
        let variables = [pointers(&environment), vec![null()]].concat();
        Self { places, arguments: list, environment: variables, directory, _owned: [arguments, environment] }
    }

    /// `/bin/sh` with the script at `place`, as `execvp` starts what has no format that the kernel knows.
    pub(super) fn into_script(self, place: usize) -> Self {
        const SHELL: &CStr = c"/bin/sh";
        let Self { places, directory, _owned: [arguments, environment], .. } = self;
        let script = places.into_iter().nth(place).unwrap_or_default();
        let words = [SHELL.to_owned(), script].into_iter().chain(arguments.into_iter().skip(1)).collect();
        Self::from_texts(vec![SHELL.to_owned()], words, environment, directory)
    }

    /// Changes to the program's directory, if it has one of its own.
    pub(super) fn enter_directory(&self) -> Result<(), Errno> {
        self.directory.as_deref().map_or(Ok(()), rustix::process::chdir)
    }

    /// Becomes the program. Returns the number of the place at which that failed, and the error.
    pub(super) fn execute(&self) -> (usize, Errno) {
        let mut failed = (0, Errno::NOENT);
        for (number, place) in self.places.iter().enumerate() {
            // SAFETY: both lists end with a null pointer, and live as long as this.
            let error =
                unsafe { raw::execute_program(place, self.arguments.as_ptr(), self.environment.as_ptr()) };
            match error {
                // It is not there, or its file system is not there just now.
                Errno::NOENT | Errno::NOTDIR | Errno::STALE | Errno::NODEV | Errno::TIMEDOUT => {}
                // Perhaps there is one further on that may be run.
                Errno::ACCESS => failed = (number, error),
                other => return (number, other),
            }
        }
        failed
    }
}
