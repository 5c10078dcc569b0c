// Command knp-oracle says what the engine of kube-network-policies decides about packets, and how long it takes.
//
// It holds no engine of its own: the evaluators, the resolver of addresses and the order of the tiers are those of
// sigs.k8s.io/kube-network-policies. Its informers are never started; objects are put into their stores.
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"k8s.io/klog/v2"
)

const usage = `usage: knp-oracle judge
       knp-oracle measure < FILE

judge reads a document a line from standard input,
    {"objects": [...], "domains": {"NAME": ["ADDRESS"]}, "packets": [PACKET]}
    PACKET is {"source": "ADDRESS", "destination": "ADDRESS", "protocol": "TCP", "port": 80}
  and answers each at once with a line: {"verdicts": ["allow", "deny", "error: ..."]}, or {"error": "..."} if the
  document cannot be read. Objects are as the API server stores them, with all defaults.

measure reads one cluster, a line each: an object, {"packets": [PACKET]}, or {"update": "WHAT", "objects": [...]}.
  It prints what memory the cluster takes, how long a verdict takes, and how long each kind of update takes.

Exit code: 0 done, 2 usage or an input that cannot be read.
`

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		if errors.Is(err, errUsage) {
			fmt.Fprint(os.Stderr, usage)
		}
		os.Exit(2)
	}
}

var errUsage = errors.New("one argument is wanted, judge or measure")

func run(arguments []string) error {
	if len(arguments) != 1 {
		return errUsage
	}
	if err := silence(); err != nil {
		return err
	}
	input := bufio.NewReaderSize(os.Stdin, 1<<20)
	output := bufio.NewWriter(os.Stdout)
	defer output.Flush()
	switch arguments[0] {
	case "judge":
		return judge(input, output)
	case "measure":
		return measure(input, output)
	default:
		return errUsage
	}
}

// silence keeps the engine from writing what it thinks of objects that an API server would have refused.
func silence() error {
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	klog.SetOutput(io.Discard)
	return errors.Join(flags.Set("logtostderr", "false"), flags.Set("stderrthreshold", "FATAL"))
}

// lines calls take with each line that is not empty.
func lines(input *bufio.Reader, take func(line []byte) error) error {
	for {
		line, err := input.ReadBytes('\n')
		if len(line) > 1 {
			if err := take(line); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("cannot read standard input: %w", err)
		}
	}
}
