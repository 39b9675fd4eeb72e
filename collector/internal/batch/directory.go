package batch

// directory is the master copy of the resources and slots. Every change is written through to the open buffer; a buffer
// that becomes the open one gets the whole of it where its version is older.
//
// A resource or slot that is released stays readable until the buffers that may refer to it are sealed: its number is
// reused only two rotations later.
type directory struct {
	resources     []resourceEntry
	byKey         map[resourceKey]ResourceID
	freeResources []ResourceID
	slots         []slotEntry
	bySeries      map[slotEntry]Slot
	byResource    map[ResourceID][]Slot
	freeSlots     []Slot
	retired       []retiree
	rotation      uint64
	version       uint64
}

type resourceKey struct {
	kind uint8
	key  string
}

type retiree struct {
	slot     Slot
	resource ResourceID
	isSlot   bool
	at       uint64 // rotation
}

func newDirectory() *directory {
	return &directory{
		byKey:      make(map[resourceKey]ResourceID),
		bySeries:   make(map[slotEntry]Slot),
		byResource: make(map[ResourceID][]Slot),
		slots:      make([]slotEntry, 1, 1024), // slot 0 records nothing
	}
}

func (d *directory) addResource(kind uint8, key string, parent ResourceID) (id ResourceID, added, ok bool) {
	if id, found := d.byKey[resourceKey{kind, key}]; found {
		return id, false, true
	}
	entry := resourceEntry{used: true, kind: kind, parent: parent, key: key}
	if n := len(d.freeResources); n > 0 {
		id = d.freeResources[n-1]
		d.freeResources = d.freeResources[:n-1]
		d.resources[id] = entry
	} else if len(d.resources) < MaxResources {
		id = ResourceID(len(d.resources))
		d.resources = append(d.resources, entry)
	} else {
		return NoResource, false, false
	}
	d.byKey[resourceKey{kind, key}] = id
	d.version++
	return id, true, true
}

func (d *directory) addSlot(resource ResourceID, metric uint16) (slot Slot, added, ok bool) {
	series := slotEntry{resource: resource, metric: metric, used: slotUsed}
	if slot, found := d.bySeries[series]; found {
		return slot, false, true
	}
	if n := len(d.freeSlots); n > 0 {
		slot = d.freeSlots[n-1]
		d.freeSlots = d.freeSlots[:n-1]
		d.slots[slot] = series
	} else if len(d.slots) < MaxSlots {
		slot = Slot(len(d.slots))
		d.slots = append(d.slots, series)
	} else {
		return NoSlot, false, false
	}
	d.bySeries[series] = slot
	d.byResource[resource] = append(d.byResource[resource], slot)
	d.version++
	return slot, true, true
}

// removeResource releases a resource and its slots and returns the slots.
func (d *directory) removeResource(id ResourceID) []Slot {
	if id == Node || int(id) >= len(d.resources) || !d.resources[id].used {
		return nil
	}
	entry := &d.resources[id]
	key := resourceKey{entry.kind, entry.key}
	if d.byKey[key] != id {
		return nil // already released
	}
	delete(d.byKey, key)
	slots := d.byResource[id]
	delete(d.byResource, id)
	for _, slot := range slots {
		delete(d.bySeries, d.slots[slot])
		d.retired = append(d.retired, retiree{slot: slot, isSlot: true, at: d.rotation})
	}
	d.retired = append(d.retired, retiree{resource: id, at: d.rotation})
	return slots
}

// rotate frees what was released two rotations ago.
func (d *directory) rotate() {
	d.rotation++
	kept := d.retired[:0]
	for _, r := range d.retired {
		switch {
		case d.rotation-r.at < 2:
			kept = append(kept, r)
		case r.isSlot:
			d.slots[r.slot] = slotEntry{}
			d.freeSlots = append(d.freeSlots, r.slot)
			d.version++
		default:
			d.resources[r.resource] = resourceEntry{}
			d.freeResources = append(d.freeResources, r.resource)
			d.version++
		}
	}
	d.retired = kept
}

func (d *directory) writeTo(b *buffer) {
	for id, entry := range d.resources {
		b.putResource(ResourceID(id), entry)
	}
	copy(b.slotTable(), d.slots)
	b.header().resources = uint32(len(d.resources))
	b.header().slots = uint32(len(d.slots))
}
