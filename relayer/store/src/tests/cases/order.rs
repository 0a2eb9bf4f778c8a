use super::*;

/// Ids whose text mixes digits and letters, in byte order.
fn mixed_ids() -> Vec<[u8; 16]> {
    let mut ids: Vec<[u8; 16]> = (0..40u8)
        .map(|number| std::array::from_fn(|index| number.wrapping_mul(37) ^ (index as u8 * 11)))
        .collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

#[tokio::test]
async fn ids_order_by_their_bytes_through_every_page() {
    let Some(fixture) = fixture().await else { return };
    let ids = mixed_ids();
    for id in &ids {
        let account = Account { id: AccountId::from_bytes(*id), ..account(&fixture.operator, 50) };
        fixture.store.accounts.insert_account(&account).await.expect("inserted");
    }
    let mut listed = Vec::new();
    let mut after = None;
    loop {
        let page =
            fixture.store.accounts.list_accounts(fixture.operator.id, None, after, 7).await.expect("listed");
        let Some(last) = page.last() else { break };
        after = Some(last.place());
        listed.extend(page.iter().map(|account| account.id.bytes()));
    }
    let mut expected = ids;
    expected.reverse();
    // It is older than all of them, which were made in one moment.
    expected.push(fixture.account.id.bytes());
    assert_eq!(listed, expected);
}

#[tokio::test]
async fn text_orders_by_bytes_and_not_by_language() {
    let Some(fixture) = fixture().await else { return };
    let names = ["Z", "a", "A b", "A-a", "_", "é", "z", "B", "10", "9"];
    for (number, name) in names.into_iter().enumerate() {
        let name = Label::parse(name).expect("valid");
        let operator = Operator { name, ..operator(100 + number as u8) };
        fixture.store.operators.insert_operator(&operator).await.expect("inserted");
    }
    let sql = "SELECT name FROM operators WHERE name <> 'Acme' AND name > '9' ORDER BY name";
    let read: Vec<String> = query(sql).fetch_all(fixture.store.reader()).await.expect("read");
    assert_eq!(read, ["A b", "A-a", "B", "Z", "_", "a", "z", "é"]);
}
