//! Setters of structs that grow: a new field breaks nobody who names those that they set.

/// Makes a setter of each field. The word before it says what the setter takes:
///
/// - `plain T`: the value. `some T`: the value of an option. `into T`: whatever becomes it.
/// - `list T`, `some_list T`: whatever can be gone through, in the place of what was there.
/// - `pairs`: names with values, in addition to those that are there.
macro_rules! setters {
    ($type:ty { $($kind:ident $(($($of:tt)+))? $name:ident = $field:ident,)* }) => {
        impl $type {
            $($crate::setters::setters!(@$kind ($($($of)+)?) $name $field);)*
        }
    };
    (@plain ($of:ty) $name:ident $field:ident) => {
        #[doc = concat!("Sets [`Self::", stringify!($field), "`].")]
        #[must_use]
        pub fn $name(mut self, $field: $of) -> Self {
            self.$field = $field;
            self
        }
    };
    (@some ($of:ty) $name:ident $field:ident) => {
        #[doc = concat!("Sets [`Self::", stringify!($field), "`].")]
        #[must_use]
        pub fn $name(mut self, $field: $of) -> Self {
            self.$field = Some($field);
            self
        }
    };
    (@into ($of:ty) $name:ident $field:ident) => {
        #[doc = concat!("Sets [`Self::", stringify!($field), "`].")]
        #[must_use]
        pub fn $name(mut self, $field: impl Into<$of>) -> Self {
            self.$field = Some($field.into());
            self
        }
    };
    (@list ($of:ty) $name:ident $field:ident) => {
        #[doc = concat!("Sets [`Self::", stringify!($field), "`].")]
        #[must_use]
        pub fn $name(mut self, $field: impl IntoIterator<Item = impl Into<$of>>) -> Self {
            self.$field = $field.into_iter().map(Into::into).collect();
            self
        }
    };
    (@some_list ($of:ty) $name:ident $field:ident) => {
        #[doc = concat!("Sets [`Self::", stringify!($field), "`].")]
        #[must_use]
        pub fn $name(mut self, $field: impl IntoIterator<Item = impl Into<$of>>) -> Self {
            self.$field = Some($field.into_iter().map(Into::into).collect());
            self
        }
    };
    (@pairs () $name:ident $field:ident) => {
        #[doc = concat!("Adds to [`Self::", stringify!($field), "`].")]
        #[must_use]
        pub fn $name(
            mut self,
            $field: impl IntoIterator<Item = (impl Into<String>, impl Into<String>)>,
        ) -> Self {
            self.$field.extend($field.into_iter().map(|(name, value)| (name.into(), value.into())));
            self
        }
    };
}

pub(crate) use setters;
