package requestkind

import "bytes"

var methods = []string{"GET", "POST", "PUT", "HEAD", "PATCH", "DELETE", "OPTIONS"}

const (
	mostSegments  = 5
	longestInPath = 20 // bytes of a path segment that is kept
)

// appendHTTP parses the request line (RFC 9112, 3): method and path, with ids replaced, without the query.
func appendHTTP(into, head []byte) []byte {
	space := bytes.IndexByte(head, ' ')
	if space < 3 || space > 7 {
		return into
	}
	method := ""
	for _, one := range methods {
		if string(head[:space]) == one {
			method = one
		}
	}
	target := head[space+1:]
	if method == "" || len(target) == 0 {
		return into
	}
	for _, scheme := range [...]string{"http://", "https://"} {
		if len(target) > len(scheme) && string(target[:len(scheme)]) == scheme {
			target = target[len(scheme):]
			slash := bytes.IndexByte(target, '/')
			if slash < 0 {
				return into
			}
			target = target[slash:]
		}
	}
	if target[0] != '/' && target[0] != '*' {
		return into
	}
	into = roomString(roomString(into, method), " ")
	if target[0] == '*' {
		return roomString(into, "*")
	}
	end := bytes.IndexAny(target, " ?#")
	whole := end >= 0
	if !whole {
		end = len(target)
	}
	return appendRoute(into, target[1:end], whole)
}

// appendRoute writes the segments of a path. If the path is incomplete, its last segment and what follows are unknown.
func appendRoute(into, path []byte, whole bool) []byte {
	for segments := 0; ; segments++ {
		slash := bytes.IndexByte(path, '/')
		segment, last := path, slash < 0
		if !last {
			segment = path[:slash]
		}
		switch {
		case segments == mostSegments || last && !whole:
			return roomString(into, "/*")
		case len(segment) == 0 || isWord(segment):
			into = room(roomString(into, "/"), segment...)
		default:
			into = room(roomString(into, "/"), orID(service(segment))...)
		}
		if last {
			return into
		}
		path = path[slash+1:]
	}
}

var id = []byte("{id}")

func orID(segment []byte) []byte {
	if segment == nil {
		return id
	}
	return segment
}

// service returns the last part of a gRPC service's name with its package, which is longer than other words:
// "opentelemetry.proto.collector.trace.v1.TraceService"; nil if a segment is no such name.
func service(segment []byte) []byte {
	for {
		dot := bytes.IndexByte(segment, '.')
		if dot < 0 {
			break
		}
		if dot == 0 || !isWord(segment[:dot]) {
			return nil
		}
		segment = segment[dot+1:]
	}
	if len(segment) == 0 || segment[0] < 'A' || segment[0] > 'Z' || !isWord(segment) {
		return nil
	}
	return segment
}

// isWord distinguishes a word that a programmer chose from one that identifies one of many things: letters, and at most
// one digit or a version. Secrets, hashes, names of people with a digit and encoded texts are not words.
func isWord(segment []byte) bool {
	if len(segment) > longestInPath {
		return false
	}
	digits, hexadecimal := 0, true
	for i, c := range segment {
		switch {
		case c >= '0' && c <= '9':
			digits++
		case c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F':
		case c >= 'g' && c <= 'z' || c >= 'G' && c <= 'Z':
			hexadecimal = false
		case i > 0 && (c == '-' || c == '_' || c == '.'):
			hexadecimal = false
		default:
			return false
		}
	}
	isVersion := segment[0] == 'v' && digits == len(segment)-1 && digits <= 2
	return isVersion || digits <= 1 && digits < len(segment) && !(hexadecimal && len(segment) >= 8)
}
