//! JSON with comments, as the agents read their settings and people write them.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::CstInputValue;
use serde_json::Value;

/// Options by which the agents read these files: comments and trailing commas, and nothing else beside JSON.
pub const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_loose_object_property_names: false,
    allow_trailing_commas: true,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// `value` as a text that is edited in place takes it in.
pub fn to_cst_input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(values) => CstInputValue::Array(values.iter().map(to_cst_input).collect()),
        Value::Object(pairs) => CstInputValue::Object(
            pairs.iter().map(|(name, value)| (name.clone(), to_cst_input(value))).collect(),
        ),
    }
}
