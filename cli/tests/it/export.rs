use crate::environment::Environment;

fn protected() -> Environment {
    let environment = Environment::learned();
    environment
        .good("promote statefulset/db -n shop --protect --accept-uncovered all --dir policies");
    environment.good("promote deployment/api -n shop --dir policies");
    environment
}

#[test]
fn native_objects_of_what_protects() {
    let environment = protected();
    insta::assert_snapshot!(environment.run("export --dir policies"), @"
    exit 0
    ----- stdout -----
    apiVersion: networking.k8s.io/v1
    kind: NetworkPolicy
    metadata:
      name: statefulset-db-ingress
      namespace: shop
    spec:
      ingress:
      - from:
        - namespaceSelector:
            matchLabels:
              kubernetes.io/metadata.name: shop
          podSelector:
            matchLabels:
              app: api
        ports:
        - port: 5432
          protocol: TCP
      - from:
        - namespaceSelector:
            matchLabels:
              kubernetes.io/metadata.name: shop
          podSelector:
            matchLabels:
              app: report
        ports:
        - port: 5432
          protocol: TCP
      podSelector:
        matchLabels:
          app: db
      policyTypes:
      - Ingress
    ----- stderr -----
    left out as not enforced yet: 5 objects; --assume-protect writes them too
    ");
}

#[test]
fn our_own_policies_without_their_status() {
    let environment = protected();
    insta::assert_snapshot!(environment.run("export statefulset/db --as wnp --dir policies"), @"
    exit 0
    ----- stdout -----
    apiVersion: networkenforcer.kubewarden.io/v1alpha1
    kind: WorkloadNetworkPolicy
    metadata:
      name: statefulset-db-ingress
      namespace: shop
      labels:
        networkenforcer.kubewarden.io/promoted-from: statefulset-db-ingress
    spec:
      mode: protect
      backend: kubernetes
      targetRef:
        kind: StatefulSet
        name: db
      direction: Ingress
      kubernetes:
        podSelector:
          matchLabels:
            app: db
        policyTypes:
        - Ingress
        ingress:
        - from:
          - namespaceSelector:
              matchLabels:
                kubernetes.io/metadata.name: shop
            podSelector:
              matchLabels:
                app: api
          ports:
          - protocol: TCP
            port: 5432
        - from:
          - namespaceSelector:
              matchLabels:
                kubernetes.io/metadata.name: shop
            podSelector:
              matchLabels:
                app: report
          ports:
          - protocol: TCP
            port: 5432
    ");
    let names = environment.good("export --as wnp --dir policies --assume-protect");
    assert!(!names.contains("mode: monitor"), "{names}");
}

#[test]
fn one_file_an_object_and_a_kustomization() {
    let environment = protected();
    insta::assert_snapshot!(environment.run("export -n shop --assume-protect --output-dir deploy --dir policies"), @"
    exit 0
    ----- stderr -----
    5 objects and kustomization.yaml written to deploy
    ");
    let files: Vec<String> = environment.files("deploy").into_keys().collect();
    insta::assert_snapshot!(files.join("\n"), @"
    kustomization.yaml
    shop.deployment-api-egress.networkpolicy.yaml
    shop.deployment-api-ingress.networkpolicy.yaml
    shop.deployment-web-egress.networkpolicy.yaml
    shop.deployment-web-ingress.networkpolicy.yaml
    shop.statefulset-db-ingress.networkpolicy.yaml
    ");
    insta::assert_snapshot!(environment.read("deploy/kustomization.yaml"), @"
    apiVersion: kustomize.config.k8s.io/v1beta1
    kind: Kustomization
    resources:
    - shop.deployment-api-egress.networkpolicy.yaml
    - shop.deployment-api-ingress.networkpolicy.yaml
    - shop.deployment-web-egress.networkpolicy.yaml
    - shop.deployment-web-ingress.networkpolicy.yaml
    - shop.statefulset-db-ingress.networkpolicy.yaml
    ");
}

#[test]
fn a_persons_kustomization_stays() {
    let environment = protected();
    let own = "resources:\n- my-shop.statefulset-db-ingress.networkpolicy.yaml\n# mine\n";
    environment.write("deploy/kustomization.yml", own);
    insta::assert_snapshot!(environment.run("export statefulset/db --output-dir deploy --dir policies"), @"
    exit 0
    ----- stderr -----
    1 object written to deploy
    deploy/kustomization.yml is there already and stays as it is; add to its resources: shop.statefulset-db-ingress.networkpolicy.yaml
    ");
    assert_eq!(environment.read("deploy/kustomization.yml"), own);
    assert!(!environment.path("deploy/kustomization.yaml").exists(), "two would be an error");
    environment.write(
        "deploy/kustomization.yml",
        "resources: [./shop.statefulset-db-ingress.networkpolicy.yaml]\n",
    );
    insta::assert_snapshot!(environment.run("export statefulset/db --output-dir deploy --dir policies"), @"
    exit 0
    ----- stderr -----
    1 object written to deploy
    ");
}

#[test]
fn nothing_to_export_writes_nothing() {
    let environment = Environment::learned();
    insta::assert_snapshot!(environment.run("export -n monitoring --output-dir deploy --dir policies"), @"
    exit 0
    ----- stderr -----
    left out as not enforced yet: 1 object; --assume-protect writes them too
    there is nothing to export; nothing was written
    ");
    assert!(!environment.path("deploy").exists());
    insta::assert_snapshot!(environment.run("export -n monitoring --dir policies"), @"
    exit 0
    ----- stderr -----
    left out as not enforced yet: 1 object; --assume-protect writes them too
    ");
}

#[test]
fn a_folder_that_cannot_be_written_is_an_error() {
    let environment = protected();
    environment.write("deploy", "a file");
    insta::assert_snapshot!(environment.run("export --output-dir deploy --dir policies"), @"
    exit 3
    ----- stderr -----
    left out as not enforced yet: 5 objects; --assume-protect writes them too
    error: cannot write to deploy: File exists (os error 17)
    hint: give a folder that you may write to with --output-dir
    ");
}
