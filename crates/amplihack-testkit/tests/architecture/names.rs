//! Names and first sentences that a stranger can read: of the types, functions and documentation that ship.

use std::collections::BTreeMap;

use syn::visit::{self, Visit};
use syn::{Attribute, ImplItem, ReturnType, Signature, TraitItem, Type, Visibility};

use crate::{none, sources};

/// Names of one word that are given: a line has the name, and by whom.
const FIXED: &str = include_str!("names_fixed.txt");

/// Functions whose one word the standard library or Rust's habits have given a meaning.
const IDIOMS: &[&str] = &[
    "build", "clear", "clone", "cmp", "contains", "default", "deref", "drop", "eq", "extend", "flush", "fmt",
    "from", "get", "hash", "insert", "into", "iter", "len", "main", "new", "next", "pop", "push", "read",
    "remove", "write",
];

/// Crates that programs of other people use: what can fail in them says how.
const LIBRARIES: &[&str] = &[
    "amplihack-amp-sdk",
    "amplihack-agent",
    "amplihack-audit",
    "amplihack-policy",
    "amplihack-remote",
    "amplihack-secrets",
    "amplihack-session",
    "amplihack-shell",
    "amplihack-verdict",
];

/// Words that stand for something that was not named yet.
const PRONOUNS: &[&str] = &[
    "How", "It", "Its", "One", "Our", "Ours", "That", "Their", "These", "They", "This", "Those", "What",
    "When", "Where", "Whether", "Which", "Who", "Whose", "Why",
];

/// Most percent of the shipped types and functions with a name of one word.
const MOST_OF_ONE_WORD: usize = 30;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DefinitionKind {
    Type,
    Function,
    Method,
}

/// A type or a function.
struct NamedDefinition {
    path: String,
    name: String,
    kind: DefinitionKind,
    is_public: bool,
    /// True if it can fail, and its documentation has no `# Errors`.
    is_silent_about_errors: bool,
}

/// The beginning of a documentation.
struct FirstSentence {
    path: String,
    text: String,
}

/// The definitions and documentation of one file.
#[derive(Default)]
struct SourceInventory {
    path: String,
    definitions: Vec<NamedDefinition>,
    sentences: Vec<FirstSentence>,
}

impl SourceInventory {
    fn define(
        &mut self,
        name: String,
        kind: DefinitionKind,
        visibility: &Visibility,
        is_silent_about_errors: bool,
    ) {
        let (path, is_public) = (self.path.clone(), matches!(visibility, Visibility::Public(_)));
        self.definitions.push(NamedDefinition { path, name, kind, is_public, is_silent_about_errors });
    }

    fn note_sentence(&mut self, attributes: &[Attribute]) {
        if let Some(text) = first_sentence(attributes) {
            self.sentences.push(FirstSentence { path: self.path.clone(), text });
        }
    }

    fn function(
        &mut self,
        signature: &Signature,
        kind: DefinitionKind,
        visibility: &Visibility,
        attributes: &[Attribute],
    ) {
        let is_silent = can_fail(signature) && !has_section(attributes, "# Errors");
        self.define(signature.ident.to_string(), kind, visibility, is_silent);
    }
}

