//! Parses what the proxy needs of a signed transaction: a legacy message, as the relayer sends it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

const SIGNATURE_BYTES: usize = 64;
const KEY_BYTES: usize = 32;

/// A transaction that passes through.
pub(super) struct Passing {
    /// Base58.
    pub signature: String,
    /// Base58.
    pub blockhash: String,
    pub bytes: Vec<u8>,
}

impl Passing {
    /// Parses the base64 of `sendTransaction`; `None` if it is something else.
    pub fn read(base64: &str) -> Option<Passing> {
        let bytes = STANDARD.decode(base64).ok()?;
        let signatures = usize::from(*bytes.first()?);
        let signature = bytes.get(1..1 + SIGNATURE_BYTES)?;
        // Three bytes of header, the number of keys (below 128, so one byte), the keys, then the blockhash.
        let message = bytes.get(1 + signatures * SIGNATURE_BYTES..)?;
        let keys = usize::from(*message.get(3)?);
        let blockhash = message.get(4 + keys * KEY_BYTES..4 + (keys + 1) * KEY_BYTES)?;
        let text = |bytes: &[u8]| bs58::encode(bytes).into_string();
        Some(Passing { signature: text(signature), blockhash: text(blockhash), bytes: bytes.clone() })
    }

    /// What it pays for a compute unit, in micro-lamports.
    pub fn price(&self) -> u64 {
        self.instructions().unwrap_or_default().into_iter().find_map(price_in).unwrap_or(0)
    }

    /// Each instruction's program and data.
    fn instructions(&self) -> Option<Vec<([u8; KEY_BYTES], Vec<u8>)>> {
        let signatures = usize::from(*self.bytes.first()?);
        let message = self.bytes.get(1 + signatures * SIGNATURE_BYTES..)?;
        let keys = usize::from(*message.get(3)?);
        let key = |index: u8| message.get(4 + usize::from(index) * KEY_BYTES..)?.first_chunk().copied();
        let mut rest = message.get(4 + (keys + 1) * KEY_BYTES..)?;
        let count = length(&mut rest)?;
        let mut instructions = Vec::new();
        for _ in 0..count {
            let (program, after) = rest.split_first()?;
            rest = after;
            let accounts = length(&mut rest)?;
            rest = rest.get(accounts..)?;
            let bytes = length(&mut rest)?;
            instructions.push((key(*program)?, rest.get(..bytes)?.to_vec()));
            rest = rest.get(bytes..)?;
        }
        Some(instructions)
    }

    /// Whether its bytes contain the mark, for example in a memo.
    pub fn holds(&self, mark: &str) -> bool {
        self.bytes.windows(mark.len().max(1)).any(|window| window == mark.as_bytes())
    }
}

/// A length as messages write it: seven bits a byte, the lowest first.
fn length(rest: &mut &[u8]) -> Option<usize> {
    let mut length = 0;
    for place in 0..3 {
        let (byte, after) = rest.split_first()?;
        *rest = after;
        length |= usize::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            return Some(length);
        }
    }
    None
}

/// The compute unit price that an instruction sets.
fn price_in((program, data): ([u8; KEY_BYTES], Vec<u8>)) -> Option<u64> {
    const SET_PRICE: u8 = 3;
    let (&SET_PRICE, price) = data.split_first()? else { return None };
    let is_budget = bs58::encode(program).into_string() == "ComputeBudget111111111111111111111111111111";
    is_budget.then(|| price.try_into().map(u64::from_le_bytes).ok()).flatten()
}
