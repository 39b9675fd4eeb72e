package bpf

import (
	"errors"

	"github.com/cilium/ebpf/link"
)

// CloseLinks detaches programs.
func CloseLinks(links []link.Link) error {
	errs := make([]error, len(links))
	for i, one := range links {
		errs[i] = one.Close()
	}
	return errors.Join(errs...)
}