impl<'ast> Visit<'ast> for SourceInventory {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        if attributes(item).iter().any(is_for_tests) {
            return;
        }
        self.note_sentence(attributes(item));
        let named = match item {
            syn::Item::Struct(item) => Some((&item.ident, &item.vis)),
            syn::Item::Enum(item) => Some((&item.ident, &item.vis)),
            syn::Item::Union(item) => Some((&item.ident, &item.vis)),
            syn::Item::Trait(item) => Some((&item.ident, &item.vis)),
            syn::Item::Type(item) => Some((&item.ident, &item.vis)),
            _ => None,
        };
        if let Some((name, visibility)) = named {
            self.define(name.to_string(), DefinitionKind::Type, visibility, false);
        }
        if let syn::Item::Fn(item) = item {
            self.function(&item.sig, DefinitionKind::Function, &item.vis, &item.attrs);
        }
        visit::visit_item(self, item);
    }

    fn visit_item_impl(&mut self, found: &'ast syn::ItemImpl) {
        // A trait gives the names of its functions.
        if found.trait_.is_none() {
            for item in &found.items {
                if let ImplItem::Fn(item) = item
                    && !item.attrs.iter().any(is_for_tests)
                {
                    self.function(&item.sig, DefinitionKind::Method, &item.vis, &item.attrs);
                }
            }
        }
        visit::visit_item_impl(self, found);
    }

    fn visit_item_trait(&mut self, found: &'ast syn::ItemTrait) {
        for item in &found.items {
            if let TraitItem::Fn(item) = item {
                self.function(&item.sig, DefinitionKind::Method, &found.vis, &item.attrs);
            }
        }
        visit::visit_item_trait(self, found);
    }

    fn visit_field(&mut self, field: &'ast syn::Field) {
        self.note_sentence(&field.attrs);
    }

    fn visit_variant(&mut self, variant: &'ast syn::Variant) {
        self.note_sentence(&variant.attrs);
        visit::visit_variant(self, variant);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if !item.attrs.iter().any(is_for_tests) {
            self.note_sentence(&item.attrs);
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_impl_item_const(&mut self, item: &'ast syn::ImplItemConst) {
        self.note_sentence(&item.attrs);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        self.note_sentence(&item.attrs);
        visit::visit_trait_item_fn(self, item);
    }
}

/// Reports whether what this attribute stands at is only compiled for tests.
fn is_for_tests(attribute: &Attribute) -> bool {
    let is = |name: &str| attribute.path().is_ident(name);
    is("test") || is("cfg") && attribute.parse_args::<syn::Meta>().is_ok_and(|meta| names_test(&meta))
}

fn names_test(meta: &syn::Meta) -> bool {
    match meta {
        syn::Meta::Path(path) => path.is_ident("test"),
        syn::Meta::List(list) => {
            list.path.is_ident("all")
                && list.tokens.clone().into_iter().any(|token| token.to_string() == "test")
        }
        syn::Meta::NameValue(_) => false,
    }
}

fn attributes(item: &syn::Item) -> &[Attribute] {
    match item {
        syn::Item::Const(item) => &item.attrs,
        syn::Item::Enum(item) => &item.attrs,
        syn::Item::Fn(item) => &item.attrs,
        syn::Item::Impl(item) => &item.attrs,
        syn::Item::Mod(item) => &item.attrs,
        syn::Item::Struct(item) => &item.attrs,
        syn::Item::Trait(item) => &item.attrs,
        syn::Item::Type(item) => &item.attrs,
        syn::Item::Union(item) => &item.attrs,
        syn::Item::Static(item) => &item.attrs,
        syn::Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

fn documentation(attributes: &[Attribute]) -> impl Iterator<Item = String> {
    attributes.iter().filter(|found| found.path().is_ident("doc")).filter_map(|found| {
        let syn::Expr::Lit(literal) = &found.meta.require_name_value().ok()?.value else { return None };
        let syn::Lit::Str(text) = &literal.lit else { return None };
        Some(text.value())
    })
}

fn first_sentence(attributes: &[Attribute]) -> Option<String> {
    documentation(attributes).next().map(|line| line.trim().to_owned())
}

fn has_section(attributes: &[Attribute], title: &str) -> bool {
    documentation(attributes).any(|line| line.trim() == title)
}

fn can_fail(signature: &Signature) -> bool {
    let ReturnType::Type(_, returned) = &signature.output else { return false };
    let Type::Path(returned) = &**returned else { return false };
    returned.path.segments.last().is_some_and(|last| last.ident == "Result")
}

/// The number of words in a name: parts between underscores, and from one capital letter to the next.
fn words(name: &str) -> usize {
    let letters: Vec<char> = name.chars().collect();
    let begins = |at: usize| {
        let (before, here) = (at.checked_sub(1).map(|at| letters[at]), letters[at]);
        let next_is_small = letters.get(at + 1).is_some_and(char::is_ascii_lowercase);
        here != '_'
            && before.is_none_or(|before| {
                before == '_' || here.is_ascii_uppercase() && (!before.is_ascii_uppercase() || next_is_small)
            })
    };
    (0..letters.len()).filter(|at| begins(*at)).count()
}

fn is_fixed(name: &str) -> bool {
    FIXED.lines().any(|line| line.split_whitespace().next() == Some(name))
}

/// The definitions and documentation of all files that ship.
fn inventory() -> SourceInventory {
    let mut all = SourceInventory::default();
    for source in sources().iter().filter(|source| source.ships()) {
        let file = syn::parse_file(&source.text)
            .unwrap_or_else(|error| panic!("{}: {error}", source.path.display()));
        if file.attrs.iter().any(is_for_tests) {
            continue;
        }
        all.path = source.path.display().to_string();
        all.note_sentence(&file.attrs);
        all.visit_file(&file);
    }
    assert!(all.definitions.len() > 1000 && all.sentences.len() > 1000, "nothing was looked at");
    all
}

#[test]
fn no_two_public_types_share_a_name() {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for found in inventory()
        .definitions
        .into_iter()
        .filter(|found| found.kind == DefinitionKind::Type && found.is_public)
    {
        places.entry(found.name).or_default().push(found.path);
    }
    let shared = places.into_iter().filter(|(name, places)| places.len() > 1 && !is_fixed(name));
    none("public types share a name", shared.map(|(name, places)| format!("{name}: {}", places.join(", "))));
}

#[test]
fn a_public_function_is_named_by_more_than_a_verb() {
    let all = inventory().definitions;
    let bare = all.iter().filter(|found| {
        let is_function = found.kind == DefinitionKind::Function && found.is_public;
        is_function && words(&found.name) == 1 && !IDIOMS.contains(&&*found.name) && !is_fixed(&found.name)
    });
    none(
        "a public function has a name of one word",
        bare.map(|found| format!("{}: {}", found.path, found.name)),
    );
}

#[test]
fn names_of_one_word_are_few() {
    let all = inventory().definitions;
    let share = |is_type: bool| {
        let counted = all.iter().filter(|found| {
            (found.kind == DefinitionKind::Type) == is_type && !IDIOMS.contains(&&*found.name)
        });
        let (mut single, mut total) = (0, 0);
        for found in counted {
            total += 1;
            single += usize::from(words(&found.name) == 1);
        }
        single * 100 / total
    };
    let found = (share(true), share(false));
    assert!(
        found.0 <= MOST_OF_ONE_WORD && found.1 <= MOST_OF_ONE_WORD,
        "percent of types and functions: {found:?}"
    );
}

#[test]
fn documentation_begins_with_what_it_is_about() {
    let begins = |text: &str| {
        let word: String = text.chars().take_while(char::is_ascii_alphabetic).collect();
        PRONOUNS.contains(&&*word) || text.starts_with("The same")
    };
    let all = inventory().sentences;
    let vague = all.iter().filter(|found| begins(&found.text));
    none(
        "a documentation begins with a word for nothing",
        vague.map(|found| format!("{}: {}", found.path, found.text)),
    );
}

#[test]
fn what_can_fail_in_a_library_says_when() {
    let all = inventory().definitions;
    let silent = all.iter().filter(|found| {
        let is_of_library =
            LIBRARIES.iter().any(|library| found.path.starts_with(&format!("crates/{library}/")));
        is_of_library && found.is_public && found.is_silent_about_errors
    });
    none(
        "a public function can fail, and has no `# Errors`",
        silent.map(|found| format!("{}: {}", found.path, found.name)),
    );
}

#[test]
fn words_are_counted() {
    let counts = ["words", "Words", "two_words", "TwoWords", "HTMLPage", "as_str", "VMSize", "_x"].map(words);
    assert_eq!(counts, [1, 1, 2, 2, 2, 2, 2, 1]);
}
