package evidence

// top keeps the n items with the highest scores, in memory for n.
type top[T any] struct {
	limit  int
	items  []scored[T] // a heap, the smallest score first
	missed bool        // something was not kept
}

type scored[T any] struct {
	score int64
	item  T
}

// wants reports whether an item with this score would be kept.
func (t *top[T]) wants(score int64) bool {
	if len(t.items) < t.limit {
		return true
	}
	t.missed = true
	return t.limit > 0 && score > t.items[0].score
}

// add keeps an item for which wants returned true.
func (t *top[T]) add(score int64, item T) {
	if len(t.items) < t.limit {
		t.items = append(t.items, scored[T]{score, item})
		at := len(t.items) - 1
		for at > 0 {
			parent := (at - 1) / 2
			if t.items[parent].score <= t.items[at].score {
				return
			}
			t.items[parent], t.items[at] = t.items[at], t.items[parent]
			at = parent
		}
		return
	}
	t.items[0] = scored[T]{score, item}
	at := 0
	for {
		child := 2*at + 1
		if child >= len(t.items) {
			return
		}
		if child+1 < len(t.items) && t.items[child+1].score < t.items[child].score {
			child++
		}
		if t.items[at].score <= t.items[child].score {
			return
		}
		t.items[at], t.items[child] = t.items[child], t.items[at]
		at = child
	}
}
