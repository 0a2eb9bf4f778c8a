//! A text as a QR code, to scan with a wallet.

/// The dark modules of a QR code, as a path in a square of `side`.
pub struct QrCode {
    pub path: String,
    pub side: usize,
}

impl QrCode {
    /// Of a short text, such as an address.
    pub fn of(text: &str) -> Self {
        // Fails only beyond some thousand characters; then there is nothing to show.
        let Ok(code) = qrcode::QrCode::new(text) else { return Self { path: String::new(), side: 1 } };
        let side = code.width();
        let dark =
            code.to_colors().into_iter().enumerate().filter(|(_, color)| *color == qrcode::Color::Dark);
        let path = dark.map(|(at, _)| format!("M{} {}h1v1h-1z", at % side, at / side)).collect();
        Self { path, side }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_code() {
        let code = QrCode::of("11111111111111111111111111111111");
        assert!(code.side >= 21 && code.path.starts_with("M0 0h1v1h-1z"), "the corner's eye begins dark");
    }
}
