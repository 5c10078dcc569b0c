use crate::environment::Environment;

/// The commands that the help lists.
pub(crate) fn commands() -> Vec<String> {
    let help = Environment::new().good("--help");
    let list = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let names = list.lines().filter(|line| !line.starts_with("   "));
    names
        .map(|line| line.split_whitespace().next().unwrap().to_owned())
        .filter(|name| name != "help")
        .collect()
}

#[test]
fn short_texts_follow_kubectls_conventions() {
    let environment = Environment::new();
    for command in commands() {
        let help = environment.good(&format!("{command} -h"));
        let short = help.lines().next().unwrap();
        assert!(short.chars().next().unwrap().is_uppercase(), "{command}: {short}");
        assert!(!short.ends_with('.'), "{command}: {short}");
        let flags = help.lines().filter(|line| line.trim_start().starts_with('-'));
        let texts = flags.filter_map(|line| line.trim_start().split_once("  "));
        for (flag, text) in texts {
            let text = text.trim();
            let first = text.chars().next().unwrap();
            assert!(!first.is_lowercase(), "{command} {flag}: {text}");
            assert!(!text.ends_with('.'), "{command} {flag}: {text}");
        }
    }
}

#[test]
fn help_is_for_people() {
    let environment = Environment::new();
    insta::assert_snapshot!(environment.run("--help"), @"
    exit 0
    ----- stdout -----
    Learn which workloads talk to each other, review least-privilege policies, and enforce them

    Usage: kubectl netenf [OPTIONS] <COMMAND>

    Commands:
      learn       Learn from recorded flows and propose policies
      get         List proposals and policies
      diff        Show what promoting would allow, or what protecting would have denied
      check       Check whether policies would allow a connection, and say why
      explain     Explain what policies let workloads do
      promote     Turn proposals into policies, and monitored policies into protecting ones
      demote      Take a policy one step back: from protect to monitor, from monitor to learning
      violations  List what policies deny, or would deny if they protected
      ack         Acknowledge violations: they are known, stay denied, and are not reported again
      allow       Add a rule for something uncovered, for a violation, or for a suggested range
      flows       Show recorded flows
      export      Write policies as objects to apply
      history     Show what was done to a workload's proposals and policies
      rollback    Restore an earlier revision of a policy
      status      Show what was received, learned, skipped and lost
      completion  Print a completion script for a shell
      version     Print the version
      help        Print this message or the help of the given subcommand(s)

    Options:
      -h, --help
              Print help (see a summary with '-h')

    Global options:
          --dir <DIR>
              Folder of YAML files to work on, one object a file
              
              [env: NETENF_DIR]

      -n, --namespace <NAMESPACE>
              Namespace to work in; all namespaces of the folder or recording if not given

      -A, --all-namespaces
              Work in all namespaces, whatever -n says

          --color <WHEN>
              Colour of the output

              Possible values:
              - auto:   On a terminal, unless NO_COLOR is set
              - always: Always
              - never:  Never
              
              [default: auto]

    Examples:
      # Learn from a recording
      kubectl netenf learn --input-file flows.jsonl --dir policies

      # Look at what is proposed
      kubectl netenf get --dir policies

      # Watch what a workload's policies would deny
      kubectl netenf promote deployment/web -n shop --dir policies
    ");
    insta::assert_snapshot!(environment.run("learn --help"), @"
    exit 0
    ----- stdout -----
    Learn from recorded flows and propose policies

    Reads recordings of Hubble (hubble observe -o json), Goldmane or ztunnel and proposes, for each
    workload and direction, a policy that allows what was seen and nothing else. What was seen but no
    rule can express is listed as uncovered. With --dir the proposals are merged into a folder; without
    it they are printed and nothing is stored.

    Usage: kubectl netenf learn [OPTIONS] [WORKLOAD]...

    Arguments:
      [WORKLOAD]...
              Workloads to learn, as KIND/NAME; all of the namespaces if none is given

    Options:
          --input-file <FILE>
              Recorded flows: a file or - (repeatable); gzip and zstd are unpacked

          --provider <PROVIDER>
              Who wrote the recording, if it cannot be told from its content

              Possible values:
              - cilium: Cilium: Hubble
              - calico: Calico: Goldmane
              - istio:  Istio ambient: ztunnel

          --strict
              Fail on the first line that cannot be decoded

          --cluster-state <PLACE>
              The cluster's objects as kubectl get -o yaml or json prints them: a file, a folder or -

          --backend <BACKEND>
              What enforces the policies; decided by the recording's provider if not given

              Possible values:
              - kubernetes: Kubernetes NetworkPolicy
              - istio:      Istio AuthorizationPolicy

          --cluster-domain <DOMAIN>
              DNS domain of the cluster
              
              [default: cluster.local]

          --compat <PLUGIN>
              Network plugin whose deviations from Kubernetes' rules proposals are fitted to; found in
              --cluster-state if not given

              Possible values:
              - none:        None: rules as Kubernetes defines them
              - aws-vpc-cni: Checks the service's own port too, before translation
              - kube-router: Does not let pass what comes from a pod's own node
              - kindnet:     Does not let pass what comes from a pod's own node

          --exclude-namespace <NAMESPACE>
              Namespaces never to learn (repeatable)

          --exclude-workload <WORKLOAD>
              Workloads never to learn, as [NAMESPACE/]KIND/NAME (repeatable)

          --subjects <KINDS>
              Kinds that get proposals

              Possible values:
              - standard: Deployment, StatefulSet and DaemonSet
              - all:      Also ReplicaSet, Job, CronJob and Pod
              
              [default: standard]

          --external <HOW>
              What becomes of addresses outside the cluster

              Possible values:
              - uncovered: Listed as uncovered, for a person to allow
              - addresses: A rule for each address
              
              [default: uncovered]

          --max-rules <N>
              The most peers in a proposal
              
              [default: 250]

          --max-ports <N>
              The most ports of a peer
              
              [default: 100]

          --ambient-probe-prefix <BITS>
              Prefix length for the address of IPv6 probes under Istio ambient
              
              [default: 128]

          --fresh
              Start over: forget the counters, and the evidence of the proposals that are learned again

          --dry-run[=<client>]
              Show what would change in the folder and change nothing

              Possible values:
              - client: Print what would be written

      -o, --output <FORMAT>
              Output: yaml (proposals), json (what became of every flow), or name
              
              [possible values: yaml, json, name]

      -h, --help
              Print help (see a summary with '-h')

    Global options:
          --dir <DIR>
              Folder of YAML files to work on, one object a file
              
              [env: NETENF_DIR]

      -n, --namespace <NAMESPACE>
              Namespace to work in; all namespaces of the folder or recording if not given

      -A, --all-namespaces
              Work in all namespaces, whatever -n says

          --color <WHEN>
              Colour of the output

              Possible values:
              - auto:   On a terminal, unless NO_COLOR is set
              - always: Always
              - never:  Never
              
              [default: auto]

    Examples:
      # Print proposals from a recording; nothing is stored
      kubectl netenf learn --input-file flows.jsonl

      # Know owners, selectors and services from the cluster's objects, and keep proposals in a folder
      kubectl netenf learn --input-file flows.jsonl --cluster-state state.yaml --dir policies

      # Learn one namespace from a compressed recording, and print what became of every flow
      kubectl netenf learn -n shop --input-file flows.jsonl.gz -o json
    ");
    insta::assert_snapshot!(environment.run("get --help"), @"
    exit 0
    ----- stdout -----
    List proposals and policies

    STATE is learning (there is no rule yet, or rules came within the last hour before the newest flow),
    stable (none did), monitor or protect. NEW counts the rules that came within that hour. UNCOVERED
    counts what was seen and has no rule; what a person accepted to stay denied is told apart, as
    accepted(N).

    Usage: kubectl netenf get [OPTIONS] [WORKLOAD]...

    Arguments:
      [WORKLOAD]...
              Workloads (KIND/NAME, NAMESPACE/KIND/NAME) or names of proposals and policies

    Options:
          --direction <DIRECTION>
              Only one direction

              Possible values:
              - ingress: Into the workload
              - egress:  Out of the workload

          --state <STATE>
              Only objects in this state (repeatable)
              
              [possible values: learning, stable, monitor, protect]

          --no-headers
              Leave the titles out

      -o, --output <FORMAT>
              Output: wide, json, yaml or name
              
              [possible values: wide, json, yaml, name]

      -h, --help
              Print help (see a summary with '-h')

    Global options:
          --dir <DIR>
              Folder of YAML files to work on, one object a file
              
              [env: NETENF_DIR]

      -n, --namespace <NAMESPACE>
              Namespace to work in; all namespaces of the folder or recording if not given

      -A, --all-namespaces
              Work in all namespaces, whatever -n says

          --color <WHEN>
              Colour of the output

              Possible values:
              - auto:   On a terminal, unless NO_COLOR is set
              - always: Always
              - never:  Never
              
              [default: auto]

    Examples:
      # What there is, in all namespaces
      kubectl netenf get --dir policies

      # One workload, with its kind, direction and backend
      kubectl netenf get deployment/web -n shop --dir policies -o wide

      # The objects themselves, as a List
      kubectl netenf get -n shop --dir policies -o json
    ");
    insta::assert_snapshot!(environment.run("diff --help"), @"
    exit 0
    ----- stdout -----
    Show what promoting would allow, or what protecting would have denied

    Compares each proposal with the policy of the same name, or a folder with another one (-f), as
    connectivity: + is new, - is gone, ~ is another port of a known peer or another mode, ? was seen and
    has no rule; of a policy these are its violations. Exits with 1 if there is a difference. With
    --against-traffic it lists the recorded connections that the policies and proposals would deny if
    they protected.

    Usage: kubectl netenf diff [OPTIONS] [WORKLOAD]...

    Arguments:
      [WORKLOAD]...
              Workloads (KIND/NAME, NAMESPACE/KIND/NAME) or names of proposals and policies

    Options:
          --direction <DIRECTION>
              Only one direction

              Possible values:
              - ingress: Into the workload
              - egress:  Out of the workload

      -f, --filename <DIR>
              Older folder to compare with: shows what --dir has in place of it

          --against-traffic
              List recorded connections that would be denied if everything selected protected

          --connectivity
              Compare who may talk to whom by all policies together: those that protect, with those that
              monitor and proposals too; with -f the older folder's with this one's

          --cluster-state <PLACE>
              The cluster's objects, whose own policies count, with --connectivity or --against-traffic:
              a file, a folder or - (repeatable)

          --assume-protect
              With --connectivity and -f: count monitoring policies and proposals of both as if they
              protected

      -o, --output <FORMAT>
              Output: text, markdown, json, dot (of --connectivity, for graphviz), or yaml (a plain diff
              of the objects)
              
              [default: text]
              [possible values: text, markdown, json, dot, yaml]

      -h, --help
              Print help (see a summary with '-h')

    Global options:
          --dir <DIR>
              Folder of YAML files to work on, one object a file
              
              [env: NETENF_DIR]

      -n, --namespace <NAMESPACE>
              Namespace to work in; all namespaces of the folder or recording if not given

      -A, --all-namespaces
              Work in all namespaces, whatever -n says

          --color <WHEN>
              Colour of the output

              Possible values:
              - auto:   On a terminal, unless NO_COLOR is set
              - always: Always
              - never:  Never
              
              [default: auto]

    Examples:
      # What promoting a workload's proposals would allow
      kubectl netenf diff deployment/web -n shop --dir policies

      # What protecting everything would have denied
      kubectl netenf diff --against-traffic --dir policies

      # A table for a pull request: this folder against the one on the main branch
      kubectl netenf diff --dir policies -f ../main/policies -o markdown

      # Who may talk to whom once everything protects, by all policies together, as a graph
      kubectl netenf diff --connectivity --dir policies --cluster-state state.yaml -o dot
    ");
    insta::assert_snapshot!(environment.run("promote --help"), @"
    exit 0
    ----- stdout -----
    Turn proposals into policies, and monitored policies into protecting ones

    Without a flag the policy only monitors: what it would deny is reported. With --protect a preflight
    is printed first, and nothing at all is changed unless every item passes or is accepted by its name.

    Usage: kubectl netenf promote [OPTIONS] [WORKLOAD]...

    Arguments:
      [WORKLOAD]...
              Workloads (KIND/NAME, NAMESPACE/KIND/NAME) or names of proposals and policies

    Options:
          --direction <DIRECTION>
              Only one direction

              Possible values:
              - ingress: Into the workload
              - egress:  Out of the workload

          --all
              All proposals (and, with --protect, all monitored policies) of the namespace

          --monitor
              Report what would be denied (the default)

          --protect
              Deny what is not allowed

          --cluster-state <PLACE>
              The cluster's objects, whose own policies count in the preflight: a file, a folder or -
              (repeatable)

          --min-window <TIME>
              The least recorded time that --protect asks for
              
              [default: 24h]

          --quiet-period <TIME>
              The time in which no rule may be new for --protect
              
              [default: 1h]

          --accept <ITEM>
              Preflight items to accept whatever they say: window, quiet, traffic, enforcer, dns
              
              [possible values: window, quiet, traffic, enforcer, dns]

          --accept-uncovered <ID>
              Uncovered items whose loss is accepted, by id, or all

          --deny-all
              Protect also what has no rule at all, which denies everything

          --dry-run[=<client>]
              Show what would be done and change nothing

              Possible values:
              - client: Print what would be written

      -o, --output <FORMAT>
              Output: json (the preflight)

              Possible values:
              - json: JSON

      -h, --help
              Print help (see a summary with '-h')

    Global options:
          --dir <DIR>
              Folder of YAML files to work on, one object a file
              
              [env: NETENF_DIR]

      -n, --namespace <NAMESPACE>
              Namespace to work in; all namespaces of the folder or recording if not given

      -A, --all-namespaces
              Work in all namespaces, whatever -n says

          --color <WHEN>
              Colour of the output

              Possible values:
              - auto:   On a terminal, unless NO_COLOR is set
              - always: Always
              - never:  Never
              
              [default: auto]

    Examples:
      # Watch what a workload's policies would deny
      kubectl netenf promote deployment/web -n shop --dir policies

      # Show the preflight and change nothing
      kubectl netenf promote deployment/web --protect -n shop --dir policies --dry-run

      # Enforce, and accept that what has no rule will be denied
      kubectl netenf promote sts/db -n shop --protect --accept-uncovered all --dir policies
    ");
    insta::assert_snapshot!(environment.run("demote --help"), @"
    exit 0
    ----- stdout -----
    Take a policy one step back: from protect to monitor, from monitor to learning

    From protect to monitor nothing is blocked any more and violations are still reported. From monitor
    the policy becomes a proposal again, with its evidence, and learning goes on.

    Usage: kubectl netenf demote [OPTIONS] [WORKLOAD]...

    Arguments:
      [WORKLOAD]...
              Workloads (KIND/NAME, NAMESPACE/KIND/NAME) or names of proposals and policies

    Options:
          --direction <DIRECTION>
              Only one direction

              Possible values:
              - ingress: Into the workload
              - egress:  Out of the workload

          --all
              All policies of the namespace

          --to <STATE>
              How far back; one step if not given

              Possible values:
              - monitor:  Report, but do not deny
              - proposal: Learn again

          --dry-run[=<client>]
              Show what would be done and change nothing

              Possible values:
              - client: Print what would be written

      -h, --help
              Print help (see a summary with '-h')

    Global options:
          --dir <DIR>
              Folder of YAML files to work on, one object a file
              
              [env: NETENF_DIR]

      -n, --namespace <NAMESPACE>
              Namespace to work in; all namespaces of the folder or recording if not given

      -A, --all-namespaces
              Work in all namespaces, whatever -n says

          --color <WHEN>
              Colour of the output

              Possible values:
              - auto:   On a terminal, unless NO_COLOR is set
              - always: Always
              - never:  Never
              
              [default: auto]

    Examples:
      # Stop blocking, go on reporting
      kubectl netenf demote deployment/web -n shop --dir policies

      # Learn again
      kubectl netenf demote deployment/web --to proposal -n shop --dir policies

      # All policies of a namespace, only shown
      kubectl netenf demote --all -n shop --dir policies --dry-run
    ");
    insta::assert_snapshot!(environment.run("violations --help"), @"
    exit 0
    ----- stdout -----
    List what policies deny, or would deny if they protected

    Without a recording these are the violations that learning has stored in the folder's policies. With
    --input-file they are those that a recording shows against the policies, as learn would record them;
    nothing is written then. Acknowledged violations are known and left out unless they are asked for. A
    violation belongs to a namespace (-n) if either end does.

    Usage: kubectl netenf violations [OPTIONS] [WORKLOAD]...

    Arguments:
      [WORKLOAD]...
              Workloads (KIND/NAME, NAMESPACE/KIND/NAME) or names of proposals and policies

    Options:
          --direction <DIRECTION>
              Only one direction

              Possible values:
              - ingress: Into the workload
              - egress:  Out of the workload

          --input-file <FILE>
              Recorded flows: a file or - (repeatable); gzip and zstd are unpacked

          --provider <PROVIDER>
              Who wrote the recording, if it cannot be told from its content

              Possible values:
              - cilium: Cilium: Hubble
              - calico: Calico: Goldmane
              - istio:  Istio ambient: ztunnel

          --strict
              Fail on the first line that cannot be decoded

          --cluster-state <PLACE>
              The cluster's objects as kubectl get -o yaml or json prints them: a file, a folder or -

          --backend <BACKEND>
              What enforces the policies; decided by the recording's provider if not given

              Possible values:
              - kubernetes: Kubernetes NetworkPolicy
              - istio:      Istio AuthorizationPolicy

          --cluster-domain <DOMAIN>
              DNS domain of the cluster
              
              [default: cluster.local]

          --compat <PLUGIN>
              Network plugin whose deviations from Kubernetes' rules proposals are fitted to; found in
              --cluster-state if not given

              Possible values:
              - none:        None: rules as Kubernetes defines them
              - aws-vpc-cni: Checks the service's own port too, before translation
              - kube-router: Does not let pass what comes from a pod's own node
              - kindnet:     Does not let pass what comes from a pod's own node

          --since <TIME>
              Only what was seen since a time (RFC 3339) or within an age (5m, 2h, 3d)

          --from <END>
              Only what such an end opened: KIND/NAME, pod/NAME, node/NAME, namespace/NAME, an address,
              CIDR or name, world, host, apiserver (repeatable)

          --to <END>
              Only what was opened to such an end, written like --from (repeatable)

          --acknowledged
              Show acknowledged violations too, in a STATE of their own

          --exit-code
              Exit with 1 if anything is listed

          --no-headers
              Leave the titles out

      -o, --output <FORMAT>
              Output: table, wide, json, yaml or name
              
              [default: table]
              [possible values: table, wide, json, yaml, name]

      -h, --help
              Print help (see a summary with '-h')

    Global options:
          --dir <DIR>
              Folder of YAML files to work on, one object a file
              
              [env: NETENF_DIR]

      -n, --namespace <NAMESPACE>
              Namespace to work in; all namespaces of the folder or recording if not given

      -A, --all-namespaces
              Work in all namespaces, whatever -n says

          --color <WHEN>
              Colour of the output

              Possible values:
              - auto:   On a terminal, unless NO_COLOR is set
              - always: Always
              - never:  Never
              
              [default: auto]

    Examples:
      # What a namespace's policies deny, or would deny
      kubectl netenf violations -n shop --dir policies

      # What a new recording shows against the policies; nothing is stored
      kubectl netenf violations --input-file flows.jsonl --cluster-state state.yaml --dir policies

      # For CI: exit with 1 if there was any within a day
      kubectl netenf violations --since 24h --exit-code --dir policies
    ");
    insta::assert_snapshot!(environment.run("ack --help"), @"
    exit 0
    ----- stdout -----
    Acknowledge violations: they are known, stay denied, and are not reported again

    What is seen of an acknowledged violation later is added to its record, also after the policy
    protects. To let the traffic pass, use allow. IDs are those that violations shows; the first four
    characters of one are enough while they are unique. What can be done is done, and what cannot is
    told.

    Usage: kubectl netenf ack [OPTIONS] [ID]...

    Arguments:
      [ID]...
              Ids of violations

    Options:
          --all
              Every violation, or every one of the ends that are given

          --from <END>
              Only what such an end opened: KIND/NAME, pod/NAME, node/NAME, namespace/NAME, an address,
              CIDR or name, world, host, apiserver (repeatable)

          --to <END>
              Only what was opened to such an end, written like --from (repeatable)

          --reason <TEXT>
              Why they may stay as they are, in at most 1024 characters

          --undo
              Take the acknowledgement back

      -y, --yes
              Change all without being asked; needed for --all where there is no terminal

          --dry-run[=<client>]
              Show what would be done and change nothing

              Possible values:
              - client: Print what would be written

      -o, --output <FORMAT>
              Output: name
              
              [possible values: name]

      -h, --help
              Print help (see a summary with '-h')

    Global options:
          --dir <DIR>
              Folder of YAML files to work on, one object a file
              
              [env: NETENF_DIR]

      -n, --namespace <NAMESPACE>
              Namespace to work in; all namespaces of the folder or recording if not given

      -A, --all-namespaces
              Work in all namespaces, whatever -n says

          --color <WHEN>
              Colour of the output

              Possible values:
              - auto:   On a terminal, unless NO_COLOR is set
              - always: Always
              - never:  Never
              
              [default: auto]

    Examples:
      # Known, and to stay denied
      kubectl netenf ack vf760ecfd --reason migration --dir policies

      # Everything that was opened to the outside world; only shown
      kubectl netenf ack --all --to world --reason updates --dir policies --dry-run

      # Report it again
      kubectl netenf ack vf760ecfd --undo --dir policies
    ");
    insta::assert_snapshot!(environment.run("allow --help"), @"
    exit 0
    ----- stdout -----
    Add a rule for something uncovered, for a violation, or for a suggested range

    IDs are those that get -o yaml, diff and the preflight show; the first four characters of one are
    enough while they are unique. An outside peer is allowed by its addresses unless something else is
    chosen; nothing is ever widened unasked.

    Usage: kubectl netenf allow [OPTIONS] <ID>...

    Arguments:
      <ID>...
              Ids of uncovered items, violations or suggestions

    Options:
          --addresses
              Allow every address that was seen, one by one (the default for outside peers)

          --cidr <CIDR>
              Allow a network that holds the addresses that were seen (repeatable: all of them together)

          --any
              Allow every outside address of both IP versions

          --except <CIDR>
              Further networks that --any leaves out, such as the cluster's own (repeatable)

          --peer
              Allow the pods of the peer (the default for pods), or its mesh identity

          --dry-run[=<client>]
              Show what would be done and change nothing

              Possible values:
              - client: Print what would be written

      -h, --help
              Print help (see a summary with '-h')

    Global options:
          --dir <DIR>
              Folder of YAML files to work on, one object a file
              
              [env: NETENF_DIR]

      -n, --namespace <NAMESPACE>
              Namespace to work in; all namespaces of the folder or recording if not given

      -A, --all-namespaces
              Work in all namespaces, whatever -n says

          --color <WHEN>
              Colour of the output

              Possible values:
              - auto:   On a terminal, unless NO_COLOR is set
              - always: Always
              - never:  Never
              
              [default: auto]

    Examples:
      # Allow an outside peer by all of its addresses that were seen
      kubectl netenf allow u3f9k2a --dir policies

      # Allow it by a network
      kubectl netenf allow u3f9k2a --cidr 203.0.113.0/24 --dir policies

      # Take a suggested range in place of a list of ports, but only show it
      kubectl netenf allow s81c0qz --dir policies --dry-run
    ");
    insta::assert_snapshot!(environment.run("flows --help"), @"
    exit 0
    ----- stdout -----
    Show recorded flows

    Filters: values of one flag are alternatives, different flags must all hold, and each --not turns
    the filter that follows it around. A flow belongs to a namespace (-n) if either end does. Without
    --raw, answers and packets of connections that are already open are left out of tables. JSON holds
    them, with what the source says of its nodes and losses: learning from it is like learning from the
    recording.

    Usage: kubectl netenf flows [OPTIONS] [WORKLOAD]...

    Arguments:
      [WORKLOAD]...
              Either end: KIND/NAME, pod/NAME, node/NAME, namespace/NAME, an address, CIDR or name,
              world, host, apiserver

    Options:
          --input-file <FILE>
              Recorded flows: a file or - (repeatable); gzip and zstd are unpacked

          --provider <PROVIDER>
              Who wrote the recording, if it cannot be told from its content

              Possible values:
              - cilium: Cilium: Hubble
              - calico: Calico: Goldmane
              - istio:  Istio ambient: ztunnel

          --strict
              Fail on the first line that cannot be decoded

          --cluster-state <PLACE>
              The cluster's objects, by which --group and filters know workloads: a file, a folder or -

          --group
              Count by who talks to whom instead of listing

          --raw
              Show answers, repeated packets and socket events too

          --first <N>
              Only the first N that match

          --last <N>
              Only the last N that match

          --print-filters
              Print the filters as they are understood, one a line, and stop

      -o, --output <FORMAT>
              Output: compact, wide, or json (the source's own JSON, which can be learned from again)
              
              [default: compact]
              [possible values: compact, wide, json]

      -h, --help
              Print help (see a summary with '-h')

    Filters:
          --from <END>
              The sender, written like WORKLOAD

          --to <END>
              The receiver, written like WORKLOAD

          --peer <END>
              Either end, written like WORKLOAD

          --port <PORT>
              Port of either end, as a number

          --protocol <PROTOCOL>
              Protocol: tcp, udp, sctp, icmp, vrrp, igmp, esp, ah, gre or a number

          --verdict <VERDICT>
              What became of it
              
              [possible values: allowed, denied, would-deny]

          --direction <DIRECTION>
              Which way, as the reporter saw it
              
              [possible values: ingress, egress]

          --since <TIME>
              Not before: a time (RFC 3339) or an age (5m, 2h, 3d)

          --until <TIME>
              Not after: a time (RFC 3339) or an age (5m, 2h, 3d)

          --not
              Turn the filter that follows around: --not --peer host

    Global options:
          --dir <DIR>
              Folder of YAML files to work on, one object a file
              
              [env: NETENF_DIR]

      -n, --namespace <NAMESPACE>
              Namespace to work in; all namespaces of the folder or recording if not given

      -A, --all-namespaces
              Work in all namespaces, whatever -n says

          --color <WHEN>
              Colour of the output

              Possible values:
              - auto:   On a terminal, unless NO_COLOR is set
              - always: Always
              - never:  Never
              
              [default: auto]

    Examples:
      # What a workload talks to, and who talks to it
      kubectl netenf flows deployment/web -n shop --input-file flows.jsonl

      # Denied flows of a namespace, save those of nodes, to learn from or to keep
      kubectl netenf flows -n shop --verdict denied --not --peer host --input-file flows.jsonl -o json

      # Who talks to whom, counted
      kubectl netenf flows --group --input-file flows.jsonl
    ");
    insta::assert_snapshot!(environment.run("export --help"), @"
    exit 0
    ----- stdout -----
    Write policies as objects to apply

    Native objects are what the cluster enforces: a NetworkPolicy for each policy in protect, an
    AuthorizationPolicy for each Istio policy (with the dry-run annotation in monitor). They are written
    as the API server stores them, so that kubectl diff shows nothing after they are applied.

    A folder is kept up to date: files that an earlier export wrote, and whose policy is gone or not
    enforced any more, are removed, as far as namespace and names given here reach. A file of yours is
    neither written over nor removed.

    Usage: kubectl netenf export [OPTIONS] [WORKLOAD]...

    Arguments:
      [WORKLOAD]...
              Workloads (KIND/NAME, NAMESPACE/KIND/NAME) or names of proposals and policies

    Options:
          --direction <DIRECTION>
              Only one direction

              Possible values:
              - ingress: Into the workload
              - egress:  Out of the workload

          --as <FORM>
              What to write

              Possible values:
              - native: What clusters enforce: NetworkPolicy and AuthorizationPolicy
              - wnp:    What the agent enforces: WorkloadNetworkPolicy
              
              [default: native]

          --assume-protect
              Write monitored policies and proposals too, as if they protected

          --output-dir <DIR>
              Folder to write one file an object into, with a kustomization.yaml; else everything is
              printed

      -h, --help
              Print help (see a summary with '-h')

    Global options:
          --dir <DIR>
              Folder of YAML files to work on, one object a file
              
              [env: NETENF_DIR]

      -n, --namespace <NAMESPACE>
              Namespace to work in; all namespaces of the folder or recording if not given

      -A, --all-namespaces
              Work in all namespaces, whatever -n says

          --color <WHEN>
              Colour of the output

              Possible values:
              - auto:   On a terminal, unless NO_COLOR is set
              - always: Always
              - never:  Never
              
              [default: auto]

    Examples:
      # Native objects of everything that protects, to the terminal
      kubectl netenf export --dir policies

      # One file an object and a kustomization.yaml
      kubectl netenf export -n shop --dir policies --output-dir deploy

      # Our own policies, for the agent to enforce
      kubectl netenf export --as wnp --dir policies
    ");
    insta::assert_snapshot!(environment.run("history --help"), @"
    exit 0
    ----- stdout -----
    Show what was done to a workload's proposals and policies

    Every change that a command makes is kept as a revision, with the object as it was afterwards.

    Usage: kubectl netenf history [OPTIONS] [WORKLOAD]...

    Arguments:
      [WORKLOAD]...
              Workloads (KIND/NAME, NAMESPACE/KIND/NAME) or names of proposals and policies

    Options:
          --direction <DIRECTION>
              Only one direction

              Possible values:
              - ingress: Into the workload
              - egress:  Out of the workload

      -o, --output <FORMAT>
              Output: json

              Possible values:
              - json: JSON

      -h, --help
              Print help (see a summary with '-h')

    Global options:
          --dir <DIR>
              Folder of YAML files to work on, one object a file
              
              [env: NETENF_DIR]

      -n, --namespace <NAMESPACE>
              Namespace to work in; all namespaces of the folder or recording if not given

      -A, --all-namespaces
              Work in all namespaces, whatever -n says

          --color <WHEN>
              Colour of the output

              Possible values:
              - auto:   On a terminal, unless NO_COLOR is set
              - always: Always
              - never:  Never
              
              [default: auto]

    Examples:
      # What was done to a workload's policies
      kubectl netenf history deployment/web -n shop --dir policies

      # Only the way out
      kubectl netenf history deployment/web --direction egress -n shop --dir policies

      # With the objects as they were
      kubectl netenf history deployment/web -n shop --dir policies -o json
    ");
    insta::assert_snapshot!(environment.run("rollback --help"), @"
    exit 0
    ----- stdout -----
    Restore an earlier revision of a policy

    The rules of the revision become a new revision; violations and evidence stay. The mode is restored
    too, save that a policy that monitors goes on monitoring: only promote makes it protect.

    Usage: kubectl netenf rollback [OPTIONS] [WORKLOAD]...

    Arguments:
      [WORKLOAD]...
              Workloads (KIND/NAME, NAMESPACE/KIND/NAME) or names of proposals and policies

    Options:
          --direction <DIRECTION>
              Only one direction

              Possible values:
              - ingress: Into the workload
              - egress:  Out of the workload

          --to-revision <N>
              The revision, as history numbers it; the one before the newest if not given

          --dry-run[=<client>]
              Show what would be done and change nothing

              Possible values:
              - client: Print what would be written

      -h, --help
              Print help (see a summary with '-h')

    Global options:
          --dir <DIR>
              Folder of YAML files to work on, one object a file
              
              [env: NETENF_DIR]

      -n, --namespace <NAMESPACE>
              Namespace to work in; all namespaces of the folder or recording if not given

      -A, --all-namespaces
              Work in all namespaces, whatever -n says

          --color <WHEN>
              Colour of the output

              Possible values:
              - auto:   On a terminal, unless NO_COLOR is set
              - always: Always
              - never:  Never
              
              [default: auto]

    Examples:
      # Back to the revision before the newest one
      kubectl netenf rollback deployment/web --direction egress -n shop --dir policies

      # Back to a certain one
      kubectl netenf rollback deployment-web-egress --to-revision 1 -n shop --dir policies

      # Only show what would be done
      kubectl netenf rollback deployment-web-egress --to-revision 1 -n shop --dir policies --dry-run
    ");
    insta::assert_snapshot!(environment.run("status --help"), @r#"
    exit 0
    ----- stdout -----
    Show what was received, learned, skipped and lost

    Answers "why is nothing proposed": every observation is counted once, as learned, skipped (with the
    reason), uncovered, violation or error.

    Usage: kubectl netenf status [OPTIONS]

    Options:
          --check
              Exit with 1 if nothing was learned, or if there were errors, losses, nodes that do not
              report, or more than a folder keeps

      -o, --output <FORMAT>
              Output: json

              Possible values:
              - json: JSON

      -h, --help
              Print help (see a summary with '-h')

    Global options:
          --dir <DIR>
              Folder of YAML files to work on, one object a file
              
              [env: NETENF_DIR]

      -n, --namespace <NAMESPACE>
              Namespace to work in; all namespaces of the folder or recording if not given

      -A, --all-namespaces
              Work in all namespaces, whatever -n says

          --color <WHEN>
              Colour of the output

              Possible values:
              - auto:   On a terminal, unless NO_COLOR is set
              - always: Always
              - never:  Never
              
              [default: auto]

    Examples:
      # What became of everything that was seen
      kubectl netenf status --dir policies

      # The counters as JSON
      kubectl netenf status --dir policies -o json

      # For CI: fail if nothing was learned, or input was bad or lost
      kubectl netenf status --dir policies --check
    "#);
    insta::assert_snapshot!(environment.run("completion --help"), @r#"
    exit 0
    ----- stdout -----
    Print a completion script for a shell

    The script completes kubectl-netenf itself. kubectl completes "kubectl netenf" by running the
    program kubectl_complete-netenf, which stands beside this one in a release.

    Usage: kubectl netenf completion [OPTIONS] <SHELL>

    Arguments:
      <SHELL>
              The shell
              
              [possible values: bash, elvish, fish, powershell, zsh]

    Options:
      -h, --help
              Print help (see a summary with '-h')

    Global options:
          --dir <DIR>
              Folder of YAML files to work on, one object a file
              
              [env: NETENF_DIR]

      -n, --namespace <NAMESPACE>
              Namespace to work in; all namespaces of the folder or recording if not given

      -A, --all-namespaces
              Work in all namespaces, whatever -n says

          --color <WHEN>
              Colour of the output

              Possible values:
              - auto:   On a terminal, unless NO_COLOR is set
              - always: Always
              - never:  Never
              
              [default: auto]

    Examples:
      # Completion for bash, in this shell
      kubectl netenf completion bash

      # Completion for zsh
      kubectl netenf completion zsh

      # Completion for fish
      kubectl netenf completion fish
    "#);
    insta::assert_snapshot!(environment.run("version --help"), @"
    exit 0
    ----- stdout -----
    Print the version

    Prints the version of this program and of the API that it reads and writes.

    Usage: kubectl netenf version [OPTIONS]

    Options:
      -o, --output <FORMAT>
              Output: json

              Possible values:
              - json: JSON

      -h, --help
              Print help (see a summary with '-h')

    Global options:
          --dir <DIR>
              Folder of YAML files to work on, one object a file
              
              [env: NETENF_DIR]

      -n, --namespace <NAMESPACE>
              Namespace to work in; all namespaces of the folder or recording if not given

      -A, --all-namespaces
              Work in all namespaces, whatever -n says

          --color <WHEN>
              Colour of the output

              Possible values:
              - auto:   On a terminal, unless NO_COLOR is set
              - always: Always
              - never:  Never
              
              [default: auto]

    Examples:
      # Version of this program and of its API
      kubectl netenf version

      # As JSON
      kubectl netenf version -o json

      # Also with colour off, for logs
      kubectl netenf version --color never
    ");
}

#[test]
fn every_command_has_its_help_compared() {
    let source = include_str!("help.rs");
    for command in commands() {
        assert!(source.contains(&format!("run(\"{command} --help\")")), "{command}");
    }
}

#[test]
fn without_a_command_the_help_is_shown() {
    let environment = Environment::new();
    let run = environment.run("");
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    assert!(run.stderr.contains("Usage: kubectl netenf"), "{run}");
}

#[test]
fn help_of_questions_about_policies() {
    let environment = Environment::new();
    insta::assert_snapshot!(environment.run("check --help"), @"
    exit 0
    ----- stdout -----
    Check whether policies would allow a connection, and say why

    Both directions must allow it: the way out of the source and the way into the destination. Native
    policies of -f and --cluster-state count, and ours that protect; --assume-protect adds those that
    monitor, and proposals. An end is [NAMESPACE/]KIND/NAME, [NAMESPACE/]pod/NAME, node/NAME,
    namespace/NAME, an address, a range of addresses outside the cluster, a domain name, world, host or
    apiserver; the other end may be [NAMESPACE/]svc/NAME too, or an address or name of a Service. Where
    an end is several pods, the connection must be allowed between all of them. Exits with 0 if it is
    allowed and with 1 if it is denied.

    Usage: kubectl netenf check [OPTIONS] --from <END> --to <END:PORT>

    Options:
          --from <END>
              The end that opens the connection

          --to <END:PORT>
              The other end, with its port after translation: END:PORT[/PROTOCOL], an IPv6 address in
              brackets

      -f, --filename <PLACE>
              Objects to judge by, policies too, in place of those of the same name in --cluster-state:
              a file, a folder or - (repeatable)

          --cluster-state <PLACE>
              The cluster's objects: a file, a folder or - (repeatable)

          --assume-protect
              Count our monitoring policies and proposals as if they protected

      -o, --output <FORMAT>
              Output: json

              Possible values:
              - json: JSON

      -h, --help
              Print help (see a summary with '-h')

    Global options:
          --dir <DIR>
              Folder of YAML files to work on, one object a file
              
              [env: NETENF_DIR]

      -n, --namespace <NAMESPACE>
              Namespace to work in; all namespaces of the folder or recording if not given

      -A, --all-namespaces
              Work in all namespaces, whatever -n says

          --color <WHEN>
              Colour of the output

              Possible values:
              - auto:   On a terminal, unless NO_COLOR is set
              - always: Always
              - never:  Never
              
              [default: auto]

    Examples:
      # Would a workload reach another by what protects now? --assume-protect counts the rest too
      kubectl netenf check --from deploy/web --to deploy/api:80 -n shop --dir policies

      # By what stands in the cluster, over UDP, from outside
      kubectl netenf check --from world --to deployment/web:53/UDP -n shop --cluster-state state.yaml

      # Before a policy is applied
      kubectl netenf check --from shop/sts/db --to 1.1.1.1:443 -f policy.yaml --cluster-state state.yaml
    ");
    insta::assert_snapshot!(environment.run("explain --help"), @"
    exit 0
    ----- stdout -----
    Explain what policies let workloads do

    For each workload and direction: the rules that select it in the order in which they decide, what
    becomes of everything else, and with whom it may talk. Without a workload it lists who may talk to
    whom. Native policies of -f and --cluster-state count, and ours that protect; --assume-protect adds
    those that monitor, and proposals.

    Usage: kubectl netenf explain [OPTIONS] [WORKLOAD]...

    Arguments:
      [WORKLOAD]...
              Workloads: KIND/NAME or NAMESPACE/KIND/NAME

    Options:
      -f, --filename <PLACE>
              Objects to judge by, policies too, in place of those of the same name in --cluster-state:
              a file, a folder or - (repeatable)

          --cluster-state <PLACE>
              The cluster's objects: a file, a folder or - (repeatable)

          --assume-protect
              Count our monitoring policies and proposals as if they protected

      -o, --output <FORMAT>
              Output: json

              Possible values:
              - json: JSON

      -h, --help
              Print help (see a summary with '-h')

    Global options:
          --dir <DIR>
              Folder of YAML files to work on, one object a file
              
              [env: NETENF_DIR]

      -n, --namespace <NAMESPACE>
              Namespace to work in; all namespaces of the folder or recording if not given

      -A, --all-namespaces
              Work in all namespaces, whatever -n says

          --color <WHEN>
              Colour of the output

              Possible values:
              - auto:   On a terminal, unless NO_COLOR is set
              - always: Always
              - never:  Never
              
              [default: auto]

    Examples:
      # What a workload may do once its proposals protect
      kubectl netenf explain deployment/web -n shop --dir policies --assume-protect

      # By what stands in the cluster
      kubectl netenf explain shop/statefulset/db --cluster-state state.yaml

      # Who may talk to whom, for programs
      kubectl netenf explain --cluster-state state.yaml -o json
    ");
}
