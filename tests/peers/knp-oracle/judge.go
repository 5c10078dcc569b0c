package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/kube-network-policies/pkg/network"
)

// document is a cluster and the packets to judge in it.
type document struct {
	Objects []json.RawMessage `json:"objects"`
	Domains domains           `json:"domains"`
	Packets []packet          `json:"packets"`
}

// packet is the first packet of a connection.
type packet struct {
	Source      string `json:"source"`
	Destination string `json:"destination"`
	// Protocol is TCP, UDP or SCTP; every other one is what the engine's parser does not know.
	Protocol string `json:"protocol"`
	// Port is the destination's; 0 if it is not known.
	Port int `json:"port"`
}

// answer is what is printed for a document.
type answer struct {
	Verdicts []string `json:"verdicts,omitempty"`
	Error    string   `json:"error,omitempty"`
}

// sourcePort is no part of any policy.
const sourcePort = 40000

// judge answers each document as soon as it is read, so that a caller may wait for the answer before it goes on.
func judge(input *bufio.Reader, output *bufio.Writer) error {
	printed := json.NewEncoder(output)
	return lines(input, func(line []byte) error {
		verdicts, err := verdicts(line)
		said := answer{Verdicts: verdicts}
		if err != nil {
			said.Error = err.Error()
		}
		if err := printed.Encode(said); err != nil {
			return fmt.Errorf("cannot print: %w", err)
		}
		return output.Flush()
	})
}

func verdicts(line []byte) ([]string, error) {
	var document document
	if err := json.Unmarshal(line, &document); err != nil {
		return nil, fmt.Errorf("the line is no document: %w", err)
	}
	cluster, err := newCluster(document.Domains)
	if err != nil {
		return nil, err
	}
	for number, text := range document.Objects {
		object, err := cluster.read(text)
		if err == nil {
			err = object.put()
		}
		if err != nil {
			return nil, fmt.Errorf("object %d: %w", number+1, err)
		}
	}
	said := make([]string, 0, len(document.Packets))
	for _, packet := range document.Packets {
		parsed, err := packet.parse()
		if err != nil {
			said = append(said, "error: "+err.Error())
			continue
		}
		said = append(said, cluster.verdict(parsed))
	}
	return said, nil
}

// parse gives the packet as the engine's own parser would.
func (p packet) parse() (*network.Packet, error) {
	source, destination := net.ParseIP(p.Source), net.ParseIP(p.Destination)
	if source == nil || destination == nil {
		return nil, fmt.Errorf("%q and %q are not both addresses", p.Source, p.Destination)
	}
	family := corev1.IPv6Protocol
	if source.To4() != nil {
		family = corev1.IPv4Protocol
	}
	parsed := network.Packet{Family: family, SrcIP: source, DstIP: destination}
	switch protocol := corev1.Protocol(p.Protocol); protocol {
	case corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP:
		parsed.Proto, parsed.SrcPort, parsed.DstPort = protocol, sourcePort, p.Port
	default: // The parser leaves out the protocol and the ports of what it does not know.
	}
	return &parsed, nil
}
