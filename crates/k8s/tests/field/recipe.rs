//! ahmetb's recipes for NetworkPolicies (`corpora/manifests/_recipes`): the policies are theirs, read from the
//! Markdown; the pods are those that the text runs, and the verdicts those that it shows.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use netenf_k8s::reach::Reach;
use netenf_k8s::{Index, Object, object};
use netenf_learn::Workload;
use netenf_policy::{End, Protocol};
use serde_json::{Value, json};

/// A recipe with what comes of it.
struct Recipe {
    /// Policies that are applied: the number of their recipe, and which one in its text.
    policies: &'static [(&'static str, usize)],
    /// Namespaces and pods with their labels; `kubectl run` sets `run` where it is given none.
    world: &'static [&'static str],
    /// Connections, and whether they are allowed.
    verdicts: &'static [&'static str],
}

const RECIPES: [Recipe; 15] = [
    Recipe {
        policies: &[("01", 0)],
        world: &["default/web app=web", "default/test run=test"],
        verdicts: &["default/test > default/web:80 denied"],
    },
    Recipe {
        policies: &[("02", 0)],
        world: &[
            "default/apiserver app=bookstore,role=api",
            "default/test run=test",
            "default/frontend app=bookstore,role=frontend",
        ],
        verdicts: &[
            "default/test > default/apiserver:80 denied",
            "default/frontend > default/apiserver:80 allowed",
        ],
    },
    Recipe {
        policies: &[("02a", 0), ("01", 0)],
        world: &["default/web app=web", "default/test run=test", "other/test run=test"],
        verdicts: &[
            "default/test > default/web:80 allowed",
            "other/test > default/web:80 allowed",
            "203.0.113.7 > default/web:80 allowed",
        ],
    },
    Recipe {
        policies: &[("03", 0)],
        world: &["default/web app=web", "default/test run=test", "other/test run=test"],
        verdicts: &[
            "default/test > default/web:80 denied",
            "other/test > default/web:80 denied",
            "default/test > other/test:80 allowed",
        ],
    },
    Recipe {
        policies: &[("04", 0)],
        world: &["default/web app=web", "default/test run=test", "foo/test run=test"],
        verdicts: &[
            "foo/test > default/web:80 denied",
            "default/test > default/web:80 allowed",
            "203.0.113.7 > default/web:80 denied",
        ],
    },
    Recipe {
        policies: &[("05", 0)],
        world: &["default/web app=web", "secondary/test run=test", "bar/test run=test"],
        verdicts: &[
            "secondary/test > default/web:80 allowed",
            "bar/test > default/web:80 allowed",
            "203.0.113.7 > default/web:80 denied",
        ],
    },
    Recipe {
        policies: &[("06", 0)],
        world: &[
            "dev purpose=testing",
            "prod purpose=production",
            "default/web app=web",
            "dev/test run=test",
            "prod/test run=test",
        ],
        verdicts: &["dev/test > default/web:80 denied", "prod/test > default/web:80 allowed"],
    },
    Recipe {
        policies: &[("07", 0)],
        world: &[
            "other team=operations",
            "default/web app=web",
            "default/test run=test",
            "default/monitor type=monitoring",
            "other/test run=test",
            "other/monitor type=monitoring",
        ],
        verdicts: &[
            "default/test > default/web:80 denied",
            "default/monitor > default/web:80 denied",
            "other/test > default/web:80 denied",
            "other/monitor > default/web:80 allowed",
        ],
    },
    Recipe {
        policies: &[("08", 0), ("03", 0)],
        world: &["default/web app=web", "default/test run=test"],
        verdicts: &[
            "203.0.113.7 > default/web:80 allowed",
            "default/test > default/web:80 allowed",
            "203.0.113.7 > default/test:80 denied",
        ],
    },
    Recipe {
        policies: &[("09", 0)],
        world: &[
            "default/apiserver app=apiserver",
            "default/test run=test",
            "default/monitor role=monitoring",
        ],
        verdicts: &[
            "default/test > default/apiserver:8000 denied",
            "default/test > default/apiserver:5000 denied",
            "default/monitor > default/apiserver:8000 denied",
            "default/monitor > default/apiserver:5000 allowed",
        ],
    },
    Recipe {
        policies: &[("10", 0)],
        world: &[
            "default/db app=bookstore,role=db",
            "default/search app=bookstore,role=search",
            "default/api app=bookstore,role=api",
            "default/catalog app=inventory,role=web",
            "default/other app=other",
        ],
        verdicts: &[
            "default/search > default/db:6379 allowed",
            "default/api > default/db:6379 allowed",
            "default/catalog > default/db:6379 allowed",
            "default/other > default/db:6379 denied",
        ],
    },
    Recipe {
        policies: &[("11", 0)],
        world: &[
            "default/web app=web",
            "default/foo app=foo",
            "default/test run=test",
            "kube-system/kube-dns k8s-app=kube-dns",
        ],
        verdicts: &[
            "default/foo > kube-system/kube-dns:53/UDP denied",
            "default/foo > default/web:80 denied",
            "default/foo > 203.0.113.7:80 denied",
            "default/test > default/web:80 allowed",
        ],
    },
    Recipe {
        policies: &[("11", 1)],
        world: &[
            "default/web app=web",
            "default/foo app=foo",
            "kube-system/kube-dns k8s-app=kube-dns",
        ],
        verdicts: &[
            "default/foo > kube-system/kube-dns:53/UDP allowed",
            "default/foo > kube-system/kube-dns:53 allowed",
            "default/foo > default/web:80 denied",
            "default/foo > 203.0.113.7:80 denied",
        ],
    },
    Recipe {
        policies: &[("12", 0)],
        world: &["default/web app=web", "default/test run=test", "other/test run=test"],
        verdicts: &[
            "default/test > default/web:80 denied",
            "default/test > 203.0.113.7:80 denied",
            "other/test > default/web:80 allowed",
        ],
    },
    Recipe {
        policies: &[("14", 0)],
        world: &[
            "default/web app=web",
            "default/foo app=foo",
            "kube-system/kube-dns k8s-app=kube-dns",
        ],
        verdicts: &[
            "default/foo > kube-system/kube-dns:53/UDP allowed",
            // The text shows this one allowed. Its own policy names nothing but DNS, and a pod that is isolated for
            // egress may open only what a rule allows (concepts, Network Policies).
            "default/foo > default/web:80 denied",
            "default/foo > 203.0.113.7:80 denied",
        ],
    },
];

