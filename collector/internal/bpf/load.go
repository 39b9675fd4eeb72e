package bpf

import (
	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/rlimit"
)

// Load loads programs and maps into objects, a pointer to one of the generated structures. change can adapt the spec
// before loading.
func Load(spec func() (*ebpf.CollectionSpec, error), change func(*ebpf.CollectionSpec) error, objects any) error {
	_ = rlimit.RemoveMemlock() // only needed before Linux 5.11, where a failure shows below
	loaded, err := spec()
	if err != nil {
		return err
	}
	defer Forget()
	if change != nil {
		if err := change(loaded); err != nil {
			return err
		}
	}
	return loaded.LoadAndAssign(objects, nil)
}

// Unified tells programs whether the cgroups are version 2, for Load.
func Unified(unified bool) func(*ebpf.CollectionSpec) error {
	return func(spec *ebpf.CollectionSpec) error {
		if !unified {
			return nil
		}
		return spec.Variables["unified"].Set(uint32(1))
	}
}
