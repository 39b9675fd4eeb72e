package listening

import "testing"

func TestOwnerAmong(t *testing.T) {
	manager := &Process{PID: 1, StartTicks: 1, Cgroup: "/init.scope"}
	master := &Process{PID: 20, StartTicks: 200, Cgroup: "/web"}
	worker := &Process{PID: 21, StartTicks: 210, Cgroup: "/web"}
	for _, c := range []struct {
		holders []*Process
		want    *Process
	}{
		{nil, nil}, {[]*Process{manager}, manager}, {[]*Process{worker, master}, master}, {[]*Process{manager, worker, master}, master},
	} {
		if got := ownerAmong(c.holders); got != c.want {
			t.Errorf("%v of %v", got, c.holders)
		}
	}
}
