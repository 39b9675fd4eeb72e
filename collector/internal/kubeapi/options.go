package kubeapi

import "fmt"

// Options are the keys by which a source's table in the configuration names the API server.
type Options struct {
	APIServer string `toml:"api_server"` // auto, off, or a URL
	TokenFile string `toml:"token_file"`
	CAFile    string `toml:"ca_file"`
}

// DefaultOptions are those of a pod.
func DefaultOptions() Options {
	return Options{APIServer: "auto", TokenFile: ServiceAccount + "/token", CAFile: ServiceAccount + "/ca.crt"}
}

// Server returns the server that the options of a source name; off says why there is none.
func (o Options) Server(source string) (server Server, off string) {
	switch o.APIServer {
	case "off":
		return Server{}, fmt.Sprintf("api_server is off in [sources.%s]", source)
	case "auto":
		server, ok := InCluster(ServiceAccount)
		if !ok {
			return Server{}, "this is not a pod of a Kubernetes cluster"
		}
		return server, ""
	}
	return Server{URL: o.APIServer, TokenFile: o.TokenFile, CAFile: o.CAFile}, ""
}
