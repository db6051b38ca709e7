//! Runs of real processes, written in shell.

#[cfg(test)]
mod deadlines;
#[cfg(test)]
mod events;
#[cfg(test)]
mod exits;
#[cfg(test)]
mod launcher;
#[cfg(test)]
mod many;
#[cfg(test)]
mod pipes;
#[cfg(test)]
mod support;
#[cfg(test)]
mod terminal;
#[cfg(test)]
mod tree;
