//! Enums whose variants are words: one list of them, from which the way to text and back follows.

/// Declares an enum of words. They are stored, answered and announced as they stand here, and listed in this order. What is
/// answered is described: `pub enum Colour = "Colour": "What it looks like." {`.
#[macro_export]
macro_rules! words {
    ($(#[$of_enum:meta])* $visibility:vis enum $name:ident $(= $schema:literal: $description:literal)? {
        $($(#[$of_variant:meta])* $variant:ident = $word:literal,)*
    }) => {
        $(#[$of_enum])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $visibility enum $name {
            $($(#[$of_variant])* $variant,)*
        }

        impl $name {
            /// All of them, in order.
            pub const ALL: [Self; [$($word),*].len()] = [$(Self::$variant),*];

            /// The word.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }

            /// From its stored form.
            pub fn from_stored(text: &str) -> Option<Self> {
                text.parse().ok()
            }
        }

        impl ::std::str::FromStr for $name {
            type Err = $crate::ParseError;

            fn from_str(text: &str) -> Result<Self, $crate::ParseError> {
                let known = Self::ALL.into_iter().find(|known| known.as_str() == text);
                known.ok_or_else(|| $crate::ParseError::not_among(Self::ALL))
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        $crate::as_text! { $name }
        $crate::described! { $name $(= $schema: $description)? }
    };
}

#[cfg(test)]
mod tests {
    words! {
        enum Colour {
            Red = "red",
            Green = "green",
            Blue = "blue",
        }
    }

    #[test]
    fn every_word_comes_back_and_another_one_is_refused_with_those_that_are_known() {
        for colour in Colour::ALL {
            assert_eq!(Colour::from_stored(&colour.to_string()), Some(colour));
        }
        let refused = "Red".parse::<Colour>().expect_err("another word").to_string();
        assert_eq!(refused, "must be `red`, `green` or `blue`");
    }
}
