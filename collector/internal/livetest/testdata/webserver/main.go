// Command webserver answers HTTP after the delay that the request asks for: "/?sleep=5ms", or once another server has
// answered: "/?ask=URL". It speaks HTTP/1.1 and unencrypted HTTP/2, or both in TLS with a self-generated certificate.
// It ends when its standard input does.
package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"flag"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

func main() {
	inTLS := flag.Bool("tls", false, "serve TLS")
	flag.Parse()
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	server := &http.Server{Handler: http.HandlerFunc(answer), Protocols: protocols}
	listener, err := net.Listen("tcp", flag.Arg(0))
	if err != nil {
		log.Fatal(err)
	}
	if *inTLS {
		certificate, err := selfSigned()
		if err != nil {
			log.Fatal(err)
		}
		listener = tls.NewListener(listener, &tls.Config{Certificates: []tls.Certificate{certificate}, NextProtos: []string{"h2", "http/1.1"}})
	}
	go func() { log.Fatal(server.Serve(listener)) }()
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
}

func answer(w http.ResponseWriter, r *http.Request) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return
	}
	if url := r.FormValue("ask"); url != "" {
		client := http.Client{}
		client.Timeout, _ = time.ParseDuration(r.FormValue("patience"))
		answer, err := client.Get(url)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
	}
	if sleep, err := time.ParseDuration(r.FormValue("sleep")); err == nil {
		time.Sleep(sleep)
	}
	if spin, err := time.ParseDuration(r.FormValue("spin")); err == nil {
		for end := time.Now().Add(spin); time.Now().Before(end); {
		}
	}
	if status, err := strconv.Atoi(r.FormValue("status")); err == nil {
		w.WriteHeader(status)
	}
	size := 100
	_, _ = fmt.Sscan(r.FormValue("bytes"), &size)
	_, _ = io.WriteString(w, strings.Repeat("x", size))
}

func selfSigned() (tls.Certificate, error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, &private.PublicKey, private)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private}, err
}
