//! `object!` and `choice!`: one definition gives the type, its field table and its decoder.

/// A mapping with known fields. Each field reads
/// `name: Type as "key", required, default "…", at_most 3, deprecated "…", ours;` with the doc comment that
/// `explain` shows.
macro_rules! object {
    ($(#[doc = $doc:literal])+ $name:ident {
        $($(#[doc = $field_doc:literal])+
          $field:ident: $type:ty as $key:literal $(, $flag:ident $($argument:literal)?)*;)*
    }) => {
        $(#[doc = $doc])+
        #[derive(Debug, Clone, Default)]
        pub struct $name {
            $($(#[doc = $field_doc])+ pub $field: $crate::decode::Field<$type>,)*
        }

        impl $name {
            const OBJECT: &'static $crate::shape::Object = &$crate::shape::Object {
                name: stringify!($name),
                doc: concat!($($doc, "\n"),+),
                fields: &[$(
                    $crate::shape::FieldSpec::new(
                        $key,
                        concat!($($field_doc, "\n"),+),
                        <$type as $crate::decode::Decode>::shape,
                    )$(.$flag($($argument)?))*
                ),*],
            };
        }

        impl $crate::decode::Decode for $name {
            fn shape() -> $crate::shape::Shape {
                $crate::shape::Shape::Object(Self::OBJECT)
            }

            fn decode(decoder: &mut $crate::decode::Decoder<'_>, at: $crate::yaml::At) -> Option<Self> {
                let matched = decoder.matched(at, Self::OBJECT)?;
                let mut index = 0..;
                let mut next = || index.next().unwrap_or_default();
                $(let $field = decoder.field(&matched, next());)*
                let _ = (&matched, &mut next);
                Some($name { $($field),* })
            }
        }
    };
}

/// A value from a fixed list of words.
macro_rules! choice {
    ($(#[doc = $doc:literal])+ $name:ident {
        $($(#[doc = $value_doc:literal])+ $variant:ident = $word:literal,)+
    }) => {
        $(#[doc = $doc])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $name {
            $($(#[doc = $value_doc])+ $variant,)+
        }

        impl $name {
            pub fn as_str(self) -> &'static str {
                match self {
                    $($name::$variant => $word,)+
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl $crate::decode::Decode for $name {
            fn shape() -> $crate::shape::Shape {
                $crate::shape::Shape::Choice {
                    name: stringify!($name),
                    values: &[$($crate::shape::ChoiceValue {
                        name: $word,
                        doc: concat!($($value_doc, "\n"),+),
                    }),+],
                }
            }

            fn decode(decoder: &mut $crate::decode::Decoder<'_>, at: $crate::yaml::At) -> Option<Self> {
                const ALL: &[$name] = &[$($name::$variant),+];
                let index = decoder.choice(at, &[$($word),+])?;
                Some(ALL[index])
            }
        }
    };
}

pub(crate) use {choice, object};
