package requests

import (
	"encoding/json"
	"testing"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/requests"
)

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
