package hsperf

import "fmt"

// Heap is where the sizes of a JVM's heap are.
type Heap struct {
	used []Number // of all spaces except eden, where objects begin: what they hold after a collection has survived it
	eden Number   // capacity
}

// Heap finds the spaces. The JVM writes their usage at the end of a collection.
func (l *Layout) Heap(data []byte) (h Heap) {
	for generation := range 3 {
		for space := range 4 {
			prefix := fmt.Sprintf("sun.gc.generation.%d.space.%d.", generation, space)
			switch name := l.Text(data, prefix+"name"); name {
			case "":
			case "eden":
				h.eden = l.Number(prefix + "capacity")
			default:
				if used := l.Number(prefix + "used"); used.Known() {
					h.used = append(h.used, used)
				}
			}
		}
	}
	return h
}

// Live is what the heap holds without new objects, in bytes, and Goal how much it holds when the next collection
// begins: when eden is full. ok is false for a heap without generations: there a collection begins when the collector
// decides, and new objects cannot be distinguished from others.
func (h *Heap) Live(data []byte) (live, goal int64, ok bool) {
	if !h.eden.Known() || len(h.used) == 0 {
		return 0, 0, false
	}
	for _, used := range h.used {
		live += used.In(data)
	}
	return live, live + h.eden.In(data), true
}
