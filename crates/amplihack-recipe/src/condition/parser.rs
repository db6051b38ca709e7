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
use super::functions::{Function, Method};
use super::lexer::{Spanned, Token, safe};
use crate::value::Value;

/// A part of a condition.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Expr {
    Literal(Value),
    /// `a.b`: a name and what is below it.
    Name(String, Vec<(String, Range<usize>)>),
    /// Below a value: a key, and where it stands.
    Key(Box<Self>, String, Range<usize>),
    Index(Box<Self>, usize),
    List(Vec<Self>),
    Call(Function, Vec<Self>, Range<usize>),
    Method(Box<Self>, Method, Vec<Self>, Range<usize>),
    Not(Box<Self>),
    And(Vec<Self>),
    Or(Vec<Self>),
    Compare(Box<Self>, Comparison, Box<Self>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comparison {
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
    NotIn,
}

impl Expr {
    pub(super) fn names<'a>(&'a self, found: &mut Vec<&'a str>) {
        match self {
            Self::Literal(_) => {}
            Self::Name(name, _) => found.push(name),
            Self::Key(inner, ..) | Self::Index(inner, _) | Self::Not(inner) => inner.names(found),
            Self::List(items) | Self::Call(_, items, _) | Self::And(items) | Self::Or(items) => {
                for item in items {
                    item.names(found);
                }
            }
            Self::Method(inner, _, items, _) => {
                inner.names(found);
                for item in items {
                    item.names(found);
                }
            }
            Self::Compare(left, _, right) => {
                left.names(found);
                right.names(found);
            }
        }
    }
}

/// Brackets in brackets.
const DEEPEST: usize = 32;

pub(super) fn parse(text: &str, tokens: &[Spanned]) -> Result<Expr, ConditionError> {
    let mut parser = Parser { tokens, at: 0, depth: 0, end: text.len() };
    let root = parser.or()?;
    match parser.tokens.get(parser.at) {
        None => Ok(root),
        Some((token, span)) => {
            let error = ConditionError::new(
                format!("unexpected {} after a whole expression", describe(token)),
                span.clone(),
            );
            Err(match token {
                Token::Sign("<" | "<=" | ">" | ">=" | "==" | "!=") => {
                    error.help("comparisons do not chain: write `a < b and b < c`")
                }
                Token::Number(number) if number.starts_with('-') => {
                    error.help("conditions do not calculate; do it in a step")
                }
                _ => error.help("join expressions with `and` or `or`"),
            })
        }
    }
}

fn describe(token: &Token) -> String {
    match token {
        Token::Name(name) | Token::Number(name) => format!("'{name}'"),
        Token::String(_) => "a string".to_owned(),
        Token::Sign(sign) => format!("'{sign}'"),
    }
}

