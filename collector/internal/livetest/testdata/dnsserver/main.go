// Command dnsserver answers as the requested name says: "delay-30." after 30 ms, "nxdomain.", "servfail.", "refused.",
// "drop." never. It serves UDP and TCP on the given addresses and ends when its standard input is closed.
package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/miekg/dns"
)

func main() {
	dns.HandleFunc(".", answer)
	for _, address := range os.Args[1:] {
		for _, network := range []string{"udp", "tcp"} {
			ready := make(chan struct{})
			server := &dns.Server{
				Addr: address, Net: network, NotifyStartedFunc: func() { close(ready) },
				ReadTimeout: time.Minute, IdleTimeout: func() time.Duration { return time.Minute }, // clients decide how long they stay connected
			}
			failed := make(chan error, 1)
			go func() { failed <- server.ListenAndServe() }()
			select {
			case <-ready:
			case err := <-failed:
				fmt.Println(err)
				os.Exit(1)
			}
		}
	}
	fmt.Println("ready")
	_, _ = os.Stdin.Read(make([]byte, 1))
}

func answer(w dns.ResponseWriter, question *dns.Msg) {
	label, _, _ := strings.Cut(question.Question[0].Name, ".")
	reply := new(dns.Msg)
	rcode := dns.RcodeSuccess
	switch {
	case label == "drop":
		return
	case label == "nxdomain":
		rcode = dns.RcodeNameError
	case label == "servfail":
		rcode = dns.RcodeServerFailure
	case label == "refused":
		rcode = dns.RcodeRefused
	case label == "big": // more than one TCP segment
		for i := range 800 {
			record, _ := dns.NewRR(fmt.Sprintf("big. 60 IN TXT %q", fmt.Sprint(strings.Repeat("x", 20), i)))
			reply.Answer = append(reply.Answer, record)
		}
	}
	var milliseconds int
	if n, _ := fmt.Sscanf(label, "delay-%d", &milliseconds); n == 1 {
		time.Sleep(time.Duration(milliseconds) * time.Millisecond)
	}
	reply.SetRcode(question, rcode)
	_ = w.WriteMsg(reply)
}
