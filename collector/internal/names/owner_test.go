package names

import (
	"strings"
	"testing"
	"time"
)

func TestTheControllerThatPeopleKnow(t *testing.T) {
	due := time.Date(2026, 11, 26, 3, 15, 0, 0, time.UTC)
	labels := func(pairs ...string) map[string]string {
		found := map[string]string{}
		for at := 0; at < len(pairs); at += 2 {
			found[pairs[at]] = pairs[at+1]
		}
		return found
	}
	for _, one := range []struct {
		kind, name string
		labels     map[string]string
		created    time.Time
		want       string
	}{
		{"ReplicaSet", "web-668d6bf9bc", labels("pod-template-hash", "668d6bf9bc"), due, "Deployment/web"},
		{"ReplicaSet", "web-668d6bf9bc", labels("rollouts-pod-template-hash", "668d6bf9bc"), due, "Rollout/web"},
		{"ReplicaSet", "try-canary", labels("rollouts-pod-template-hash", "668d6bf9bc"), due, "ReplicaSet/try-canary"}, // of an Experiment
		{"ReplicaSet", "web-frontend", nil, due, "ReplicaSet/web-frontend"},
		{"ReplicaSet", "-668d6bf9bc", labels("pod-template-hash", "668d6bf9bc"), due, "ReplicaSet/-668d6bf9bc"},
		{"StatefulSet", "web-668d6bf9bc", labels("pod-template-hash", "668d6bf9bc"), due, "StatefulSet/web-668d6bf9bc"},
		{"DaemonSet", "cilium", labels("pod-template-generation", "3"), due, "DaemonSet/cilium"},
		{"Node", "pool-a-1", nil, due, ""},
		{"Job", "backup-29927715", nil, due.Add(2 * time.Second), "CronJob/backup"},
		{"Job", "backup-29927715", nil, due, "CronJob/backup"},
		{"Job", "a-1-29927715", nil, due.Add(time.Hour), "CronJob/a-1"},
		{"Job", "backup-29927715", nil, due.Add(-time.Second), "Job/backup-29927715"},    // before the time in its name
		{"Job", "backup-29927715", nil, due.Add(25 * time.Hour), "Job/backup-29927715"},  // long after it
		{"Job", "backup-20261126", nil, due.Add(2 * time.Second), "Job/backup-20261126"}, // a date
		{"Job", "backup-29927715", nil, time.Time{}, "Job/backup-29927715"},
		{"Job", "backup-1795662900", nil, due, "Job/backup-1795662900"}, // seconds, of other controllers
		{"Job", "29927715", nil, due, "Job/29927715"},
	} {
		if got := ownerAbove(one.kind, one.name, one.labels, one.created); got != one.want {
			t.Errorf("%s %s of %v: %s, want %s", one.kind, one.name, one.created, got, one.want)
		}
	}
}

func TestOwnersInAPodList(t *testing.T) {
	found, err := parsePods(strings.NewReader(`{"items":[
 {"metadata":{"name":"api-5d4b9c7f6d-x","labels":{"rollouts-pod-template-hash":"5d4b9c7f6d"},"ownerReferences":[{"kind":"ReplicaSet","name":"api-5d4b9c7f6d","controller":true}]}},
 {"metadata":{"name":"backup-29927715-q9wzn","creationTimestamp":"2026-11-26T03:15:00Z","ownerReferences":[{"kind":"Job","name":"backup-29927715","controller":true}]}},
 {"metadata":{"name":"seen-by-none","creationTimestamp":null,"ownerReferences":[{"kind":"Job","name":"backup-29927715","controller":true}]}}]}`))
	if err != nil || len(found) != 3 {
		t.Fatalf("%v, %v", found, err)
	}
	for at, want := range []string{"Rollout/api", "CronJob/backup", "Job/backup-29927715"} {
		if found[at].Owner != want {
			t.Errorf("%s, want %s", found[at].Owner, want)
		}
	}
}
