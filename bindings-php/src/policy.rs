//! The `policy` argument: a text, a rule or a list of rules.

use std::borrow::Cow;

use ext_php_rs::convert::FromZval;
use ext_php_rs::types::{ZendClassObject, Zval};
use quotalock::{Code, Error, Policy};

use crate::argument::{parameter, type_name, wrong_type};
use crate::exception::{Outcome, Problem};
use crate::rule::Rule;

parameter! {
    /// A policy as PHP gives it.
    PolicyArgument, Mixed
}

impl<'a> PolicyArgument<'a> {
    /// The text of the policy: as it was given, or of its rules.
    pub fn text(&self, position: u32) -> Outcome<Cow<'a, str>> {
        const WANTED: &std::ffi::CStr = c"Quotalock\\Rule|array|string";
        if let Some(text) = self.0.zend_str() {
            let text = std::str::from_utf8(text.as_bytes())
                .map_err(|_| Error::new(Code::InvalidArgument, "policy is not UTF-8: encode it"))?;
            return Ok(text.into());
        }
        if let Some(rule) = rule(self.0) {
            return Ok(rule.to_string().into());
        }
        let Some(list) = self.0.array() else { return Err(wrong_type(position, WANTED, self.0)) };
        let rules = list.values().map(|value| rule(value).ok_or_else(|| no_rule(value)));
        Ok(Policy::new(rules.collect::<Outcome<Vec<_>>>()?)?.to_string().into())
    }
}

fn rule(value: &Zval) -> Option<quotalock::Rule> {
    <&ZendClassObject<Rule>>::from_zval(value.dereference()).map(|object| object.rule())
}

fn no_rule(value: &Zval) -> Problem {
    let found = type_name(value);
    let cure = "give objects of Quotalock\\Rule, or one string for all of them, such as \"10/minute;100/hour\"";
    Error::new(Code::InvalidPolicy, format!("policy has {found} among its rules: {cure}")).into()
}
