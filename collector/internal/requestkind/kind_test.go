package requestkind

import (
	"encoding/binary"
	"strings"
	"testing"
	"unicode/utf8"
)

func of(head string) string { return string(Append(make([]byte, 0, Most), []byte(head))) }

func message(kind byte, text string) string {
	return string(kind) + string(binary.BigEndian.AppendUint32(nil, uint32(len(text)+4))) + text
}

func mysql(command byte, text string) string {
	length := len(text) + 1
	return string([]byte{byte(length), byte(length >> 8), byte(length >> 16), 0, command}) + text
}

func TestKinds(t *testing.T) {
	for head, want := range map[string]string{
		"GET / HTTP/1.1\r\n":                                    "GET /",
		"GET /users/42/orders?token=secret HTTP/1.1\r\n":        "GET /users/{id}/orders",
		"POST /api/v1/carts HTTP/1.0\r\n":                       "POST /api/v1/carts",
		"PUT /files/3f2a9c1b-77aa-4e0e-b1b1-0a0a0a0a0a0a HTT":   "PUT /files/{id}",
		"GET /hash/deadbeefcafe HTTP/1.1\r\n":                   "GET /hash/{id}",
		"GET /user/alice1987 HTTP/1.1\r\n":                      "GET /user/{id}",
		"GET /mail/a@example.org HTTP/1.1\r\n":                  "GET /mail/{id}",
		"GET /s/caf%C3%A9 HTTP/1.1\r\n":                         "GET /s/{id}",
		"GET /assets/app.3f9.js HTTP/1.1\r\n":                   "GET /assets/{id}",
		"GET /a/b/c/d/e/f/g HTTP/1.1\r\n":                       "GET /a/b/c/d/e/*",
		"GET /search/very-long-text-that-goes-on-and-on-unti":   "GET /search/*",
		"GET /a//b/ HTTP/1.1\r\n":                               "GET /a//b/",
		"GET http://shop.example:8080/cart HTTP/1.1\r\n":        "GET /cart",
		"OPTIONS * HTTP/1.1\r\n":                                "OPTIONS *",
		"GET /v2/oauth2/v12 HTTP/1.1\r\n":                       "GET /v2/oauth2/v12",
		"GET /#top HTTP/1.1":                                    "GET /",
		"POST /helloworld.Greeter/SayHello ":                    "POST /helloworld.Greeter/SayHello",
		"POST /grpc.reflection.v1.ServerReflection/Info ":       "POST /ServerReflection/Info",
		"POST /grpc.x8a7b6c5d4e3.v1.ServerReflection/Info ":     "POST /{id}/Info",
		"BREW /pot HTTP/1.1\r\n":                                "",
		"GET":                                                   "",
		"GET nowhere":                                           "",
		"*2\r\n$3\r\nGET\r\n$6\r\nsecret\r\n":                   "redis GET",
		"*3\r\n$4\r\nhset\r\n$1\r\nk":                           "redis HSET",
		"*1\r\n$6\r\nsecret\r\n":                                "redis other",
		"*1\r\n$":                                               "",
		"*\r\n$3\r\nGET\r\n":                                    "",
		message('Q', "SELECT password FROM users\x00"):          "postgresql SELECT",
		message('Q', "/* app */ insert into t values (1)\x00"):  "postgresql INSERT",
		message('Q', "secret\x00"):                              "postgresql other",
		message('P', "\x00UPDATE t SET a = $1\x00"):             "postgresql UPDATE",
		message('P', "S_1\x00 ( with x as"):                     "postgresql WITH",
		message('B', "\x00S_1\x00"):                             "postgresql prepared",
		message('X', "") + "\x00":                               "",
		"\x00\x00\x00\x4d\x00\x03\x00\x00user\x00alice":         "postgresql connect",
		"\x00\x00\x00\x08\x04\xd2\x16\x2f":                      "postgresql connect",
		mysql(3, "SELECT 1"):                                    "mysql SELECT",
		mysql(3, "\x00\x01select @@version"):                    "mysql SELECT",
		mysql(0x16, "DELETE FROM t WHERE id = ?"):               "mysql DELETE",
		mysql(3, "secret words"):                                "",
		mysql(0x17, "\x07\x00\x00\x00\x00\x01\x00\x00\x00\x00"): "mysql prepared",
		mysql(0x17, "\x07\x00\x00\x00\x00\x01\x00\x00\x00\x00\x01\x0f\x00"+strings.Repeat("s", 300))[:64]: "mysql prepared",
		mysql(0x17, "\x07\x00\x00\x00\x00\x01\x00\x00\x00\x00secret")[:18]:                                "",
		mysql(0x17, "\x07\x00\x00\x00\x00\x02\x00\x00\x00\x00"):                                           "",
		mysql(0x17, "\x07\x00\x00\x00"):                                                                   "",
		"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03":                                                    "",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n":                                                                "",
		"EHLO example.org\r\n":                                                                            "",
		"":                                                                                                "",
	} {
		if got := of(head); got != want {
			t.Errorf("%q is %q, want %q", head, got, want)
		}
	}
}

// FuzzAppend: for any input a kind is short and valid, and contains no byte of a value.
func FuzzAppend(f *testing.F) {
	f.Add([]byte("GET /users/42?token=secret HTTP/1.1"))
	f.Add([]byte("*2\r\n$3\r\nGET\r\n"))
	f.Add([]byte(message('Q', "SELECT 1")))
	f.Add([]byte(mysql(3, "SELECT 1")))
	f.Fuzz(func(t *testing.T, head []byte) {
		kind := Append(make([]byte, 0, Most), head)
		if len(kind) > Most || cap(kind) != Most {
			t.Fatalf("%d bytes", len(kind))
		}
		if !utf8.Valid(kind) || strings.ContainsAny(string(kind), "?#%@=\"\\\r\n\x00") {
			t.Fatalf("%q of %q", kind, head)
		}
	})
}

func TestNothingIsAllocated(t *testing.T) {
	into := make([]byte, 0, Most)
	heads := [][]byte{[]byte("GET /users/42 HTTP/1.1"), []byte("*2\r\n$3\r\nGET\r\n"), []byte(message('Q', "SELECT 1")), []byte(mysql(3, "SELECT 1"))}
	if n := testing.AllocsPerRun(100, func() {
		for _, head := range heads {
			_ = Append(into, head)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
