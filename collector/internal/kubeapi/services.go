package kubeapi

import (
	"cmp"
	"context"
	"encoding/json"
	"net/netip"
	"strconv"
)

// Service holds the used fields of a v1.Service that has addresses of its own: neither a headless one nor an alias of a
// name has.
type Service struct {
	Namespace, Name string
	Addresses       []netip.Addr
	Selector        map[string]string // empty: its endpoints are set by others
	Ports           []ServicePort
}

// ServicePort is a port of a Service, and the port of the pod behind it: a number, or a name if that is 0.
type ServicePort struct {
	Protocol   string
	Port       uint16
	Target     uint16
	TargetName string
}

// Selects reports whether a pod in the Service's namespace with these labels is behind it, ready or not.
func (s *Service) Selects(labels map[string]string) bool {
	for name, value := range s.Selector {
		if got, ok := labels[name]; !ok || got != value {
			return false
		}
	}
	return len(s.Selector) > 0
}

// service holds the used fields of a v1.Service.
type service struct {
	Metadata struct{ Name, Namespace string }
	Spec     struct {
		ClusterIP  string
		ClusterIPs []string
		Selector   map[string]string
		Ports      []struct {
			Protocol   string
			Port       uint16
			TargetPort json.RawMessage // a number or a name
		}
	}
}

func (s *service) parsed() *Service {
	found := &Service{Namespace: s.Metadata.Namespace, Name: s.Metadata.Name, Selector: s.Spec.Selector}
	texts := s.Spec.ClusterIPs
	if len(texts) == 0 {
		texts = []string{s.Spec.ClusterIP}
	}
	for _, text := range texts {
		if address, err := netip.ParseAddr(text); err == nil { // not "None", or ""
			found.Addresses = append(found.Addresses, address)
		}
	}
	for _, port := range s.Spec.Ports {
		one := ServicePort{Protocol: cmp.Or(port.Protocol, "TCP"), Port: port.Port}
		if json.Unmarshal(port.TargetPort, &one.Target) != nil {
			_ = json.Unmarshal(port.TargetPort, &one.TargetName)
		}
		if number, err := strconv.ParseUint(one.TargetName, 10, 16); err == nil {
			one.Target, one.TargetName = uint16(number), ""
		}
		if one.Target == 0 && one.TargetName == "" {
			one.Target = port.Port
		}
		found.Ports = append(found.Ports, one)
	}
	return found
}

// Services visits the cluster's Services that have addresses, and returns how many Services there are.
func (s Server) Services(ctx context.Context, visit func(*Service)) (there int, err error) {
	err = list(ctx, s, "/api/v1/services", fromCache, func(one *service) {
		there++
		if parsed := one.parsed(); len(parsed.Addresses) > 0 {
			visit(parsed)
		}
	})
	return there, err
}
