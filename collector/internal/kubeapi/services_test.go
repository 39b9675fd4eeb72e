package kubeapi

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
)

// As Kubernetes 1.34 returns them.
const services = `{"kind":"ServiceList","apiVersion":"v1","metadata":{"resourceVersion":"4711"},"items":[
{"metadata":{"name":"kubernetes","namespace":"default","labels":{"component":"apiserver"}},"spec":{"ports":[{"name":"https","protocol":"TCP","port":443,"targetPort":6443}],
 "clusterIP":"10.96.0.1","clusterIPs":["10.96.0.1"],"type":"ClusterIP","sessionAffinity":"None","ipFamilies":["IPv4"]},"status":{"loadBalancer":{}}},
{"metadata":{"name":"web","namespace":"shop"},"spec":{"ports":[
  {"name":"http","protocol":"TCP","port":80,"targetPort":"http"},{"name":"grpc","protocol":"TCP","port":9090,"targetPort":9091},{"port":53,"protocol":"UDP"},{"port":81,"targetPort":"8081"}],
 "selector":{"app":"web","tier":"front"},"clusterIP":"10.96.0.7","clusterIPs":["10.96.0.7","fd00::7"],"type":"LoadBalancer"}},
{"metadata":{"name":"store","namespace":"shop"},"spec":{"clusterIP":"None","clusterIPs":["None"],"selector":{"app":"store"},"ports":[{"port":5432}]}},
{"metadata":{"name":"mail","namespace":"shop"},"spec":{"type":"ExternalName","externalName":"mail.example.com"}},
{"metadata":{"name":"old","namespace":"shop"},"spec":{"clusterIP":"10.96.0.8","ports":null}}]}`

func TestServices(t *testing.T) {
	server, mux := cluster(t)
	if _, err := server.Services(t.Context(), func(*Service) {}); err == nil {
		t.Error("an API server that knows no Services")
	}
	serve(mux, "/api/v1/services", services)
	var found []string
	var web *Service
	there, err := server.Services(t.Context(), func(one *Service) {
		found = append(found, fmt.Sprint(one.Namespace, "/", one.Name, " ", one.Addresses, " ", one.Ports))
		if one.Name == "web" {
			web = one
		}
	})
	want := []string{
		"default/kubernetes [10.96.0.1] [{TCP 443 6443 }]",
		"shop/web [10.96.0.7 fd00::7] [{TCP 80 0 http} {TCP 9090 9091 } {UDP 53 53 } {TCP 81 8081 }]",
		"shop/old [10.96.0.8] []",
	}
	if !slices.Equal(found, want) || there != 5 || err != nil {
		t.Fatalf("%q, %d, %v", found, there, err)
	}
	for _, one := range []struct {
		labels map[string]string
		want   bool
	}{
		{map[string]string{"app": "web", "tier": "front", "version": "2"}, true},
		{map[string]string{"app": "web"}, false},
		{map[string]string{"app": "web", "tier": "back"}, false},
		{nil, false},
	} {
		if got := web.Selects(one.labels); got != one.want {
			t.Errorf("%v: %v", one.labels, got)
		}
	}
	if (&Service{}).Selects(map[string]string{"app": "web"}) {
		t.Error("a Service without a selector selects")
	}
}

func TestServicesAreForbidden(t *testing.T) {
	server, mux := cluster(t)
	mux.HandleFunc("GET /api/v1/services", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })
	if _, err := server.Services(t.Context(), func(*Service) {}); !errors.Is(err, ErrForbidden) {
		t.Error(err)
	}
}
