package batch

import (
	"encoding/binary"
	"sync/atomic"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/jitterscope/jitterscope/collector/internal/ingestpb"
)

// A journal record is: type u8, resource u32, length u32, payload. The payload is the protobuf message without its
// resource field, which is appended when the batch is sealed and the wire indexes are known.
const (
	recordFact byte = iota + 1
	recordEvent
	recordQuery
	recordTrigger
	recordSource
	recordBlock        // SeriesBlock without resource; payload begins with the number of series, u32
	recordDistribution // one tick: tick i64, metric u32, n u32, then n times bucket u32, count u32
	recordCapture

	recordHeader = 9
)

// reserve returns room for a payload of n bytes, or nil if the journal is full. Called with mu held; publish makes the
// record part of the batch.
func (s *Store) reserve(kind byte, resource ResourceID, n int) []byte {
	b := s.buffers[s.current]
	at := b.journalLen()
	if resource == NoResource || at+recordHeader+uint64(n) > JournalBytes {
		s.dropped.Records++
		return nil
	}
	record := b.journalArea()[at:][:recordHeader+n]
	putHeader(record, kind, resource, n)
	return record[recordHeader:]
}

func putHeader(record []byte, kind byte, resource ResourceID, n int) {
	record[0] = kind
	binary.LittleEndian.PutUint32(record[1:], uint32(resource))
	binary.LittleEndian.PutUint32(record[5:], uint32(n))
}

func (s *Store) publish(payload []byte) {
	b := s.buffers[s.current]
	atomic.StoreUint64(&b.header().journal, b.journalLen()+recordHeader+uint64(len(payload)))
}

func (s *Store) appendMessage(kind byte, resource ResourceID, message proto.Message) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	payload := s.reserve(kind, resource, proto.Size(message))
	if payload == nil {
		return false
	}
	if _, err := (proto.MarshalOptions{}).MarshalAppend(payload[:0], message); err != nil {
		s.dropped.Records++ // a string that is not UTF-8
		return false
	}
	s.publish(payload)
	return true
}

// AppendFact records a fact about resource; the message's own resource field is ignored, here and below.
func (s *Store) AppendFact(resource ResourceID, fact *ingestpb.Fact) bool {
	fact.Resource, fact.Value = 0, clean(fact.Value, maxFactBytes)
	return s.appendMessage(recordFact, resource, fact)
}

// AppendEvent records an event.
func (s *Store) AppendEvent(resource ResourceID, event *ingestpb.Event) bool {
	event.Resource = 0
	for name, value := range event.Attributes {
		event.Attributes[name] = clean(value, MaxAttributeBytes)
	}
	return s.appendMessage(recordEvent, resource, event)
}

// AppendQueries records single DNS queries of a server.
func (s *Store) AppendQueries(server ResourceID, block *ingestpb.QueryBlock) bool {
	block.Server = 0
	cleanAll(block.Names, maxNameBytes)
	cleanAll(block.Clients, MaxKeyBytes)
	return s.appendMessage(recordQuery, server, block)
}

// AppendCapture records what the flight recorder kept around a trigger for resource.
func (s *Store) AppendCapture(resource ResourceID, capture *ingestpb.Capture) bool {
	capture.Resource, capture.Reason = 0, clean(capture.Reason, maxNameBytes)
	cleanAll(capture.Strings, maxNameBytes)
	for _, process := range capture.Processes {
		process.Cgroup = clean(process.Cgroup, MaxKeyBytes)
	}
	return s.appendMessage(recordCapture, resource, capture)
}

// AppendSource records the state of a source.
func (s *Store) AppendSource(status *ingestpb.SourceStatus) bool {
	status.Detail, status.Needs = clean(status.Detail, maxDetailBytes), clean(status.Needs, maxDetailBytes)
	return s.appendMessage(recordSource, Node, status)
}

// AppendBlock records a ready-made block whose series all belong to resource, such as a zoomed one.
func (s *Store) AppendBlock(resource ResourceID, block *ingestpb.SeriesBlock) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	block.Resource = nil
	payload := s.reserve(recordBlock, resource, 4+proto.Size(block))
	if payload == nil {
		return false
	}
	binary.LittleEndian.PutUint32(payload, uint32(len(block.Metric)))
	if _, err := (proto.MarshalOptions{}).MarshalAppend(payload[4:4], block); err != nil {
		s.dropped.Records++
		return false
	}
	s.publish(payload)
	return true
}

// OnTrigger registers heard to be called with each trigger from now on. It is called with the store locked, also on the
// sampling thread: it must not block, allocate, or call the store.
func (s *Store) OnTrigger(heard func(resource ResourceID, reason string, atUS int64)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listeners = append(s.listeners, heard)
}

// AppendTrigger records a reason to diagnose now. It does not allocate.
func (s *Store) AppendTrigger(resource ResourceID, reason string, atUS int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, heard := range s.listeners {
		heard(resource, reason, atUS)
	}
	size := protowire.SizeTag(2) + protowire.SizeBytes(len(reason)) + protowire.SizeTag(3) + protowire.SizeVarint(uint64(atUS))
	payload := s.reserve(recordTrigger, resource, size)
	if payload == nil {
		return false
	}
	out := protowire.AppendTag(payload[:0], 2, protowire.BytesType)
	out = protowire.AppendString(out, reason)
	out = protowire.AppendTag(out, 3, protowire.VarintType)
	protowire.AppendVarint(out, uint64(atUS))
	s.publish(payload)
	s.triggered = true
	return true
}
