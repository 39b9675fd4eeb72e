package requestkind

import (
	"bytes"
	"encoding/binary"
)

var statements = []string{
	"SELECT", "INSERT", "UPDATE", "DELETE", "BEGIN", "COMMIT", "ROLLBACK", "SET", "SHOW", "WITH", "MERGE", "CALL", "COPY", "START", "SAVEPOINT", "RELEASE",
	"CREATE", "ALTER", "DROP", "TRUNCATE", "EXPLAIN", "ANALYZE", "VACUUM", "LOCK", "LISTEN", "NOTIFY", "DECLARE", "FETCH", "CLOSE", "PREPARE", "EXECUTE",
	"DEALLOCATE", "DISCARD", "REFRESH", "REINDEX", "GRANT", "REVOKE", "VALUES", "DO", "REPLACE", "USE", "KILL", "LOAD",
}

// Bytes of a request that are read: HEAD in the programs.
const mostHead = 64

// Longer than any plausible message length.
const mostMessage = 1 << 26

// appendPostgreSQL parses the first message of a request (PostgreSQL documentation, 53.7).
func appendPostgreSQL(into, head []byte) []byte {
	const name = "postgresql "
	if len(head) >= 8 && head[0] == 0 {
		switch binary.BigEndian.Uint32(head[4:]) {
		case 196608, 80877102, 80877103, 80877104: // start-up, cancel, SSL, GSSAPI
			return roomString(into, name+"connect")
		}
		return into
	}
	if len(head) < 6 {
		return into
	}
	if length := binary.BigEndian.Uint32(head[1:]); length < 5 || length > mostMessage {
		return into
	}
	switch text := head[5:]; head[0] {
	case 'Q':
		return roomString(roomString(into, name), statement(text))
	case 'P': // Parse: a name, then the statement
		if end := bytes.IndexByte(text, 0); end >= 0 {
			return roomString(roomString(into, name), statement(text[end+1:]))
		}
	case 'B':
		return roomString(into, name+"prepared")
	}
	return into
}

// appendMySQL parses the command of a first packet (MySQL Internals, COM_QUERY, COM_STMT_PREPARE and COM_STMT_EXECUTE).
// So little identifies it that only a known statement counts, and an execution whose length and iteration count fit.
func appendMySQL(into, head []byte) []byte {
	const name = "mysql "
	if len(head) < 8 || head[3] != 0 {
		return into
	}
	switch head[4] {
	case 0x03, 0x16:
		text := head[5:]
		if text[0] == 0 && text[1] == 1 { // query attributes: none
			text = text[2:]
		}
		if word := statement(text); word != other {
			return roomString(roomString(into, name), word)
		}
	case 0x17: // statement number, flags, and iteration count: always 1
		length := int(head[0]) | int(head[1])<<8 | int(head[2])<<16
		whole := length+4 == len(head) || length+4 > len(head) && len(head) == mostHead
		if length >= 10 && whole && len(head) >= 14 && head[9] < 16 && binary.LittleEndian.Uint32(head[10:]) == 1 {
			return roomString(into, name+"prepared")
		}
	}
	return into
}

// statement returns the first word of a statement, skipping comments before it.
func statement(text []byte) string {
	for {
		text = bytes.TrimLeft(text, " \t\r\n(")
		if !bytes.HasPrefix(text, []byte("/*")) {
			break
		}
		end := bytes.Index(text, []byte("*/"))
		if end < 0 {
			return other
		}
		text = text[end+2:]
	}
	end := 0
	for end < len(text) && (text[end]|0x20 >= 'a' && text[end]|0x20 <= 'z') {
		end++
	}
	return known(statements, text[:end])
}
