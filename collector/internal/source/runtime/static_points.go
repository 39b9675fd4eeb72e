package runtime

import (
	"fmt"
	"io"
	"strings"

	"github.com/jitterscope/jitterscope/collector/internal/probes"
	"github.com/jitterscope/jitterscope/collector/internal/usdt"
)

// staticPlaces returns the static probe points of a file with these names, and what each means. A begin reports its
// first argument, if it has one. All names are needed.
func staticPlaces(file io.ReaderAt, provider string, named map[string]meaning) (places []probes.Place, means []meaning, err error) {
	points, err := usdt.Points(file)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", errNotProbed, err)
	}
	seen := make(map[string]bool)
	for _, point := range points {
		what, wanted := named[point.Name]
		if point.Provider != provider || !wanted {
			continue
		}
		place := probes.Place{Name: point.Name, Offset: point.Offset, Semaphore: point.Semaphore}
		if first, _, _ := strings.Cut(point.Arguments, " "); what == begins {
			place.Argument, _ = probes.ParseArgument(first)
		}
		places, means = append(places, place), append(means, what)
		seen[point.Name] = true
	}
	if len(seen) < len(named) {
		return nil, nil, errNotProbed
	}
	return places, means, nil
}
