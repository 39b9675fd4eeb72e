package evidence

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jitterscope/jitterscope/collector/internal/testenv"
)

// tshark prints fields of the packets that match a filter; multiple values of a field are separated by commas.
func tshark(t *testing.T, path string, port int, filter string, fields ...string) [][]string {
	t.Helper()
	arguments := []string{"-n", "-r", path, "-o", "tcp.analyze_sequence_numbers:TRUE", "-T", "fields", "-E", "occurrence=a"}
	if port != 53 {
		arguments = append(arguments, "-d", fmt.Sprintf("udp.port==%d,dns", port), "-d", fmt.Sprintf("tcp.port==%d,dns", port))
	}
	if filter != "" {
		arguments = append(arguments, "-Y", filter)
	}
	for _, field := range fields {
		arguments = append(arguments, "-e", field)
	}
	out, err := exec.Command("tshark", arguments...).Output()
	if err != nil {
		testenv.Skip(t, "tshark: %v", err)
	}
	var rows [][]string
	for line := range strings.Lines(string(out)) {
		rows = append(rows, strings.Split(strings.TrimSuffix(line, "\n"), "\t"))
	}
	return rows
}

// analyzed runs the analysis and also returns all queries from the CSV file.
func analyzed(t *testing.T, path string) (*Report, []map[string]string) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	var lines bytes.Buffer
	report, err := Analyze(file, -1, Options{Limits: DefaultLimits, Slowest: 1000, QueriesCSV: &lines})
	if err != nil {
		t.Fatal(err)
	}
	return report, readCSV(t, &lines)
}

func readCSV(t *testing.T, reader io.Reader) []map[string]string {
	t.Helper()
	all, err := csv.NewReader(reader).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var rows []map[string]string
	for _, fields := range all[1:] {
		row := map[string]string{}
		for i, field := range fields {
			row[all[0][i]] = field
		}
		rows = append(rows, row)
	}
	return rows
}

// answeredQueries returns one text per answered query: protocol, id and duration in ns.
func answeredQueries(rows []map[string]string) []string {
	var all []string
	for _, row := range rows {
		if row["latency_us"] != "" {
			ns := strings.Replace(row["latency_us"], ".", "", 1)
			all = append(all, fmt.Sprintf("%s %s %d", row["protocol"], row["id"], atoi(ns)))
		}
	}
	slices.Sort(all)
	return all
}

func tsharkQueries(t *testing.T, path string, port int) []string {
	t.Helper()
	var all []string
	for _, row := range tshark(t, path, port, "dns.time", "tcp.stream", "dns.id", "dns.time") {
		protocol := "udp" // a packet in a tunnel has a UDP header as well
		if row[0] != "" {
			protocol = "tcp"
		}
		ids, times := strings.Split(row[1], ","), strings.Split(row[2], ",")
		if len(ids) != len(times) {
			t.Fatalf("%d ids and %d times in one frame", len(ids), len(times))
		}
		for i := range ids {
			id, err := strconv.ParseUint(strings.TrimPrefix(ids[i], "0x"), 16, 16)
			seconds, err2 := strconv.ParseFloat(times[i], 64)
			if err != nil || err2 != nil {
				t.Fatal(err, err2)
			}
			all = append(all, fmt.Sprintf("%s %d %d", protocol, id, int64(math.Round(seconds*1e9))))
		}
	}
	slices.Sort(all)
	return all
}

