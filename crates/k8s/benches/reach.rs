//! The map of what may talk to what, of a cluster of 500 workloads with a NetworkPolicy each.

use std::fmt::Write as _;
use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use netenf_k8s::reach::Reach;
use netenf_k8s::{Index, object};
use netenf_learn::Workload;
use netenf_policy::End;

/// Workloads of three pods, and a policy for each that admits two others and a block of addresses of its own.
fn cluster(workloads: usize) -> Index {
    let mut text = String::new();
    for number in 0..workloads {
        let namespace = number % 20;
        let (one, other) = ((number + 20) % workloads, (number + 40) % workloads);
        for pod in 0..3 {
            let _ = writeln!(
                text,
                r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"w{number}-{pod}","namespace":"n{namespace}","labels":{{"app":"w{number}"}},"ownerReferences":[{{"apiVersion":"apps/v1","kind":"StatefulSet","name":"w{number}","uid":"u","controller":true}}]}},"spec":{{"containers":[]}},"status":{{"podIP":"10.{}.{}.{pod}"}}}}"#,
                number / 200,
                number % 200,
            );
        }
        let _ = writeln!(
            text,
            r#"{{"apiVersion":"networking.k8s.io/v1","kind":"NetworkPolicy","metadata":{{"name":"w{number}","namespace":"n{namespace}"}},"spec":{{"podSelector":{{"matchLabels":{{"app":"w{number}"}}}},"policyTypes":["Ingress","Egress"],"ingress":[{{"from":[{{"podSelector":{{"matchLabels":{{"app":"w{one}"}}}}}},{{"namespaceSelector":{{}},"podSelector":{{"matchLabels":{{"app":"w{other}"}}}}}}],"ports":[{{"port":8080}}]}}],"egress":[{{"to":[{{"podSelector":{{}}}},{{"ipBlock":{{"cidr":"203.{}.{}.0/24"}}}}]}}]}}}}"#,
            number / 200,
            number % 200,
        );
    }
    let (objects, told) = object::read("bench", &text);
    assert_eq!(told, []);
    Index::of(objects)
}

fn map(criterion: &mut Criterion) {
    let index = cluster(500);
    let workloads: Vec<(Workload, Vec<End>)> = index
        .top_workloads()
        .filter_map(|workload| Some((workload.clone(), index.ends_of(workload)?)))
        .collect();
    let reach = Reach::new(index.policies(), []);
    let mut group = criterion.benchmark_group("reach");
    group.sample_size(10);
    group.bench_function("map of 500 workloads and policies", |bencher| {
        bencher.iter(|| black_box(reach.map(&index, &workloads, |_| true)));
    });
    group.finish();
}

criterion_group!(benches, map);
criterion_main!(benches);
