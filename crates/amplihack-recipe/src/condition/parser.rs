//! The tree of a condition.
//!
//! ```text
//! or  := and (or and)*      and := not (and not)*      not := not* comparison
//! comparison := postfix (OP postfix)?                  OP := == != < <= > >= in, not in
//! postfix := atom (.name | .name(args) | ["key"] | [n])*
//! atom := string | number | name | function(args) | ( or ) | [ args ]
//! ```

use std::ops::Range;

use super::ConditionError;
use super::functions::{ConditionFunction, ConditionMethod};
use super::lexer::{ConditionToken, SpannedToken, check_name};
use crate::value::RecipeValue;

/// A part of a condition.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ConditionExpr {
    Literal(RecipeValue),
    /// `a.b`: a name and what is below it.
    Name(String, Vec<(String, Range<usize>)>),
    /// Below a value: a key, and where it stands.
    Key(Box<Self>, String, Range<usize>),
    Index(Box<Self>, usize),
    List(Vec<Self>),
    Call(ConditionFunction, Vec<Self>, Range<usize>),
    Method(Box<Self>, ConditionMethod, Vec<Self>, Range<usize>),
    Not(Box<Self>),
    And(Vec<Self>),
    Or(Vec<Self>),
    Compare(Box<Self>, ConditionComparison, Box<Self>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConditionComparison {
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
    NotIn,
}

impl ConditionExpr {
    pub(super) fn collect_names<'a>(&'a self, found: &mut Vec<&'a str>) {
        match self {
            Self::Literal(_) => {}
            Self::Name(name, _) => found.push(name),
            Self::Key(inner, ..) | Self::Index(inner, _) | Self::Not(inner) => inner.collect_names(found),
            Self::List(items) | Self::Call(_, items, _) | Self::And(items) | Self::Or(items) => {
                for item in items {
                    item.collect_names(found);
                }
            }
            Self::Method(inner, _, items, _) => {
                inner.collect_names(found);
                for item in items {
                    item.collect_names(found);
                }
            }
            Self::Compare(left, _, right) => {
                left.collect_names(found);
                right.collect_names(found);
            }
        }
    }
}

/// Brackets in brackets.
const DEEPEST: usize = 32;

pub(super) fn parse_tokens(text: &str, tokens: &[SpannedToken]) -> Result<ConditionExpr, ConditionError> {
    let mut parser = ConditionParser { tokens, at: 0, depth: 0, end: text.len() };
    let root = parser.parse_or()?;
    match parser.tokens.get(parser.at) {
        None => Ok(root),
        Some((token, span)) => {
            let error = ConditionError::new(
                format!("unexpected {} after a whole expression", describe_token(token)),
                span.clone(),
            );
            Err(match token {
                ConditionToken::Sign("<" | "<=" | ">" | ">=" | "==" | "!=") => {
                    error.with_help("comparisons do not chain: write `a < b and b < c`")
                }
                ConditionToken::Number(number) if number.starts_with('-') => {
                    error.with_help("conditions do not calculate; do it in a step")
                }
                _ => error.with_help("join expressions with `and` or `or`"),
            })
        }
    }
}

fn describe_token(token: &ConditionToken) -> String {
    match token {
        ConditionToken::Name(name) | ConditionToken::Number(name) => format!("'{name}'"),
        ConditionToken::String(_) => "a string".to_owned(),
        ConditionToken::Sign(sign) => format!("'{sign}'"),
    }
}

struct ConditionParser<'a> {
    tokens: &'a [SpannedToken],
    at: usize,
    depth: usize,
    end: usize,
}

