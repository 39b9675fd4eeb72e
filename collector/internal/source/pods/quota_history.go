package pods

import (
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/kubeapi"
)

// What is left of a quota changes with every pod. A reading is recorded if what is left of any resource fell by a
// quarter since the last one, or rose by as much and less was left for an hour: then pods that come and go are hardly
// any history, and what is recorded is rather too little than too much. Changes below a hundredth of the quota never
// count.
const (
	leftChanged   = 0.25
	leftNoticed   = 0.01
	moreIsLeftFor = time.Hour
)

// quotaHistory chooses which readings of a namespace's quotas to record.
type quotaHistory struct {
	recorded   kubeapi.Quotas
	lessLeftAt time.Time // when as little as recorded was last left
}

// next returns what is recorded from now on.
func (h *quotaHistory) next(read kubeapi.Quotas, now time.Time) kubeapi.Quotas {
	less, more := h.left(read)
	if !more {
		h.lessLeftAt = now
	}
	if h.recorded == nil || less || !sameHard(h.recorded, read) || more && now.Sub(h.lessLeftAt) >= moreIsLeftFor {
		h.recorded, h.lessLeftAt = read, now
	}
	return h.recorded
}

// left reports whether less is left than recorded of any resource, and whether more is.
func (h *quotaHistory) left(read kubeapi.Quotas) (less, more bool) {
	for name, shares := range read {
		for resource, share := range shares {
			was := h.recorded[name][resource]
			before, now := was.Hard-was.Used, share.Hard-share.Used
			change := max(leftChanged*before, leftNoticed*share.Hard)
			less = less || now < before-change
			more = more || now > before+change
		}
	}
	return less, more
}

func sameHard(one, other kubeapi.Quotas) bool {
	if len(one) != len(other) {
		return false
	}
	for name, shares := range one {
		if len(shares) != len(other[name]) {
			return false
		}
		for resource, share := range shares {
			if same, known := other[name][resource]; !known || same.Hard != share.Hard {
				return false
			}
		}
	}
	return true
}