func atoi(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

// agree compares everything that tshark counts too.
func agree(t *testing.T, path string, port int) *Report {
	t.Helper()
	report, rows := analyzed(t, path)
	ours, theirs := answeredQueries(rows), tsharkQueries(t, path, port)
	if len(theirs) == 0 {
		t.Fatal("tshark found no answered query")
	}
	if !slices.Equal(ours, theirs) {
		for i := range min(len(ours), len(theirs)) {
			if ours[i] != theirs[i] {
				t.Errorf("query %d: %s and tshark %s", i, ours[i], theirs[i])
				break
			}
		}
		t.Errorf("%d answered queries, tshark %d", len(ours), len(theirs))
	}
	type span struct{ first, last float64 }
	streams := map[string]span{}
	for _, row := range tshark(t, path, port, "tcp", "tcp.stream", "frame.time_epoch") {
		at, err := strconv.ParseFloat(row[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		one, ok := streams[row[0]]
		if !ok {
			one.first = at
		}
		one.last = at
		streams[row[0]] = one
	}
	if int(report.TCP.Streams) != len(streams) {
		t.Errorf("%d TCP streams, tshark %d", report.TCP.Streams, len(streams))
	}
	for _, session := range report.TCP.Sessions.Longest {
		theirs := streams[strconv.Itoa(int(session.Stream))]
		if math.Abs(float64(session.DurationUs)/1e6-(theirs.last-theirs.first)) > 2e-6 {
			t.Errorf("stream %d lasts %v us, tshark %v s", session.Stream, session.DurationUs, theirs.last-theirs.first)
		}
	}
	once := report.File.Disordered == 0 // a message that is in the file twice, each after the other's answer, is unclear
	for filter, ours := range map[string]uint64{
		"dns.retransmit_request": report.Totals.RepeatedQueries + report.Totals.Copies,
		// tshark treats a repetition within 3 ms as out of order.
		"tcp.len > 1 && (tcp.analysis.retransmission || tcp.analysis.fast_retransmission || " +
			"tcp.analysis.spurious_retransmission || tcp.analysis.out_of_order)": report.TCP.Retransmissions,
	} {
		if theirs := len(tshark(t, path, port, filter, "frame.number")); once && uint64(theirs) != ours {
			t.Errorf("%s: %d, tshark %d", filter, ours, theirs)
		}
	}
	codes := map[string]uint64{}
	for _, row := range tshark(t, path, port, "dns.flags.rcode", "dns.flags.rcode") {
		for code := range strings.SplitSeq(row[0], ",") {
			codes[code]++
		}
	}
	if once && (codes["3"] != report.Totals.NXDomain || codes["2"] != report.Totals.ServFail || codes["0"] != report.Totals.NoError) {
		t.Errorf("answers by code %v, ours %+v", codes, report.Totals.counts)
	}
	if packets := len(tshark(t, path, port, "", "frame.number")); uint64(packets) != report.File.Packets {
		t.Errorf("%d packets, tshark %d", report.File.Packets, packets)
	}
	return report
}

func TestAgreesWithTshark(t *testing.T) {
	for _, c := range []struct {
		name, host, link, format string
		command                  []string
	}{
		{"tcpdump on lo", "127.0.0.1", "Ethernet", "pcap", []string{"tcpdump", "-i", "lo", "-U"}},
		{"tcpdump on lo, nanoseconds, IPv6", "::1", "Ethernet", "pcap", []string{"tcpdump", "-i", "lo", "-U", "--nano"}},
		{"tcpdump on any, cooked v1", "127.0.0.1", "Linux cooked v1", "pcap", []string{"tcpdump", "-i", "any", "-y", "LINUX_SLL", "-U"}},
		{"tcpdump on any, cooked v2, IPv6", "::1", "Linux cooked v2", "pcap", []string{"tcpdump", "-i", "any", "-y", "LINUX_SLL2", "-U"}},
		{"tshark on lo", "127.0.0.1", "Ethernet", "pcapng", []string{"tshark", "-q", "-i", "lo"}},
		{"tshark on any", "127.0.0.1", "Linux cooked v1", "pcapng", []string{"tshark", "-q", "-i", "any"}},
		{"tshark, two interfaces", "127.0.0.1", "Ethernet", "pcapng", []string{"tshark", "-q", "-i", "lo", "-i", "any"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := startServer(t, c.host)
			filter := []string{captureFilter(server)}
			if c.command[0] == "tshark" {
				filter = []string{"-f", filter[0]}
			}
			if c.name == "tshark, two interfaces" {
				c.command = append(c.command[:2:2], append(filter, c.command[2:]...)...)
				filter = nil
			}
			path := captured(t, "file", func() { makeTraffic(t, server) }, append(c.command, filter...)...)
			report := agree(t, path, server.port)
			if report.File.LinkTypes[0].Name != c.link || report.File.Format != c.format {
				t.Errorf("%+v %s", report.File.LinkTypes, report.File.Format)
			}
			if filter != nil {
				expectTraffic(t, report)
			} else if report.File.Disordered == 0 || report.TCP.PortReuses == 0 {
				t.Errorf("%+v", report.File)
			}
		})
	}
}

// expectTraffic checks those effects of makeTraffic that tshark does not count.
func expectTraffic(t *testing.T, r *Report) {
	t.Helper()
	if len(r.Servers) != 1 || r.Servers[0].Recognised != recognisedText {
		t.Fatalf("servers %+v", r.Servers)
	}
	total := r.Totals
	if total.UDPQueries != 41 || total.TCPQueries != 51 || total.Unanswered != 9 || total.NXDomain != 20 || total.ServFail != 8 {
		t.Errorf("totals %+v", total.counts)
	}
	if r.TCP.Connections != 15 || r.TCP.PortReuses != 1 || r.TCP.PortReuseWithin60s != 1 || r.TCP.HalfClosed != 1 {
		t.Errorf("tcp %+v", r.TCP.tcpCounts)
	}
	if total.RepeatedQueries != 8 || total.Copies != 0 {
		t.Errorf("repeats %+v %+v", total.counts, r.TCP.tcpCounts)
	}
	if r.TCP.OpenMax < 4 || r.TCP.OpenMax > 15 || r.TCP.OpenAtEnd != 0 {
		t.Errorf("open %+v", r.TCP.tcpCounts)
	}
}
