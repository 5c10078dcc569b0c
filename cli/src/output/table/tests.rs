use super::Table;

fn table(rows: &[[&str; 2]]) -> Table {
    let mut table = Table::new(&["NAME", "AGE"]);
    for row in rows {
        table.row(row.iter().map(ToString::to_string).collect());
    }
    table
}

#[test]
fn columns_are_as_wide_as_their_widest_cell() {
    let table = table(&[["a", "1d"], ["longer", "22h"]]);
    assert_eq!(table.text(true), "NAME     AGE\na        1d\nlonger   22h\n");
    assert_eq!(table.text(false), "a        1d\nlonger   22h\n");
}

#[test]
fn width_is_counted_in_characters() {
    let table = table(&[["größe", "1d"], ["x", "2d"]]);
    assert_eq!(table.text(false), "größe   1d\nx       2d\n");
}

#[test]
fn an_empty_cell_says_so_and_a_hostile_one_stays_on_its_line() {
    let table = table(&[["", "1d"], ["a\nb\u{1b}[31m", ""]]);
    assert_eq!(table.text(false), "<none>          1d\na b\\u{1b}[31m   <none>\n");
}

#[test]
fn a_table_without_rows_is_only_its_titles() {
    let table = table(&[]);
    assert!(table.is_empty());
    assert_eq!(table.text(true), "NAME   AGE\n");
}
