//! The audit for a page in a browser, as WebAssembly without imports: the page puts bytes into the buffer that [`reserve`] gives,
//! says what they are ([`keep`], [`begin`], [`answer`]), and reads what [`step`] says, at [`output`]. It fetches, waits and shows.

pub mod running;

use std::cell::RefCell;

use running::{Files, Running};

/// One page runs one audit at a time.
struct Page {
    input: Vec<u8>,
    output: Vec<u8>,
    files: Files,
    running: Option<Running>,
}

thread_local! {
    static PAGE: RefCell<Page> = const {
        RefCell::new(Page { input: Vec::new(), output: Vec::new(), files: Files::new(), running: None })
    };
}

fn page<R>(does: impl FnOnce(&mut Page) -> R) -> R {
    PAGE.with_borrow_mut(does)
}

/// Where so many bytes may be put; valid until the next call.
#[unsafe(no_mangle)]
pub extern "C" fn reserve(length: usize) -> *mut u8 {
    page(|page| {
        page.input.clear();
        page.input.resize(length, 0);
        page.input.as_mut_ptr()
    })
}

/// Where the last output is; valid until the next call.
#[unsafe(no_mangle)]
pub extern "C" fn output() -> *const u8 {
    page(|page| page.output.as_ptr())
}

/// Keeps the input as a file, whose name is its first `name_length` bytes.
#[unsafe(no_mangle)]
pub extern "C" fn keep(name_length: usize) {
    page(|page| {
        let mut name = std::mem::take(&mut page.input);
        let bytes = name.split_off(name_length.min(name.len()));
        page.files.insert(String::from_utf8_lossy(&name).into_owned(), bytes);
    });
}

/// Begins the audit that the input, in JSON, asks for, with the files that were kept. Returns how long the output is: why it
/// cannot begin, or nothing.
#[unsafe(no_mangle)]
pub extern "C" fn begin() -> usize {
    page(|page| {
        let files = std::mem::take(&mut page.files);
        match Running::begin(&page.input, files) {
            Ok(running) => {
                page.running = Some(running);
                page.output.clear();
            }
            Err(why) => page.output = why.into_bytes(),
        }
        page.output.len()
    })
}

/// The input is the body of a node's answer to this question, or else why there is none.
#[unsafe(no_mangle)]
pub extern "C" fn answer(question: u32, is_body: bool) {
    page(|page| {
        if let Some(running) = &page.running {
            running.answers(question.into(), &page.input, is_body);
        }
    });
}

/// Goes as far as the answers lead, at this time in Unix seconds. Returns how long the output is: questions, progress and the end,
/// in JSON.
#[unsafe(no_mangle)]
pub extern "C" fn step(now: f64) -> usize {
    page(|page| {
        let (output, is_end) = page.running.as_mut().map_or((Vec::new(), false), |running| running.step(now));
        page.output = output;
        if is_end {
            page.running = None;
        }
        page.output.len()
    })
}
