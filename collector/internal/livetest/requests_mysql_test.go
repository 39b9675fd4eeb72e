package livetest

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/deathsig"
)

// startMariaDB starts a server that speaks the MySQL protocol, without users and with an empty data directory.
func startMariaDB(t *testing.T, address string) (pid int) {
	t.Helper()
	binary, environment := packaged(t, "mariadb-server-core", "usr/sbin/mariadbd")
	shared := filepath.Join(filepath.Dir(filepath.Dir(binary)), "share/mysql")
	host, port, _ := net.SplitHostPort(address)
	folder := t.TempDir()
	server := exec.Command(binary, "--no-defaults", "--skip-grant-tables", "--user=root", "--datadir="+folder, "--socket="+folder+"/socket",
		"--bind-address="+host, "--port="+port, "--lc-messages-dir="+shared, "--character-sets-dir="+shared+"/charsets",
		"--innodb-buffer-pool-size=16M")
	server.Env = append(os.Environ(), environment...)
	var log bytes.Buffer
	server.Stderr = &log
	if err := deathsig.Start(server); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
		if t.Failed() {
			t.Log(log.String())
		}
	})
	return server.Process.Pid
}

// mysqlClient sends one command at a time.
type mysqlClient struct {
	t *testing.T
	c net.Conn
}

// packet reads a packet; its first byte identifies it.
func (m mysqlClient) packet() []byte {
	m.t.Helper()
	head := make([]byte, 4)
	if _, err := io.ReadFull(m.c, head); err != nil {
		m.t.Fatal(err)
	}
	body := make([]byte, int(head[0])|int(head[1])<<8|int(head[2])<<16)
	if _, err := io.ReadFull(m.c, body); err != nil {
		m.t.Fatal(err)
	}
	if len(body) > 2 && body[0] == 0xff {
		m.t.Fatalf("MariaDB reports an error: %q", body[3:])
	}
	return body
}

func (m mysqlClient) send(sequence byte, body string) {
	m.t.Helper()
	length := binary.LittleEndian.AppendUint32(nil, uint32(len(body)))
	length[3] = sequence
	if _, err := io.WriteString(m.c, string(length)+body); err != nil {
		m.t.Fatal(err)
	}
}

// until reads packets up to the one that ends a part of an answer.
func (m mysqlClient) until() {
	m.t.Helper()
	for packet := m.packet(); packet[0] != 0xfe || len(packet) > 5; packet = m.packet() {
	}
}

// query sends COM_QUERY and reads its answer: OK, or columns and rows.
func (m mysqlClient) query(text string) {
	m.t.Helper()
	m.send(0, "\x03"+text)
	m.result()
}

func (m mysqlClient) result() {
	m.t.Helper()
	if m.packet()[0] != 0 {
		m.until()
		m.until()
	}
}

// prepare sends COM_STMT_PREPARE for a statement without parameters and columns, and returns its number.
func (m mysqlClient) prepare(text string) string {
	m.t.Helper()
	m.send(0, "\x16"+text)
	return string(m.packet()[1:5])
}

func (m mysqlClient) execute(statement string) {
	m.t.Helper()
	m.send(0, "\x17"+statement+"\x00\x01\x00\x00\x00")
	m.result()
}

// dialMariaDB signs in once the server is ready.
func dialMariaDB(t *testing.T, address string) mysqlClient {
	t.Helper()
	const protocol41, transactions, secure = 0x200, 0x2000, 0x8000
	m := mysqlClient{t, dialWhenUp(t, address)}
	m.packet() // the server greets first
	capabilities := binary.LittleEndian.AppendUint32(nil, protocol41|transactions|secure)
	m.send(1, string(capabilities)+"\x00\x00\x00\x01"+"\x21"+string(make([]byte, 23))+"root\x00"+"\x00")
	m.result()
	return m
}

func TestKindsOfMySQL(t *testing.T) {
	t.Parallel()
	address := freeAddress(t, "127.0.0.1")
	pid := startMariaDB(t, address)
	m := dialMariaDB(t, address)
	o := observe(t, requestSources)
	o.needs("tcp_requests")
	key := serverKey(t, pid, address)
	waitFor(t, "the server is known", func() bool { m.query("SHOW STATUS LIKE 'secret'"); return o.hasResource(key) })
	time.Sleep(500 * time.Millisecond)
	m.query("CREATE DATABASE secret")
	m.query("USE secret")
	m.query("CREATE TABLE secret (id INT) ENGINE=InnoDB")
	statement := m.prepare("DELETE FROM secret WHERE id = 1")
	const rounds, slow = 20, 3
	for range rounds {
		m.query("/* secret */ INSERT INTO secret VALUES (1)")
		m.query("select 'secret'")
		m.execute(statement)
	}
	began := time.Now()
	for range slow {
		m.query("DO SLEEP(0.05)")
	}
	took := time.Since(began)
	time.Sleep(settle)
	o.stop()
	checkKinds(t, o.kinds(t, key), map[string]int{
		"mysql SHOW": 1, "mysql CREATE": 2, "mysql USE": 1, "mysql DELETE": 1, "mysql INSERT": rounds, "mysql SELECT": rounds,
		"mysql prepared": rounds, "mysql DO": slow,
	}, "mysql SHOW")
	checkSlow(t, o, key, "mysql DO", slow, slow*50*time.Millisecond, took)
}

// checkSlow compares the total duration of slow requests of a kind with how long the server was told to take, and with
// how long the client waited.
func checkSlow(t *testing.T, o *observer, key, kind string, slow int, least, most time.Duration) {
	t.Helper()
	found, sumUS := 0.0, 0.0
	for _, event := range o.events(key, catalogue.EventRequestsKinds) {
		var rows [][]any
		if err := json.Unmarshal([]byte(event.Attributes["rows"]), &rows); err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			if row[0] != kind {
				continue
			}
			if row[3] != nil || row[4] != nil {
				t.Errorf("errors of %s are %v and %v: it has no status", kind, row[3], row[4])
			}
			found += row[2].(float64)
			sumUS += row[5].(float64)
		}
	}
	if together := time.Duration(sumUS) * time.Microsecond; int(found) != slow || together < least || together > most {
		t.Errorf("%s: %v slow, %s together, want %d of %s to %s", kind, found, together, slow, least, most)
	}
}
