// jitterscope-service is an HTTP or gRPC service as the labs need it: it keeps a table of many small objects alive, each
// response allocates, and a request can use CPU time, wait, or call a database or another server. The services of other
// runtimes in backend/labs/service take the same options.
package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"
)

// object has 128 bytes including what it points to, as a session or a cached row has: the garbage collector traces all
// of it.
type object struct {
	name string
	tags []*[16]byte
	seen int
}

type service struct {
	answerBytes int
	replaced    int // objects that a request replaces
	hashedKiB   int // work of a request
	slowEvery   int // one of every slowEvery requests waits; 0: none
	slow        time.Duration
	disk        disk
	dependency  dependency

	mu     sync.Mutex
	table  []*object
	served int
}

func main() {
	if err := run(os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "jitterscope-service:", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	var s service
	flags := flag.NewFlagSet("jitterscope-service", flag.ContinueOnError)
	listen := flags.String("listen", "127.0.0.1:8080", "ADDRESS:PORT")
	objects := flags.Int("objects", 0, "live objects of 128 bytes")
	backlog := flags.Int("backlog", 0, "connections that can wait to be accepted; 0: net.core.somaxconn")
	acceptUs := flags.Int("accept-us", 0, "how long it takes to accept a connection, in µs")
	acceptors := flags.Int("acceptors", 1, "how many accept concurrently")
	slowMs := flags.Int("slow-ms", 0, "how long a slow request waits")
	flags.IntVar(&s.slowEvery, "slow-every", 0, "one of this many requests waits; 0: none")
	flags.IntVar(&s.answerBytes, "answer-bytes", 30_000, "size of an answer")
	flags.IntVar(&s.replaced, "replaced", 0, "objects that each request replaces")
	asGRPC := flags.Bool("grpc", false, "serve gRPC calls of shop.Orders/Place instead of HTTP requests")
	flags.IntVar(&s.hashedKiB, "hashed-kib", 0, "KiB that each request hashes with SHA-256: its CPU time")
	s.disk.declare(flags)
	flags.StringVar(&s.dependency.database, "database", "", "PostgreSQL that each request queries, postgres://…")
	flags.StringVar(&s.dependency.query, "query", "SELECT 1", "what it is asked")
	flags.StringVar(&s.dependency.heavyQuery, "heavy-query", "SELECT 1", "the occasional expensive query")
	flags.IntVar(&s.dependency.heavyEvery, "heavy-every", 0, "one of this many requests runs it; 0: none")
	flags.IntVar(&s.dependency.connections, "connections", 8, "maximum connections to the database or the other server")
	flags.StringVar(&s.dependency.url, "ask", "", "URL of another server that each request calls")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if err := s.disk.open(); err != nil {
		return err
	}
	s.slow = time.Duration(*slowMs) * time.Millisecond
	if err := s.dependency.open(); err != nil {
		return err
	}
	s.table = make([]*object, *objects)
	for i := range s.table {
		s.table[i] = newObject(i)
	}
	// Long-lived objects lie scattered in memory.
	rand.Shuffle(len(s.table), func(i, j int) { s.table[i], s.table[j] = s.table[j], s.table[i] })
	listener, err := listenWith(*listen, *backlog)
	if err != nil {
		return err
	}
	serve := func(from net.Listener) error { return http.Serve(from, &s) }
	if *asGRPC {
		serve = s.serveGRPC
	}
	failed := make(chan error)
	for range *acceptors {
		go func() { failed <- serve(accepting{listener, time.Duration(*acceptUs) * time.Microsecond}) }()
	}
	return <-failed
}

func newObject(number int) *object {
	return &object{
		name: fmt.Sprintf("session-%08x", number), tags: []*[16]byte{new([16]byte), new([16]byte)}, seen: number,
	}
}

// handle does what each request costs. It fails if the dependency does.
func (s *service) handle(ctx context.Context) error {
	s.mu.Lock()
	s.served++
	number := s.served
	for i := range min(s.replaced, len(s.table)) {
		s.table[(number*s.replaced+i)%len(s.table)] = newObject(number)
	}
	s.mu.Unlock()
	if err := s.dependency.ask(ctx, number); err != nil {
		return err
	}
	work(s.hashedKiB)
	if s.slowEvery > 0 && number%s.slowEvery == 0 {
		time.Sleep(s.slow)
	}
	return nil
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := s.handle(r.Context()); err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	if s.disk.serves(w, r) {
		return
	}
	if err := s.disk.record(); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	answer := make([]byte, s.answerBytes)
	w.Header().Set("Content-Length", strconv.Itoa(len(answer)))
	_, _ = w.Write(answer)
}

// work hashes the given number of KiB.
func work(kib int) {
	var block [1024]byte
	for range kib {
		sum := sha256.Sum256(block[:])
		copy(block[:], sum[:])
	}
}
