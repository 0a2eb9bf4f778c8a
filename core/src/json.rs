//! Values as JSON texts, in builds with the feature `schema`; in others the macros here are nothing.

/// Writes values as their texts and reads them back, by `Display` and `FromStr`.
#[cfg(feature = "schema")]
#[macro_export]
macro_rules! as_text {
    ($($name:ty)*) => {$(
        impl $crate::schema::serde::Serialize for $name {
            fn serialize<S: $crate::schema::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> $crate::schema::serde::Deserialize<'de> for $name {
            fn deserialize<D: $crate::schema::serde::Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
                $crate::schema::read(json, |text| text.parse::<Self>())
            }
        }
    )*};
}

#[cfg(not(feature = "schema"))]
#[macro_export]
macro_rules! as_text {
    ($($name:ty)*) => {};
}

/// Describes an enum of words under a name, and an id by what it is an id of.
#[cfg(feature = "schema")]
#[macro_export]
macro_rules! described {
    ($name:ident) => {};
    ($name:ident = $schema:literal: $description:literal) => {
        $crate::written! {
            $name = $schema: $crate::schema::one_of($description, Self::ALL.map(Self::as_str));
        }
    };
    ($name:ident, $prefix:literal) => {};
    ($name:ident, $prefix:literal, $schema:literal: $what:literal) => {
        $crate::written! { $name = $schema: $crate::schema::id_of($what, $prefix); }
    };
}

#[cfg(not(feature = "schema"))]
#[macro_export]
macro_rules! described {
    ($($what:tt)*) => {};
}
