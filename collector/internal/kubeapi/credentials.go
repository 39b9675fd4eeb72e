package kubeapi

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"strings"
)

// Trust returns what a client needs to verify a server with the certificate authority in a file.
func Trust(file string) (*tls.Config, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: x509.NewCertPool()}
	if !config.RootCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s contains no certificate", file)
	}
	return config, nil
}

// Authorize adds the token in a file to a request. The file is read each time, because service account tokens are
// renewed.
func Authorize(request *http.Request, file string) error {
	token, err := os.ReadFile(file)
	if err == nil {
		request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	}
	return err
}