impl ConditionParser<'_> {
    fn peek(&self) -> Option<&ConditionToken> {
        self.tokens.get(self.at).map(|(token, _)| token)
    }

    fn take_sign(&mut self, sign: &str) -> bool {
        let found = matches!(self.peek(), Some(ConditionToken::Sign(found)) if *found == sign);
        self.at += usize::from(found);
        found
    }

    /// The place of the token at hand.
    fn current_span(&self) -> Range<usize> {
        self.tokens.get(self.at).map_or(self.end..self.end, |(_, span)| span.clone())
    }

    /// The place of the last token.
    fn last_span(&self) -> Range<usize> {
        self.tokens.get(self.at.wrapping_sub(1)).map_or(0..0, |(_, span)| span.clone())
    }

    fn fail_expecting<T>(&self, wanted: &str) -> Result<T, ConditionError> {
        let what = match self.peek() {
            None => format!("unexpected end of expression: {wanted}"),
            Some(token) => format!("unexpected {}: {wanted}", describe_token(token)),
        };
        Err(ConditionError::new(what, self.current_span()))
    }

    fn expect_sign(&mut self, sign: &'static str) -> Result<(), ConditionError> {
        if self.take_sign(sign) { Ok(()) } else { self.fail_expecting(&format!("expected '{sign}'")) }
    }

    fn parse_or(&mut self) -> Result<ConditionExpr, ConditionError> {
        self.depth += 1;
        if self.depth > DEEPEST + 1 {
            let what = format!("condition expression too deeply nested (max {DEEPEST} levels)");
            return Err(ConditionError::new(what, self.current_span()));
        }
        let first = self.parse_and()?;
        let mut all = vec![first];
        while self.take_sign("or") {
            all.push(self.parse_and()?);
        }
        self.depth -= 1;
        Ok(join_operands(all, ConditionExpr::Or))
    }

    fn parse_and(&mut self) -> Result<ConditionExpr, ConditionError> {
        let mut all = vec![self.parse_not()?];
        while self.take_sign("and") {
            all.push(self.parse_not()?);
        }
        Ok(join_operands(all, ConditionExpr::And))
    }

    fn parse_not(&mut self) -> Result<ConditionExpr, ConditionError> {
        let mut negations = 0;
        while self.take_sign("not") {
            negations += 1;
        }
        let inner = self.parse_comparison()?;
        Ok(match negations {
            0 => inner,
            odd if odd % 2 == 1 => ConditionExpr::Not(Box::new(inner)),
            _ => ConditionExpr::Not(Box::new(ConditionExpr::Not(Box::new(inner)))),
        })
    }

    fn parse_comparison(&mut self) -> Result<ConditionExpr, ConditionError> {
        let left = self.parse_postfix()?;
        let Some(comparison) = self.comparison_sign() else { return Ok(left) };
        let right = self.parse_postfix()?;
        Ok(ConditionExpr::Compare(Box::new(left), comparison, Box::new(right)))
    }

    fn comparison_sign(&mut self) -> Option<ConditionComparison> {
        let Some(ConditionToken::Sign(sign)) = self.peek() else { return None };
        let (comparison, tokens) = match *sign {
            "==" => (ConditionComparison::Equal, 1),
            "!=" => (ConditionComparison::Unequal, 1),
            "<" => (ConditionComparison::Less, 1),
            "<=" => (ConditionComparison::LessOrEqual, 1),
            ">" => (ConditionComparison::Greater, 1),
            ">=" => (ConditionComparison::GreaterOrEqual, 1),
            "in" => (ConditionComparison::In, 1),
            "not" if matches!(self.tokens.get(self.at + 1), Some((ConditionToken::Sign("in"), _))) => {
                (ConditionComparison::NotIn, 2)
            }
            _ => return None,
        };
        self.at += tokens;
        Some(comparison)
    }

    fn parse_postfix(&mut self) -> Result<ConditionExpr, ConditionError> {
        let mut expr = self.parse_atom()?;
        loop {
            let begin = self.current_span().start;
            if self.take_sign(".") {
                let Some(ConditionToken::Name(name)) = self.peek().cloned() else {
                    return self.fail_expecting("expected method name after '.'");
                };
                self.at += 1;
                expr = self.parse_member(expr, name, begin)?;
            } else if self.take_sign("[") {
                expr = self.parse_index(expr, begin)?;
            } else {
                return Ok(expr);
            }
        }
    }

    fn parse_member(
        &mut self,
        expr: ConditionExpr,
        name: String,
        begin: usize,
    ) -> Result<ConditionExpr, ConditionError> {
        let span = begin..self.last_span().end;
        if self.take_sign("(") {
            let args = self.parse_arguments(")")?;
            let span = begin..self.last_span().end;
            let method = ConditionMethod::from_name(&name, args.len())
                .map_err(|text| ConditionError::new(text, span.clone()))?;
            return Ok(ConditionExpr::Method(Box::new(expr), method, args, span));
        }
        Ok(match expr {
            ConditionExpr::Name(path, mut keys) => {
                keys.push((name.clone(), span));
                ConditionExpr::Name(format!("{path}.{name}"), keys)
            }
            expr => ConditionExpr::Key(Box::new(expr), name, span),
        })
    }

    fn parse_index(&mut self, expr: ConditionExpr, begin: usize) -> Result<ConditionExpr, ConditionError> {
        let token = self.peek().cloned();
        let span = self.current_span();
        self.at += usize::from(token.is_some());
        let expr = match token {
            Some(ConditionToken::String(key)) => {
                check_name(&key, span.clone())?;
                ConditionExpr::Key(Box::new(expr), key, begin..span.end)
            }
            Some(ConditionToken::Number(number)) => {
                let Ok(index) = number.parse() else {
                    let what = format!("array index must be a non-negative integer, got {number}");
                    return Err(ConditionError::new(what, span));
                };
                ConditionExpr::Index(Box::new(expr), index)
            }
            None => return self.fail_expecting("expected a key or a number inside brackets"),
            Some(_) => {
                return Err(ConditionError::new("expected a quoted key or a number inside brackets", span));
            }
        };
        self.expect_sign("]")?;
        Ok(expr)
    }

    fn parse_arguments(&mut self, close: &'static str) -> Result<Vec<ConditionExpr>, ConditionError> {
        let mut items = Vec::new();
        while !self.take_sign(close) {
            items.push(self.parse_or()?);
            if !self.take_sign(",") {
                self.expect_sign(close)?;
                break;
            }
        }
        Ok(items)
    }

    fn parse_atom(&mut self) -> Result<ConditionExpr, ConditionError> {
        let begin = self.current_span().start;
        let Some(token) = self.peek().cloned() else {
            return self.fail_expecting("expected a value");
        };
        self.at += 1;
        Ok(match token {
            ConditionToken::String(text) => ConditionExpr::Literal(RecipeValue::from_string(text)),
            ConditionToken::Number(text) => ConditionExpr::Literal(number_literal(&text)),
            ConditionToken::Name(name) if self.take_sign("(") => {
                let args = self.parse_arguments(")")?;
                let span = begin..self.last_span().end;
                let function = ConditionFunction::from_name(&name, args.len())
                    .map_err(|text| ConditionError::new(text, span.clone()))?;
                ConditionExpr::Call(function, args, span)
            }
            ConditionToken::Name(name) => match name.as_str() {
                "true" | "True" => ConditionExpr::Literal(RecipeValue::from_json_value(&true.into())),
                "false" | "False" => ConditionExpr::Literal(RecipeValue::from_json_value(&false.into())),
                _ => ConditionExpr::Name(name.clone(), vec![(name, begin..self.last_span().end)]),
            },
            ConditionToken::Sign("(") => {
                let inner = self.parse_or()?;
                self.expect_sign(")")?;
                // A name in brackets is a value: what follows is looked up below it.
                if let ConditionExpr::Name(..) = inner { ConditionExpr::Or(vec![inner]) } else { inner }
            }
            ConditionToken::Sign("[") => ConditionExpr::List(self.parse_arguments("]")?),
            ConditionToken::Sign(_) => {
                self.at -= 1;
                return self.fail_expecting("expected a value");
            }
        })
    }
}

fn join_operands(
    mut all: Vec<ConditionExpr>,
    many: fn(Vec<ConditionExpr>) -> ConditionExpr,
) -> ConditionExpr {
    match (all.len(), all.pop()) {
        (1, Some(only)) => only,
        (_, last) => {
            all.extend(last);
            many(all)
        }
    }
}

/// A number literal: `007` is not JSON and means 7.
fn number_literal(text: &str) -> RecipeValue {
    RecipeValue::from_json(text).unwrap_or_else(|| RecipeValue::from_argument(text))
}
