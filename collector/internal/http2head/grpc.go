package http2head

import "bytes"

// Status is what the status of an answer says: 1 to 5: the class of HTTP's; from GRPC on: GRPC plus gRPC's code, of an
// answer whose HTTP status says nothing but that there is one; 0: not known, or not yet.
type Status uint8

const (
	// GRPC is the status of a gRPC answer with code 0, OK.
	GRPC Status = 16
	// Codes is how many codes gRPC has, from 0.
	Codes = 17
	// unknownCode is what clients take other codes for (gRPC, statuscodes.md).
	unknownCode = 2
)

// Owner is whose request an answer belongs to.
type Owner struct{ Server, Generation uint32 }

// Await makes Take report the status of an answer that has begun, if it is one of gRPC whose status is still to come:
// with its trailers.
func (c *Connections) Await(id uint64, number uint32, owner Owner) {
	one := c.known[id]
	if one == nil {
		return
	}
	if s := &one.streams[number>>1%streams]; s.id == number && s.grpc && s.status() == 0 {
		s.awaited, s.owner = true, owner
	}
}

// arrived returns whose answer has got its status, once.
func (s *stream) arrived() (owner Owner, ok bool) {
	if s == nil || !s.awaited || s.status() == 0 {
		return Owner{}, false
	}
	s.awaited = false
	return s.owner, true
}

// status of gRPC counts only where that of HTTP is 200: a proxy answers for a server that is not there.
func (s *stream) status() Status {
	if !s.grpc || s.class != 2 {
		return Status(s.class)
	}
	if s.code == 0 {
		return 0
	}
	return GRPC + Status(s.code-1)
}

var grpcType = []byte("application/grpc")

// isGRPC reports whether a content type is one of gRPC ("application/grpc+proto"), but not gRPC-Web, which has its
// status in the body.
func isGRPC(contentType []byte) bool {
	rest, ok := bytes.CutPrefix(contentType, grpcType)
	return ok && (len(rest) == 0 || rest[0] == '+' || rest[0] == ';')
}

// codeOf parses the value of grpc-status.
func codeOf(text []byte) uint8 {
	code := 0
	for _, c := range text {
		if c < '0' || c > '9' || code >= Codes {
			return unknownCode
		}
		code = 10*code + int(c-'0')
	}
	if code >= Codes {
		return unknownCode
	}
	return uint8(code)
}
