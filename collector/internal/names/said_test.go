package names

import "testing"

// TestRevisionsOfControllers has the labels that each controller puts on its pods.
func TestRevisionsOfControllers(t *testing.T) {
	for label, revision := range map[string]string{
		"pod-template-hash": "668d6bf9bc", "rollouts-pod-template-hash": "5d4b9c7f6d", "controller-revision-hash": "web-7d4b8c9f5", "pod-template-generation": "",
	} {
		value := revision
		if value == "" {
			value = "3"
		}
		if got := saidBy(map[string]string{label: value, "app": "web"}, nil).Revision; got != revision {
			t.Errorf("%s: %q, want %q", label, got, revision)
		}
	}
}
