package netsock

import "bytes"

// NetstatValue returns a counter of /proc/PID/net/netstat, such as "ListenOverflows" in the group "TcpExt:". Each group
// is a line of names and a line of values. It does not allocate.
func NetstatValue(text []byte, group, name string) (value uint64, ok bool) {
	for len(text) > 0 {
		var names, values []byte
		names, text = NextRow(text)
		values, text = NextRow(text)
		if !bytes.HasPrefix(names, []byte(group)) || !bytes.HasPrefix(values, []byte(group)) {
			continue
		}
		columns, numbers := fieldReader{names}, fieldReader{values}
		for {
			column, number := columns.next(), numbers.next()
			if len(column) == 0 || len(number) == 0 {
				return 0, false
			}
			if string(column) == name {
				return decimal(number)
			}
		}
	}
	return 0, false
}
