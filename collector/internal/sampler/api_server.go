package sampler

import "github.com/jitterscope/jitterscope/collector/internal/kubeapi"

// APIServer returns the API server that the source's table in the configuration names, that of the cluster by default.
// Without one it returns an Off.
func (r *Registry) APIServer() (kubeapi.Server, error) {
	options := kubeapi.DefaultOptions()
	if err := r.Options(&options); err != nil {
		return kubeapi.Server{}, err
	}
	server, off := options.Server(r.source)
	if off != "" {
		return kubeapi.Server{}, &Off{Detail: off}
	}
	return server, nil
}
