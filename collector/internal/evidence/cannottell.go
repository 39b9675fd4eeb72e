package evidence

import "fmt"

// limitsOfFile lists what the file cannot tell, each with its reason, so that nothing is concluded from missing data.
func (a *Analyzer) limitsOfFile(file *fileReport) []cannotTell {
	told := []cannotTell{}
	say := func(when bool, about, because string, arguments ...any) {
		if when {
			told = append(told, cannotTell{about, fmt.Sprintf(because, arguments...)})
		}
	}
	t := &a.total
	if file.Stopped != nil {
		switch *file.Stopped {
		case stoppedCutOff:
			say(true, "file", "The file ends in the middle of a packet; what came after is missing.")
		case stoppedDamaged:
			say(true, "file", "The file is damaged after %d packets; what follows was not read.", a.packets)
		default:
			say(true, "file", "Reading stopped at a limit (%s) after %d packets.", *file.Stopped, a.packets)
		}
	}
	say(file.ReportedDrops != nil && *file.ReportedDrops > 0, "file",
		"The capturing system dropped packets: losses in the file need not be losses on the network.")
	say(file.ClockStepsBack > 0, "latency", "The clock stepped back %d times in the file; latencies around that are wrong.", file.ClockStepsBack)
	say(file.Disordered > a.packets/1000, "latency",
		"%d of %d packets are not in time order (as when several interfaces are captured into one file); reordercap sorts them.",
		file.Disordered, a.packets)
	say(file.ResolutionNs > 1000, "latency", "Timestamps are exact only to %d ns.", file.ResolutionNs)
	for _, link := range file.LinkTypes {
		say(!link.Readable && link.Packets > 0, "link_type", "%d packets have link type %d, which is not supported.", link.Packets, link.Number)
	}
	nothing := t.counts.seen() == 0 && t.tcp.Connections == 0
	say(nothing, "dns", "The file has no readable DNS traffic.")
	say(t.counts.Queries > 0 && t.counts.Answers == 0, "queries", "There are queries and no answers: the capture might contain only one direction.")
	say(t.counts.Queries == 0 && t.counts.StrayAnswers > 0, "queries", "There are answers and no queries: the capture contains only one direction.")
	say(t.counts.Queries > 0 && t.counts.StrayAnswers > t.counts.Queries/100, "queries",
		"%d answers have no query in the file: it starts in the middle of traffic, or packets are missing.", t.counts.StrayAnswers)
	say(t.counts.Copies > t.counts.Queries/10, "copies",
		"%d messages are in the file more than once (captured on several interfaces): TCP retransmissions and stream lists count them too.", t.counts.Copies)
	say(a.gaveUp > 0, "queries", "More than %d queries waited for an answer; %d of the oldest were given up early.", maxWaiting, a.gaveUp)
	say(a.candidates.lost > 0, "queries", "%d messages that look like queries on unknown ports were dropped before an answer came.", a.candidates.lost)
	started := t.tcp.Connections - t.tcp.Opened
	say(started > 0, "tcp", "%d of %d connections began before the file: their first query and full length are not known.", started, t.tcp.Connections)
	say(t.tcp.Gaps > 0, "tcp", "Bytes are missing in the file in %d places of TCP connections; messages there were not read.", t.tcp.Gaps)
	say(a.flowsEvicted > 0, "tcp", "Only the last %d connections are followed at once; %d were counted in the state they were in when dropped.", maxFlows, a.flowsEvicted)
	say(t.counts.TCPQueries == 0 && t.tcp.Connections == 0 && !nothing, "tcp", "There is no DNS over TCP in the file.")
	say(a.serversEvicted > 0, "queries", "There are more than %d servers; the least queried ones are only in the totals.", maxServers)
	say(a.clientsEvicted > 0, "queries", "There are more than %d clients; the least active ones are only in the totals.", maxClients)
	say(a.forwardingsLost, "forwarding", "There are more than %d pairs of servers.", maxForwardings)
	say(a.names.evicted, "names", "There are more than %d distinct questions; rare ones are left out.", maxNames)
	say(a.cut > 0 && a.namesUnreadable > 0, "names", "Packets are truncated (%d of %d, tcpdump -s): %d names are not readable.", a.cut, a.packets, a.namesUnreadable)
	say(a.skipped.LaterFragment > 0, "queries", "%d IP fragments were skipped: long answers are timed at their first fragment.", a.skipped.LaterFragment)
	say(t.counts.Unanswered > 0 && t.counts.UnansweredLate == t.counts.Unanswered, "udp_loss",
		"All unanswered queries were sent in the last 5 s of the file; their answers might have come later.")
	say(a.encrypted > 0, "encrypted", "%d TCP connections go to port 853 (DNS over TLS), which cannot be read.", a.encrypted)
	return told
}
