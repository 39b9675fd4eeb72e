package main

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/BurntSushi/toml"
)

const answerTimeout = 30 * time.Second

// access is where Jitterscope is and how to authenticate.
type access struct{ server, tokenFile, caFile string }

// file is the content of kubectl.toml.
type file struct {
	Server string `toml:"server"`
	Token  string `toml:"token"`
	CAFile string `toml:"ca_file"`
}

// client completes what the flags gave with the environment and the file.
func (a access) client() (*client, error) {
	stored, err := readFile()
	if err != nil {
		return nil, err
	}
	server := cmp.Or(a.server, os.Getenv("JITTERSCOPE_SERVER"), stored.Server)
	token := cmp.Or(os.Getenv("JITTERSCOPE_API_TOKEN"), stored.Token)
	if a.tokenFile != "" {
		text, err := os.ReadFile(a.tokenFile)
		if err != nil {
			return nil, err
		}
		token = strings.TrimSpace(string(text))
	}
	if server == "" || token == "" {
		return nil, errors.New("no server or no API token: `kubectl jitterscope help` says where they come from")
	}
	if err := checkServer(server); err != nil {
		return nil, err
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if path := cmp.Or(a.caFile, stored.CAFile); path != "" {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		if config.RootCAs = x509.NewCertPool(); !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s contains no certificate", path)
		}
	}
	return &client{
		server: strings.TrimRight(server, "/"), token: token,
		http: &http.Client{
			Timeout:   answerTimeout,
			Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: config},
			// The token is for this server only.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// checkServer rejects what is not an address, and what would send the token unencrypted over a network.
func checkServer(server string) error {
	where, err := url.Parse(server)
	if err != nil || where.Host == "" || where.Scheme != "http" && where.Scheme != "https" {
		return fmt.Errorf("%q is not an http:// or https:// URL", server)
	}
	address, err := netip.ParseAddr(where.Hostname())
	local := where.Hostname() == "localhost" || err == nil && address.IsLoopback()
	if where.Scheme == "http" && !local {
		return fmt.Errorf("%s would receive the token unencrypted: use https, or a port of this machine (kubectl port-forward)", server)
	}
	return nil
}

// readFile reads kubectl.toml if it exists.
func readFile() (stored file, err error) {
	folder, err := os.UserConfigDir()
	if err != nil {
		return stored, nil
	}
	path := filepath.Join(folder, "jitterscope", "kubectl.toml")
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return stored, nil
	}
	if err != nil {
		return stored, err
	}
	read, err := toml.DecodeFile(path, &stored)
	if err != nil {
		return stored, fmt.Errorf("%s: %w", path, err)
	}
	if unknown := read.Undecoded(); len(unknown) > 0 {
		return stored, fmt.Errorf("%s: unknown key %s", path, unknown[0])
	}
	if stored.Token != "" && info.Mode().Perm()&0o077 != 0 {
		return stored, fmt.Errorf("%s: other users can read the token in it: chmod 600 it", path)
	}
	return stored, nil
}
