package requests

import (
	"encoding/json"
	"testing"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/requests"
)

// TestErrorsAreNullWhereNoStatusWasRead: they were not measured then, which is different from 0.
func TestErrorsAreNullWhereNoStatusWasRead(t *testing.T) {
	rows := []requests.Kind{{Count: 3, Slow: 1, SumUS: 9, MaxUS: 5}, {Count: 3, Statuses: 3, SumUS: 9, MaxUS: 5}, {Count: 2, Statuses: 1, ServErrs: 1, SumUS: 9, MaxUS: 5}}
	if got := string(encodeKinds(rows)); got != `[["",3,1,null,null,9,5],["",3,0,0,0,9,5],["",2,0,0,1,9,5]]` {
		t.Errorf("got %s", got)
	}
}

// TestCodesAreSentForGRPCAlone: an event without one says nothing about gRPC.
func TestCodesAreSentForGRPCAlone(t *testing.T) {
	rows := make([]requests.Kind, 3)
	if got := encodeCodes(rows); got != nil {
		t.Errorf("got %s", got)
	}
	rows[1].Codes[0], rows[1].Codes[14] = 90, 10
	if got := string(encodeCodes(rows)); got != "[[],[0,90,14,10],[]]" {
		t.Errorf("got %s", got)
	}
}

func TestLatenciesOfKindsFitIntoAnEvent(t *testing.T) {
	rows := make([]requests.Kind, requests.MaxKinds+1)
	rows[0].Latency[7], rows[0].Latency[59] = 3, 1
	if got := string(encodeLatency(rows[:2])); got != "[[7,3,59,1],[]]" {
		t.Errorf("got %s", got)
	}
	for i := range rows {
		for bucket := range rows[i].Latency {
			rows[i].Latency[bucket] = 100
		}
	}
	var told [][]int
	text := encodeLatency(rows)
	if err := json.Unmarshal(text, &told); err != nil || len(text) > batch.MaxAttributeBytes {
		t.Fatalf("%d bytes: %v", len(text), err)
	}
	if len(told) == 0 || len(told) > requests.MaxKinds || len(told[0]) != 2*len(rows[0].Latency) {
		t.Errorf("%d rows", len(told))
	}
}
