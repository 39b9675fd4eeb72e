package evidence

import (
	"net/netip"
	"strconv"

	"github.com/jitterscope/jitterscope/collector/internal/dnswire"
)

func (a *Analyzer) writeCSVHeader() {
	_, a.csvError = a.csv.WriteString("sent_us,latency_us,rcode,protocol,stream,id,client,client_port,server,server_port,name,type\n")
}

// writeCSV adds a line for a query; without an answer, latency and rcode stay empty.
func (a *Analyzer) writeCSV(x *exchange, answer *message, took *observation) {
	if a.csv == nil || a.csvError != nil {
		return
	}
	line := a.csv.AvailableBuffer()
	line = appendMicroseconds(line, x.sentNs)
	line = append(line, ',')
	if answer != nil {
		line = appendMicroseconds(line, took.ns)
		line = strconv.AppendUint(append(line, ','), uint64(answer.rcode), 10)
	} else {
		line = append(line, ',')
	}
	if x.key.stream == 0 {
		line = append(line, ",udp,"...)
	} else {
		line = strconv.AppendUint(append(line, ",tcp,"...), uint64(x.key.stream-1), 10)
	}
	line = strconv.AppendUint(append(line, ','), uint64(x.key.id), 10)
	for _, end := range []dnswire.Endpoint{x.key.client, x.key.server} {
		line = netip.AddrFrom16(end.Address).Unmap().AppendTo(append(line, ','))
		line = strconv.AppendUint(append(line, ','), uint64(end.Port), 10)
	}
	line = append(line, ',')
	text := x.text(answer)
	for i, c := range []byte(text) {
		switch {
		case c == ' ':
			line = append(line, ',') // between name and type; a space in a name is written \032
		case c == ',' || c == '"' || i == 0 && (c == '=' || c == '@' || c == '+' || c == '-'): // not a formula
			line = append(line, '\\', '0'+c/100, '0'+c/10%10, '0'+c%10)
		default:
			line = append(line, c)
		}
	}
	if text == "" {
		line = append(line, ',')
	}
	_, a.csvError = a.csv.Write(append(line, '\n'))
}

func appendMicroseconds(line []byte, ns int64) []byte {
	line = strconv.AppendInt(line, ns/1000, 10)
	rest := ns % 1000
	return append(line, '.', byte('0'+rest/100), byte('0'+rest/10%10), byte('0'+rest%10))
}
