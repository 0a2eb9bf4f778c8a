//! The pages of `docs/` as a book, by mdbook, which `.ci/run` installs.

use std::fs;

use purser_tests::binaries::workspace;
use purser_tests::foreign;
use purser_tests::network::temp_folder;

#[tokio::test]
async fn mdbook_makes_a_searchable_book_of_every_page() {
    let Some(python) = foreign::python() else { return };
    if !python.join("mdbook").exists() {
        eprintln!("not run: mdbook is not installed");
        return;
    }
    let folder = temp_folder();
    let mut shell =
        foreign::shell(folder.path(), &[python], "mdbook build \"$DOCS\" --dest-dir \"$PWD/book\" 2>&1");
    shell.env("DOCS", workspace().join("docs"));
    let printed = foreign::printed(shell).await;
    assert!(!printed.contains("WARN") && !printed.contains("ERROR"), "{printed}");
    let contents = fs::read_to_string(workspace().join("docs/SUMMARY.md")).expect("the table of contents");
    let mut pages = 0;
    for page in contents.split("](").skip(1).filter_map(|rest| rest.split_once(".md)")) {
        let made = page.0.replace("README", "index");
        assert!(
            folder.path().join("book").join(format!("{made}.html")).exists(),
            "{made} is not in the book"
        );
        pages += 1;
    }
    assert!(pages > 30, "{pages} pages");
    let files = fs::read_dir(folder.path().join("book")).expect("it was made").map_while(Result::ok);
    let mut names = files.map(|file| file.file_name().to_string_lossy().into_owned());
    assert!(names.any(|name| name.starts_with("searchindex")), "it can be searched");
}
