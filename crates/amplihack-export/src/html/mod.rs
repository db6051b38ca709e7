//! A run as one HTML page that needs nothing else: no network, no script.

mod changes;
mod page;
#[cfg(test)]
mod tests;
mod timeline;
mod write;

pub use page::html_page;
