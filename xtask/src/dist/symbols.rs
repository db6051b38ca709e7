//! The functions of a program, out of its table of symbols.

use std::collections::BTreeMap;

/// The numbers of a 64-bit little-endian ELF file.
#[derive(Clone, Copy)]
struct Elf<'a>(&'a [u8]);

impl Elf<'_> {
    fn number(self, at: usize, width: usize) -> Option<u64> {
        let bytes = self.0.get(at..at.checked_add(width)?)?;
        Some(bytes.iter().rev().fold(0, |sum, byte| (sum << 8) | u64::from(*byte)))
    }

    fn index(self, at: usize, width: usize) -> Option<usize> {
        usize::try_from(self.number(at, width)?).ok()
    }

    /// The text that begins at an offset and ends with a zero.
    fn text(self, at: usize) -> Option<String> {
        let rest = self.0.get(at..)?;
        let end = rest.iter().position(|byte| *byte == 0)?;
        String::from_utf8(rest[..end].to_vec()).ok()
    }
}

/// A section that lists symbols.
const SYMTAB: u64 = 2;
/// The type of a symbol that is a function.
const FUNCTION: u64 = 2;
/// Bytes of a symbol.
const SYMBOL: usize = 24;

/// The names of the functions at each address; `None` if the file has no table of symbols.
pub(crate) fn functions(elf: &[u8]) -> Option<BTreeMap<u64, Vec<String>>> {
    let elf = Some(Elf(elf)).filter(|_| elf.starts_with(b"\x7fELF\x02\x01"))?;
    let (headers, size, count) = (elf.index(0x28, 8)?, elf.index(0x3a, 2)?, elf.index(0x3c, 2)?);
    let header = |index: usize| headers + index * size;
    let table = (0..count).map(header).find(|at| elf.number(at + 4, 4) == Some(SYMTAB))?;
    let (begin, bytes) = (elf.index(table + 0x18, 8)?, elf.index(table + 0x20, 8)?);
    let names = elf.index(header(elf.index(table + 0x28, 4)?) + 0x18, 8)?;
    let mut functions: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for symbol in (begin..begin.checked_add(bytes)?).step_by(SYMBOL) {
        let (kind, section) = (elf.number(symbol + 4, 1)? & 0xf, elf.number(symbol + 6, 2)?);
        let (address, length) = (elf.number(symbol + 8, 8)?, elf.number(symbol + 16, 8)?);
        if kind == FUNCTION && section != 0 && length != 0 {
            functions.entry(address).or_default().push(elf.text(names + elf.index(symbol, 4)?)?);
        }
    }
    Some(functions)
}

#[cfg(test)]
mod tests {
    use super::functions;

    #[test]
    fn the_functions_of_a_program_have_names() {
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let found = functions(&own).unwrap();
        let named = |part: &str| found.values().flatten().any(|name| name.contains(part));
        assert!(named("the_functions_of_a_program_have_names") && named("main"));
        assert!(functions(b"#!/bin/sh\n").is_none() && functions(&own[..100]).is_none());
    }
}