struct Parser<'a> {
    tokens: &'a [Spanned],
    at: usize,
    depth: usize,
    end: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|(token, _)| token)
    }

    fn take(&mut self, sign: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Sign(found)) if *found == sign);
        self.at += usize::from(found);
        found
    }

    /// Where the token at hand stands.
    fn span(&self) -> Range<usize> {
        self.tokens.get(self.at).map_or(self.end..self.end, |(_, span)| span.clone())
    }

    /// Where the last token stood.
    fn last(&self) -> Range<usize> {
        self.tokens.get(self.at.wrapping_sub(1)).map_or(0..0, |(_, span)| span.clone())
    }

    fn fail<T>(&self, wanted: &str) -> Result<T, ConditionError> {
        let what = match self.peek() {
            None => format!("unexpected end of expression: {wanted}"),
            Some(token) => format!("unexpected {}: {wanted}", describe(token)),
        };
        Err(ConditionError::new(what, self.span()))
    }

    fn expect(&mut self, sign: &'static str) -> Result<(), ConditionError> {
        if self.take(sign) { Ok(()) } else { self.fail(&format!("expected '{sign}'")) }
    }

    fn or(&mut self) -> Result<Expr, ConditionError> {
        self.depth += 1;
        if self.depth > DEEPEST + 1 {
            let what = format!("condition expression too deeply nested (max {DEEPEST} levels)");
            return Err(ConditionError::new(what, self.span()));
        }
        let first = self.and()?;
        let mut all = vec![first];
        while self.take("or") {
            all.push(self.and()?);
        }
        self.depth -= 1;
        Ok(one_or(all, Expr::Or))
    }

    fn and(&mut self) -> Result<Expr, ConditionError> {
        let mut all = vec![self.not()?];
        while self.take("and") {
            all.push(self.not()?);
        }
        Ok(one_or(all, Expr::And))
    }

    fn not(&mut self) -> Result<Expr, ConditionError> {
        let mut negations = 0;
        while self.take("not") {
            negations += 1;
        }
        let inner = self.comparison()?;
        Ok(match negations {
            0 => inner,
            odd if odd % 2 == 1 => Expr::Not(Box::new(inner)),
            _ => Expr::Not(Box::new(Expr::Not(Box::new(inner)))),
        })
    }

    fn comparison(&mut self) -> Result<Expr, ConditionError> {
        let left = self.postfix()?;
        let Some(comparison) = self.comparison_sign() else { return Ok(left) };
        let right = self.postfix()?;
        Ok(Expr::Compare(Box::new(left), comparison, Box::new(right)))
    }

    fn comparison_sign(&mut self) -> Option<Comparison> {
        let Some(Token::Sign(sign)) = self.peek() else { return None };
        let (comparison, tokens) = match *sign {
            "==" => (Comparison::Equal, 1),
            "!=" => (Comparison::Unequal, 1),
            "<" => (Comparison::Less, 1),
            "<=" => (Comparison::LessOrEqual, 1),
            ">" => (Comparison::Greater, 1),
            ">=" => (Comparison::GreaterOrEqual, 1),
            "in" => (Comparison::In, 1),
            "not" if matches!(self.tokens.get(self.at + 1), Some((Token::Sign("in"), _))) => {
                (Comparison::NotIn, 2)
            }
            _ => return None,
        };
        self.at += tokens;
        Some(comparison)
    }

    fn postfix(&mut self) -> Result<Expr, ConditionError> {
        let mut expr = self.atom()?;
        loop {
            let begin = self.span().start;
            if self.take(".") {
                let Some(Token::Name(name)) = self.peek().cloned() else {
                    return self.fail("expected method name after '.'");
                };
                self.at += 1;
                expr = self.member(expr, name, begin)?;
            } else if self.take("[") {
                expr = self.index(expr, begin)?;
            } else {
                return Ok(expr);
            }
        }
    }

    fn member(&mut self, expr: Expr, name: String, begin: usize) -> Result<Expr, ConditionError> {
        let span = begin..self.last().end;
        if self.take("(") {
            let args = self.arguments(")")?;
            let span = begin..self.last().end;
            let method =
                Method::named(&name, args.len()).map_err(|text| ConditionError::new(text, span.clone()))?;
            return Ok(Expr::Method(Box::new(expr), method, args, span));
        }
        Ok(match expr {
            Expr::Name(path, mut keys) => {
                keys.push((name.clone(), span));
                Expr::Name(format!("{path}.{name}"), keys)
            }
            expr => Expr::Key(Box::new(expr), name, span),
        })
    }

    fn index(&mut self, expr: Expr, begin: usize) -> Result<Expr, ConditionError> {
        let token = self.peek().cloned();
        let span = self.span();
        self.at += usize::from(token.is_some());
        let expr = match token {
            Some(Token::String(key)) => {
                safe(&key, span.clone())?;
                Expr::Key(Box::new(expr), key, begin..span.end)
            }
            Some(Token::Number(number)) => {
                let Ok(index) = number.parse() else {
                    let what = format!("array index must be a non-negative integer, got {number}");
                    return Err(ConditionError::new(what, span));
                };
                Expr::Index(Box::new(expr), index)
            }
            None => return self.fail("expected a key or a number inside brackets"),
            Some(_) => {
                return Err(ConditionError::new("expected a quoted key or a number inside brackets", span));
            }
        };
        self.expect("]")?;
        Ok(expr)
    }

    fn arguments(&mut self, close: &'static str) -> Result<Vec<Expr>, ConditionError> {
        let mut items = Vec::new();
        while !self.take(close) {
            items.push(self.or()?);
            if !self.take(",") {
                self.expect(close)?;
                break;
            }
        }
        Ok(items)
    }

    fn atom(&mut self) -> Result<Expr, ConditionError> {
        let begin = self.span().start;
        let Some(token) = self.peek().cloned() else {
            return self.fail("expected a value");
        };
        self.at += 1;
        Ok(match token {
            Token::String(text) => Expr::Literal(Value::string(text)),
            Token::Number(text) => Expr::Literal(number(&text)),
            Token::Name(name) if self.take("(") => {
                let args = self.arguments(")")?;
                let span = begin..self.last().end;
                let function = Function::named(&name, args.len())
                    .map_err(|text| ConditionError::new(text, span.clone()))?;
                Expr::Call(function, args, span)
            }
            Token::Name(name) => match name.as_str() {
                "true" | "True" => Expr::Literal(Value::json(&true.into())),
                "false" | "False" => Expr::Literal(Value::json(&false.into())),
                _ => Expr::Name(name.clone(), vec![(name, begin..self.last().end)]),
            },
            Token::Sign("(") => {
                let inner = self.or()?;
                self.expect(")")?;
                // A name in brackets is a value: what follows is looked up below it.
                if let Expr::Name(..) = inner { Expr::Or(vec![inner]) } else { inner }
            }
            Token::Sign("[") => Expr::List(self.arguments("]")?),
            Token::Sign(_) => {
                self.at -= 1;
                return self.fail("expected a value");
            }
        })
    }
}

fn one_or(mut all: Vec<Expr>, many: fn(Vec<Expr>) -> Expr) -> Expr {
    match (all.len(), all.pop()) {
        (1, Some(only)) => only,
        (_, last) => {
            all.extend(last);
            many(all)
        }
    }
}

/// A number literal: `007` is not JSON and means 7.
fn number(text: &str) -> Value {
    Value::from_json(text).unwrap_or_else(|| Value::argument(text))
}
