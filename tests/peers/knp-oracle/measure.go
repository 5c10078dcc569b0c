package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"sigs.k8s.io/kube-network-policies/pkg/network"
)

// longest is for how long packets are judged: with many policies this engine takes tens of milliseconds for one.
const longest = 4 * time.Second

// line is one line of a cluster to measure: an object has none of these fields.
type line struct {
	Packets []packet          `json:"packets"`
	Update  string            `json:"update"`
	Objects []json.RawMessage `json:"objects"`
}

// measured is what is printed of one cluster.
type measured struct {
	// Resident is in bytes.
	Resident uint64 `json:"resident"`
	// Verdicts are the answers to as many packets as there was time for.
	Verdicts []string         `json:"verdicts"`
	Verdict  times            `json:"verdict"`
	Updates  map[string]times `json:"updates"`
}

// times are of one operation, in nanoseconds.
type times struct {
	Least  int64 `json:"least"`
	Median int64 `json:"median"`
	P99    int64 `json:"p99"`
}

func measure(input *bufio.Reader, output *bufio.Writer) error {
	cluster, err := newCluster(nil)
	if err != nil {
		return err
	}
	packets, updates, err := cluster.fill(input)
	if err != nil {
		return err
	}
	said := measured{Updates: map[string]times{}}
	if said.Resident, err = resident(); err != nil {
		return err
	}
	if said.Verdicts, said.Verdict, err = cluster.timeVerdicts(packets); err != nil {
		return err
	}
	for _, update := range updates {
		if said.Updates[update.Update], err = cluster.timeUpdates(update.Objects); err != nil {
			return err
		}
	}
	return json.NewEncoder(output).Encode(said)
}

// fill puts all objects in, and gives what is to be measured when they are there.
func (c *cluster) fill(input *bufio.Reader) (packets []packet, updates []line, err error) {
	err = lines(input, func(text []byte) error {
		var line line
		if err := json.Unmarshal(text, &line); err != nil {
			return fmt.Errorf("a line is no JSON: %w", err)
		}
		switch {
		case line.Packets != nil:
			packets = line.Packets
			return nil
		case line.Update != "":
			updates = append(updates, line)
			return nil
		default:
			object, err := c.read(text)
			if err != nil {
				return err
			}
			return object.put()
		}
	})
	return packets, updates, err
}

func (c *cluster) timeVerdicts(packets []packet) (verdicts []string, took times, err error) {
	parsed := make([]*network.Packet, len(packets))
	for at, packet := range packets {
		if parsed[at], err = packet.parse(); err != nil {
			return nil, times{}, err
		}
	}
	var each []int64
	until := time.Now().Add(longest)
	for _, packet := range parsed {
		start := time.Now()
		verdict := c.verdict(packet)
		each = append(each, time.Since(start).Nanoseconds())
		verdicts = append(verdicts, verdict)
		if start.After(until) {
			break
		}
	}
	return verdicts, timesOf(each), nil
}

// timeUpdates takes objects in as an informer does, without telling its handlers.
func (c *cluster) timeUpdates(texts []json.RawMessage) (times, error) {
	var each []int64
	for _, text := range texts {
		object, err := c.read(text)
		if err != nil {
			return times{}, err
		}
		start := time.Now()
		if err := object.put(); err != nil {
			return times{}, err
		}
		each = append(each, time.Since(start).Nanoseconds())
	}
	return timesOf(each), nil
}

func timesOf(each []int64) times {
	if len(each) == 0 {
		return times{}
	}
	slices.Sort(each)
	last := len(each) - 1
	return times{Least: each[0], Median: each[last/2], P99: each[last*99/100]}
}

// resident is what the process holds after it let go what reading left behind.
func resident() (uint64, error) {
	runtime.GC()
	debug.FreeOSMemory()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	for _, line := range strings.Split(string(status), "\n") {
		if value, found := strings.CutPrefix(line, "VmRSS:"); found {
			kilobytes, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			return kilobytes * 1024, err
		}
	}
	return 0, fmt.Errorf("/proc/self/status tells no VmRSS")
}
