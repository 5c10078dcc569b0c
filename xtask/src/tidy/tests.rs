use std::collections::BTreeMap;

use super::{dependencies, wrong_arrows};

#[test]
fn crates_depend_on_each_other_as_the_map_says() {
    let found = dependencies(crate::root()).unwrap();
    assert!(found.contains_key("netenf-learn"), "the workspace was not read: {found:?}");
    assert_eq!(wrong_arrows(&found), Vec::<String>::new());
}

#[test]
fn a_wrong_arrow_is_told() {
    let found = BTreeMap::from([
        (
            "netenf-learn".to_owned(),
            vec!["netenf-k8s".to_owned(), "serde".to_owned(), "sha2".to_owned()],
        ),
        ("netenf-new".to_owned(), Vec::new()),
    ]);
    assert_eq!(
        wrong_arrows(&found),
        [
            "netenf-learn must not depend on netenf-k8s",
            "netenf-learn must not depend on serde",
            "netenf-new is not on the map in ARCHITECTURE.md and xtask/src/tidy.rs",
        ]
    );
}

#[test]
fn no_module_file_is_called_mod_or_a_catch_all() {
    let mut wrong = Vec::new();
    let mut folders: Vec<_> =
        ["crates", "cli", "tests", "xtask"].map(|folder| crate::root().join(folder)).into();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if ["mod.rs", "utils.rs", "helpers.rs", "common.rs", "manager.rs"]
                .contains(&name.as_str())
            {
                wrong.push(path);
            }
        }
    }
    assert!(wrong.is_empty(), "name modules for what they hold: {wrong:?}");
}
