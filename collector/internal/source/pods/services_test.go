package pods

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/kubeapi"
	"github.com/jitterscope/jitterscope/collector/internal/names"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source/sourcetest"
)

const (
	servicesPath = "/api/v1/services"

	// The fake kubelet's pod has the label pod-template-hash=1.
	servicesOfShop = `{"kind":"ServiceList","apiVersion":"v1","metadata":{"resourceVersion":"812"},"items":[
 {"metadata":{"name":"kubernetes","namespace":"default"},"spec":{"clusterIP":"10.96.0.1","ports":[{"port":443}]}},
 {"metadata":{"name":"cart","namespace":"shop"},"spec":{"selector":{"pod-template-hash":"1"},"clusterIPs":["10.96.0.7","fd00::7"],"ports":[{"protocol":"TCP","port":80,"targetPort":8080}]}},
 {"metadata":{"name":"all","namespace":"shop"},"spec":{"selector":{"pod-template-hash":"1"},"clusterIP":"10.96.0.8","ports":[{"protocol":"TCP","port":80,"targetPort":"nowhere"}]}},
 {"metadata":{"name":"other","namespace":"shop"},"spec":{"selector":{"pod-template-hash":"2"},"clusterIP":"10.96.0.9","ports":[{"port":80}]}},
 {"metadata":{"name":"cart","namespace":"elsewhere"},"spec":{"selector":{"pod-template-hash":"1"},"clusterIP":"10.96.0.10","ports":[{"port":80}]}}]}`
)

func TestServices(t *testing.T) {
	answers := map[string]string{servicesPath: servicesOfShop}
	s := &services{lists: lists{looks: time.Hour}}
	r, path := withCart(t, s, answers)
	r.Eventually("the container's namespace", func() bool { return s.namespaces.here()["shop"] })
	tell := func(want, state string, items int) {
		t.Helper()
		if got := s.ask(t.Context(), s.namespaces.here(), time.Now()); got != items {
			t.Errorf("%d Services", got)
		}
		s.tell()
		if got := r.Fact(path, catalogue.FactWorkloadServices); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if got := r.Fact(path[:strings.LastIndex(path, "/")], catalogue.FactWorkloadServices); got != "" {
			t.Errorf("the pod's cgroup has %s", got)
		}
		if got := r.Status("services"); !strings.HasPrefix(got, state) {
			t.Error(got)
		}
	}
	const both = `[{"name":"shop/all","addresses":["10.96.0.8"],"ports":{}},{"name":"shop/cart","addresses":["10.96.0.7","fd00::7"],"ports":{"80/TCP":8080}}]`
	if _, known := s.directory.At(netip.MustParseAddr("10.96.0.1")); known {
		t.Error("known before it was listed")
	}
	tell(both, "ACTIVE", 5)
	for address, want := range map[string]string{"10.96.0.1": "default/kubernetes", "fd00::7": "shop/cart", "10.96.0.10": "elsewhere/cart", "10.96.0.11": ""} {
		if got, known := s.directory.At(netip.MustParseAddr(address)); got != want || !known {
			t.Errorf("%s is %q, %v", address, got, known)
		}
	}
	leading, known := s.directory.To(path)
	if len(leading) != 3 || !known {
		t.Errorf("%v lead to the container", leading)
	}
	if _, known := s.directory.To("/elsewhere"); known {
		t.Error("what leads to another container is not known")
	}
	// What is no longer allowed to be listed stays as it was.
	delete(answers, servicesPath)
	tell(both, "DEGRADED:", 0)
	answers[servicesPath] = `{"metadata":{},"items":[]}`
	tell("[]", "ACTIVE", 0)
	off := sourcetest.Start(t, sourcetest.Setup{Options: `api_server = "off"`, Sources: []sampler.Source{&services{lists: lists{looks: time.Hour}}}})
	if got := off.Status("services"); got != "OFF: api_server is off in [sources.services]" {
		t.Error(got)
	}
}

func TestPortsBehindAService(t *testing.T) {
	of := &kubeapi.Service{Namespace: "shop", Name: "cart", Selector: map[string]string{"app": "cart"}, Ports: []kubeapi.ServicePort{
		{Protocol: "TCP", Port: 80, TargetName: "http"}, {Protocol: "UDP", Port: 80, TargetName: "http"}, {Protocol: "TCP", Port: 81, Target: 8081},
	}}
	pod := &names.Selectable{Labels: map[string]string{"app": "cart"}, Ports: map[names.Port]uint16{{Protocol: "TCP", Name: "http"}: 8080}}
	if got := text(selecting([]*kubeapi.Service{of}, pod)); got != `[{"name":"shop/cart","addresses":null,"ports":{"80/TCP":8080,"81/TCP":8081}}]` {
		t.Error(got)
	}
}
