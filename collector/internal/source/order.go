package source

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// inOrder sorts names so that each comes after those it refers to, and otherwise by name.
func inOrder(after map[string][]string) ([]string, error) {
	left := slices.Sorted(maps.Keys(after))
	for _, name := range left {
		for _, earlier := range after[name] {
			if _, exists := after[earlier]; !exists {
				return nil, fmt.Errorf("the source %s must run after %s, which does not exist", name, earlier)
			}
		}
	}
	order := make([]string, 0, len(left))
	done := make(map[string]bool, len(left))
	waits := func(name string) bool {
		return slices.ContainsFunc(after[name], func(earlier string) bool { return !done[earlier] })
	}
	for len(left) > 0 {
		next := slices.IndexFunc(left, func(name string) bool { return !waits(name) })
		if next < 0 {
			return nil, fmt.Errorf("sources depend on each other in a cycle: %s", strings.Join(circle(after, left[0], done), " after "))
		}
		order, done[left[next]] = append(order, left[next]), true
		left = slices.Delete(left, next, next+1)
	}
	return order, nil
}

// circle follows a source that can never run to the one that it encounters again.
func circle(after map[string][]string, name string, done map[string]bool) []string {
	var path []string
	for {
		if met := slices.Index(path, name); met >= 0 {
			return append(path[met:], name)
		}
		path = append(path, name)
		blocked := slices.IndexFunc(after[name], func(earlier string) bool { return !done[earlier] })
		name = after[name][blocked]
	}
}
