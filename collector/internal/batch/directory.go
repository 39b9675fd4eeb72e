package batch

// directory is the master copy of the resources and slots. Every change is written through to the open buffer; a buffer
// that becomes the open one gets a full copy if its version is older.
//
// A released resource and its slots stay readable until the buffers that might refer to it are sealed: their numbers
// are reused only two rotations later, and not before those of its children are: a batch names the parent of a resource
// by its number. If it comes back sooner it keeps them, so that no batch names a resource twice; its parent can have
// changed by then, as that of an address does when its server restarts.
type directory struct {
	resources     []resourceEntry
	children      []int // of each resource
	byKey         map[resourceKey]ResourceID
	freeResources []ResourceID
	slots         []slotEntry
	bySeries      map[slotEntry]Slot
	byResource    map[ResourceID][]Slot
	freeSlots     []Slot
	released      map[ResourceID]uint64 // rotation in which each was released
	rotation      uint64
	version       uint64
}

type resourceKey struct {
	kind uint8
	key  string
}

// keepRotations is how many rotations a released resource stays.
const keepRotations = 2

func newDirectory() *directory {
	return &directory{
		byKey:      make(map[resourceKey]ResourceID),
		bySeries:   make(map[slotEntry]Slot),
		byResource: make(map[ResourceID][]Slot),
		released:   make(map[ResourceID]uint64),
		slots:      make([]slotEntry, 1, 1024), // slot 0 records nothing
	}
}

// addResource also reports whether the entry is new or has changed.
func (d *directory) addResource(kind uint8, key string, parent ResourceID) (id ResourceID, added, ok bool) {
	if id, found := d.byKey[resourceKey{kind, key}]; found {
		delete(d.released, id)
		moved := d.resources[id].parent != parent
		if moved {
			d.children[d.resources[id].parent]--
			d.children[parent]++
			d.resources[id].parent = parent
			d.version++
		}
		return id, moved, true
	}
	entry := resourceEntry{used: true, kind: kind, parent: parent, key: key}
	if n := len(d.freeResources); n > 0 {
		id = d.freeResources[n-1]
		d.freeResources = d.freeResources[:n-1]
		d.resources[id] = entry
	} else if len(d.resources) < MaxResources {
		id = ResourceID(len(d.resources))
		d.resources = append(d.resources, entry)
		d.children = append(d.children, 0)
	} else {
		return NoResource, false, false
	}
	d.byKey[resourceKey{kind, key}] = id
	d.children[parent]++
	d.version++
	return id, true, true
}

func (d *directory) addSlot(resource ResourceID, metric uint16) (slot Slot, added, ok bool) {
	series := slotEntry{resource: resource, metric: metric}
	if slot, found := d.bySeries[series]; found {
		return slot, false, true
	}
	if n := len(d.freeSlots); n > 0 {
		slot = d.freeSlots[n-1]
		d.freeSlots = d.freeSlots[:n-1]
	} else if len(d.slots) < MaxSlots {
		slot = Slot(len(d.slots))
		d.slots = append(d.slots, slotEntry{})
	} else {
		return NoSlot, false, false
	}
	d.slots[slot] = slotEntry{resource: resource, metric: metric, used: slotUsed}
	d.bySeries[series] = slot
	d.byResource[resource] = append(d.byResource[resource], slot)
	d.version++
	return slot, true, true
}

// release releases a resource and its slots, which it returns.
func (d *directory) release(id ResourceID) []Slot {
	if id == Node || int(id) >= len(d.resources) || !d.resources[id].used {
		return nil
	}
	if _, already := d.released[id]; already {
		return nil
	}
	d.released[id] = d.rotation
	return d.byResource[id]
}

// rotate frees what was released keepRotations ago, children before their parents.
func (d *directory) rotate() {
	d.rotation++
	for freed := true; freed; {
		freed = false
		for id, at := range d.released {
			if d.rotation-at >= keepRotations && d.children[id] == 0 {
				d.free(id)
				freed = true
			}
		}
	}
}

func (d *directory) free(id ResourceID) {
	for _, slot := range d.byResource[id] {
		series := d.slots[slot]
		delete(d.bySeries, slotEntry{resource: series.resource, metric: series.metric})
		d.slots[slot] = slotEntry{}
		d.freeSlots = append(d.freeSlots, slot)
	}
	entry := d.resources[id]
	d.children[entry.parent]--
	delete(d.byKey, resourceKey{entry.kind, entry.key})
	delete(d.byResource, id)
	delete(d.released, id)
	d.resources[id] = resourceEntry{}
	d.freeResources = append(d.freeResources, id)
	d.version++
}

func (d *directory) writeTo(b *buffer) {
	for id, entry := range d.resources {
		b.putResource(ResourceID(id), entry)
	}
	copy(b.slotTable(), d.slots)
	b.header().resources = uint32(len(d.resources))
	b.header().slots = uint32(len(d.slots))
}