/// Texts of policies by the number of their recipe and their place in its text.
type Written = BTreeMap<(String, usize), String>;

fn written(folder: &Path) -> Written {
    let mut all = Written::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let Some((number, _)) = name.strip_suffix(".md").and_then(|name| name.split_once('-'))
        else {
            continue;
        };
        let text = std::fs::read_to_string(&path).unwrap();
        let blocks = text.split("```yaml\n").skip(1).filter_map(|block| block.split("```").next());
        let policies = blocks.filter(|block| block.contains("kind: NetworkPolicy"));
        let policies = policies.enumerate();
        all.extend(policies.map(|(at, text)| ((number.to_owned(), at), text.to_owned())));
    }
    all
}

fn objects(text: &str) -> Vec<Object> {
    let (objects, told) = object::read("recipe", text);
    assert_eq!(told, [], "{text}");
    objects
}

/// `NAMESPACE LABELS` or `NAMESPACE/POD LABELS`.
fn thing(line: &str) -> Value {
    let (name, labels) = line.split_once(' ').unwrap();
    let labels: serde_json::Map<String, Value> = labels
        .split(',')
        .map(|label| label.split_once('=').unwrap())
        .map(|(key, value)| (key.to_owned(), json!(value)))
        .collect();
    match name.split_once('/') {
        None => json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels},
        }),
        Some((namespace, name)) => json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"namespace": namespace, "name": name, "labels": labels},
            "spec": {"containers": [{"name": "main"}]},
        }),
    }
}

/// An address, or `NAMESPACE/POD`.
fn ends(index: &Index, text: &str) -> Vec<End> {
    match text.split_once('/') {
        None => vec![End::Address(text.parse().unwrap())],
        Some((namespace, name)) => index.ends_of(&Workload::new(namespace, "Pod", name)).unwrap(),
    }
}

/// A line with our verdict in place of the expected one.
fn judged(index: &Index, line: &str) -> String {
    let (connection, _) = line.rsplit_once(' ').unwrap();
    let (source, destination) = connection.split_once(" > ").unwrap();
    let (destination, port) = destination.rsplit_once(':').unwrap();
    let (port, protocol) = match port.split_once("/UDP") {
        Some((port, _)) => (port, Protocol::Udp),
        None => (port, Protocol::Tcp),
    };
    let reach = Reach::new(index.policies(), []);
    let (source, destination) = (ends(index, source), ends(index, destination));
    let answer = reach.check(&source, &destination, (protocol, port.parse().unwrap())).unwrap();
    let verdict = if answer.denied == 0 { "allowed" } else { "denied" };
    format!("{connection} {verdict}")
}

// === impl Recipe ===

impl Recipe {
    fn world(&self) -> Index {
        Index::of(self.world.iter().flat_map(|line| objects(&thing(line).to_string())))
    }

    fn keys(&self) -> impl Iterator<Item = (String, usize)> {
        self.policies.iter().map(|(number, at)| ((*number).to_owned(), *at))
    }

    fn verdicts(&self, index: &Index) -> Vec<String> {
        self.verdicts.iter().map(|line| judged(index, line)).collect()
    }
}

#[test]
fn every_recipe_does_what_its_text_shows() {
    let Some(shared) = netenf_testkit::shared() else { return };
    let written = written(&shared.join("corpora/manifests/_recipes"));
    for recipe in &RECIPES {
        let mut index = recipe.world();
        let open: Vec<String> =
            recipe.verdicts.iter().map(|line| line.replace("denied", "allowed")).collect();
        assert_eq!(recipe.verdicts(&index), open, "before {:?} is applied", recipe.policies);
        for object in recipe.keys().flat_map(|key| objects(&written[&key])) {
            index.apply(object);
        }
        assert_eq!(index.diagnostics().count(), 0, "{:?}", recipe.policies);
        assert_eq!(recipe.verdicts(&index), recipe.verdicts, "{:?}", recipe.policies);
    }
    let used: BTreeSet<_> = RECIPES.iter().flat_map(Recipe::keys).collect();
    assert_eq!(used, written.into_keys().collect(), "every policy of the recipes is used");
}
